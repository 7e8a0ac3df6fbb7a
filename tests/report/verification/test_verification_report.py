"""The files of a verification's report: they say the verdict and no more, the same in each, and hold no target."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
import verification_samples as samples

from vestige.audits.verification.results import ClaimVerdict, RuleOutcome
from vestige.audits.verification.settings import EXPOSED
from vestige.report.verification import VerificationReportPaths, verification_lines, write_verification
from vestige.report.verification.evidence import Arm, PairExchanges, Row, Said, Seen
from vestige.text import encoded_forms, fold

VOID = {"meta", "br", "wbr", "link", "img", "hr", "input"}
HOSTILE = (
    "<script>alert(1)</script></pre></p></div></details></svg>]]><!-- | ` ```` $x$ "
    "<img src=http://evil.example/x onerror=alert(1)> \u202eRTL\u2066 \x00\x1b[2J\x08 [click](http://evil.example) "
    '" onmouseover="alert(1) {{ 7*7 }} {% raw %} **bold** \r\n# heading\n| a | b | [nonce]'
)
VERDICTS = ("fails", "limited_evidence", "unassessable")


class Page(HTMLParser):
    """Collects elements, attributes and text; fails where tags do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.open: list[str] = []
        self.pieces: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> in {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.pieces.append(data)

    @property
    def words(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.pieces))


def assert_inert(text: str) -> Page:
    page = Page(text)
    forbidden = {"script", "iframe", "object", "embed", "form", "base", "link", "img", "foreignobject"}
    assert not forbidden & set(page.tags)
    assert not [a for a in page.attributes if a[1].startswith("on")]
    for tag, name, value in page.attributes:
        if name in ("href", "src", "xlink:href", "action", "data", "poster", "srcset"):
            assert value.startswith("#"), (tag, name, value)
        if name == "style":
            assert "url(" not in value.replace("url(#", "")
    style = re.findall(r"<style>(.*?)</style>", text, re.S)
    assert len(style) == 1 and "@import" not in style[0] and "url(" not in style[0]
    return page


def texts(paths: VerificationReportPaths) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in vars(paths).values()}


def plain(text: str) -> str:
    """Markdown without its escapes."""
    return re.sub(r"\\([\\`*_{}\[\]<>()#+!|~$&=:@-])", r"\1", text)


# -------------------------------------------------------------------------------------------------- the page


@pytest.mark.parametrize("verdict", VERDICTS)
def test_the_page_runs_nothing_and_reaches_nowhere(
    reports: dict[str, VerificationReportPaths], verdict: str
) -> None:
    text = reports[verdict].html.read_text(encoding="utf-8")
    page = assert_inert(text)
    policy = [value for tag, name, value in page.attributes if tag == "meta" and name == "content"]
    assert policy[0].startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert "http://" not in text and "https://" not in text
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {value[1:] for _, name, value in page.attributes if name == "href"} <= set(ids)


def test_hostile_replies_stay_text(tmp_path: Path) -> None:
    pair = samples.fixture(0)
    arm = Arm(
        condition="exposed_removed",
        said=(
            Said(channel="answer", text=HOSTILE),
            Said(channel="retrieval", label=HOSTILE, text=HOSTILE),
            Said(channel="tool_arguments", label=HOSTILE, text=HOSTILE),
        ),
        seen=(
            Seen(
                channel="answer",
                target="nonce",
                grade="served",
                form=HOSTILE,
                state="uncertain",
                reviewer=HOSTILE,
                foreign="",
            ),
        ),
        asked=HOSTILE,
        outcome=HOSTILE,
    )
    row = Row(what=HOSTILE, kind=HOSTILE, phase="after", prompt=HOSTILE, arms=(arm,))
    result = samples.result(samples.SIX).model_copy(
        update={"agent": HOSTILE, "notes": (HOSTILE,), "agent_configuration": {HOSTILE: HOSTILE}}
    )
    rows = [r.model_copy(update={"reason": HOSTILE, "manifests": HOSTILE}) for r in samples.ledger(result)]
    paths = write_verification(
        result,
        ledger=rows,
        episodes=[PairExchanges(pair=HOSTILE, why="uncertain", fixture=pair, rows=(row,))],
        waited=(),
        folder=tmp_path,
        title=HOSTILE,
    )
    page = assert_inert(paths.html.read_text(encoding="utf-8"))
    assert "\u202e" not in page.words and "\x1b" not in page.words
    assert "49" not in re.findall(r"\{\{ 7\*7 \}\}|\b49\b", page.words)
    markdown = paths.markdown.read_text(encoding="utf-8")
    outside = re.sub(r"^(`{3,})text\n.*?^\1$", "", markdown, flags=re.S | re.M)
    assert "<script>" not in outside and "\n# heading" not in outside
    assert "](http" not in outside
    json.loads(paths.json.read_text(encoding="utf-8"))


def test_a_reply_that_writes_a_label_is_not_marked(tmp_path: Path) -> None:
    arm = Arm(condition="never_exposed", said=(Said(channel="answer", text="it says [nonce] here"),))
    row = Row(what="p", kind="recall", phase="after", target="nonce", arms=(arm,))
    episode = PairExchanges(pair="P000", why="sample", fixture=samples.fixture(0), rows=(row,))
    paths = write_verification(
        samples.result(samples.SIX), ledger=(), episodes=(episode,), waited=(), folder=tmp_path
    )
    page = paths.html.read_text(encoding="utf-8")
    assert "it says {nonce} here" in page and "<mark>" not in page


# ------------------------------------------------------------------------------------------- what it must say


@pytest.mark.parametrize("verdict", VERDICTS)
def test_the_three_texts_say_the_same(reports: dict[str, VerificationReportPaths], verdict: str) -> None:
    paths = reports[verdict]
    result = samples.result(samples.STORIES[verdict])
    page = Page(paths.html.read_text(encoding="utf-8")).words.replace("\u00a0", " ").replace("−", "-")
    markdown = re.sub(r"\s+", " ", plain(paths.markdown.read_text(encoding="utf-8"))).replace("−", "-")
    facts = json.loads(paths.json.read_text(encoding="utf-8"))
    assert facts["verdict"] == result.verdict == verdict
    for claim in result.claims:
        for sentence in (claim.statement, *(rule.reason for rule in claim.rules)):
            words = sentence[1:]  # a reason becomes a sentence: its first letter may change
            assert words in page, sentence
            assert words in markdown, sentence
    for claim, said in zip(result.claims, facts["claims"], strict=True):
        assert said["statement"] == claim.statement
    for line in facts["not_observed"] + facts["verdict_is_not"]:
        assert line in page and line in markdown
    assert facts["result"]["plan_sha256"] == result.plan_sha256


def test_a_failure_names_rule_and_place(reports: dict[str, VerificationReportPaths]) -> None:
    page = Page(reports["fails"].html.read_text(encoding="utf-8")).words.replace("\u00a0", " ")
    for words in (
        "Rule 2, disclosure (nonce): Was the target seen after its removal? Yes.",
        "retrieval in 41 episodes, summary in 41 episodes",
        "41/60",
        "P000: seen after the removal in answers, retrieved units and summaries",
        "no proof of erasure",
        "no legal certificate",
        "vestige packet check PACKET",
        "shows damage, not authorship",
    ):
        assert words in page, words


def test_limited_evidence_prints_its_bound_and_no_stronger_word(
    reports: dict[str, VerificationReportPaths],
) -> None:
    page = Page(reports["limited_evidence"].html.read_text(encoding="utf-8")).words.replace("\u00a0", " ")
    assert "0/300" in page and "≤ 0.994 %" in page  # 1 - 0.05^(1/300) = 0.99362 %
    assert "vestige adjudicate RUN" in page and "preference in answers: 2 episodes" in page
    for word in ("certified", "is erased", "was erased", "proven"):
        assert word not in page.lower(), word


def test_erasure_reads_the_state_after_maintenance(reports: dict[str, VerificationReportPaths]) -> None:
    markdown = plain(reports["limited_evidence"].markdown.read_text(encoding="utf-8"))
    assert "Episodes that show the nonce after maintenance" in markdown
    after = markdown[markdown.index("Episodes that show the nonce after maintenance") :]
    assert re.search(r"\| storage \| 0/300 \(≤ 0\.994 %\) \|", after)
    assert "Before and after the removal, and after maintenance" in after
    table = after[after.index("Before and after the removal") :]
    assert re.search(r"\| storage, nonce \| 300 \| 300 \| 0 \| 0 \| 0 \|", table)


def test_six_pairs_say_what_is_missing(reports: dict[str, VerificationReportPaths]) -> None:
    page = Page(reports["unassessable"].html.read_text(encoding="utf-8")).words.replace("\u00a0", " ")
    result = samples.result(samples.SIX)
    assert "To make it assessable" in page and "limited evidence is out of reach" in page
    for rule in result.claims[0].rules:
        if rule.outcome == "unassessable":
            assert rule.mend[1:] in page
    assert "P005/exposed_removed" in page  # what was left out


@pytest.mark.parametrize("verdict", VERDICTS)
def test_a_verdict_is_told_without_colour(reports: dict[str, VerificationReportPaths], verdict: str) -> None:
    text = reports[verdict].html.read_text(encoding="utf-8")
    badge = re.search(r'<p class="badge[^>]*>(.*?)</p>', text, re.S)
    assert badge is not None
    words = {"fails": "Fails", "limited_evidence": "Limited evidence", "unassessable": "Unassessable"}
    assert words[verdict] in badge[1] and f'href="#i-{verdict}"' in badge[1]


def test_a_channel_that_is_not_sensitive_bounds_nothing(
    reports: dict[str, VerificationReportPaths],
) -> None:
    markdown = plain(reports["limited_evidence"].markdown.read_text(encoding="utf-8"))
    row = next(line for line in markdown.splitlines() if line.startswith("| tool arguments | 0/300"))
    assert "≤" not in row and "not sensitive" in row
    blind = next(line for line in markdown.splitlines() if line.startswith("| tool results | –"))
    assert "unavailable" in blind


def test_the_residual_is_drawn_with_its_margin(reports: dict[str, VerificationReportPaths]) -> None:
    text = reports["limited_evidence"].html.read_text(encoding="utf-8")
    drawing = re.search(r'<div class="drawing"[^>]*>(.*?)</div>', text, re.S)
    assert drawing is not None
    for words in ("−δ = −0.1", "δ = 0.1", "bootstrap", "12/300", "11/300", "Residual: inside the margin"):
        assert words in drawing[1], words
    assert "Residual −0.003, interval −0.030 to +0.023, inside the margin ±0.1." in text


# ------------------------------------------------------------------------------------------------- targets


@pytest.mark.parametrize("verdict", VERDICTS)
def test_no_target_in_any_file_unless_asked(
    reports: dict[str, VerificationReportPaths], verdict: str
) -> None:
    story = samples.STORIES[verdict]
    for name, text in texts(reports[verdict]).items():
        folded = fold(text)
        for i in range(story.n):
            for condition in EXPOSED:
                assert fold(samples.nonce(i, condition)) not in folded, name
        assert fold(samples.FAVOURED) not in folded, name


def test_targets_are_shown_where_asked(tmp_path: Path) -> None:
    paths = samples.write(samples.FAILS, tmp_path, show=True)
    value = samples.nonce(0, "exposed_removed")
    for name, text in texts(paths).items():
        if name != "junit.xml":  # it holds no exchange
            assert value in text or value in plain(text), name
    page = paths.html.read_text(encoding="utf-8")
    assert f"<mark>{value}</mark>" in page
    assert "shows the removal targets unmasked" in page


def test_every_writing_of_a_target_is_masked(tmp_path: Path) -> None:
    value = samples.nonce(0, "exposed_removed")
    forms = [form for forms in encoded_forms(value).values() for form in forms]
    writings = [value, value.lower(), value.replace("-", " "), value[::-1], samples.FAVOURED.upper(), *forms]
    arm = Arm(
        condition="exposed_removed",
        said=tuple(Said(channel="answer", text=f"It is {w}, is it not?") for w in writings),
    )
    row = Row(what="p", kind="recall", phase="after", arms=(arm,))
    episode = PairExchanges(pair="P000", why="confirmed", fixture=samples.fixture(0), rows=(row,))
    paths = write_verification(
        samples.result(samples.FAILS), ledger=(), episodes=(episode,), waited=(), folder=tmp_path
    )
    for name, text in texts(paths).items():
        for writing in writings:
            assert writing not in text, (name, writing)
    said = json.loads(paths.json.read_text(encoding="utf-8"))["pairs"][0]["steps"][0]["arms"][0]["said"]
    assert all(s["holds_target"] and re.search(r"\[(nonce|preference)", s["text"]) for s in said)


# ------------------------------------------------------------------------------------------------ the rest


def test_the_same_input_gives_the_same_bytes(
    reports: dict[str, VerificationReportPaths], tmp_path: Path
) -> None:
    again = samples.write(samples.FAILS, tmp_path)
    assert texts(again) == texts(reports["fails"])


def test_no_ledger_cell_is_empty(tmp_path: Path) -> None:
    result = samples.result(samples.SIX)
    rows = [r.model_copy(update={"errors": "", "sources": ()}) for r in samples.ledger(result)]
    paths = write_verification(result, ledger=rows, episodes=(), waited=(), folder=tmp_path)
    markdown = paths.markdown.read_text(encoding="utf-8")
    assert "errors: not recorded" in plain(markdown) and "sources: not recorded" in plain(markdown)
    page = paths.html.read_text(encoding="utf-8")
    ledger = page[page.index('id="ledger"') : page.index('id="limits"')]
    assert not re.findall(r"<dd>\s*</dd>", ledger)


def test_lines_for_a_terminal() -> None:
    lines = verification_lines(samples.result(samples.FAILS))
    assert lines[0] == "verdict: fails"
    assert lines[1].startswith("non-use: fails. The claim of non-use fails ") and "nonce was seen" in lines[1]
    lines = verification_lines(samples.result(samples.LIMITED))
    assert any("preference in answers (2)" in line and "vestige adjudicate" in line for line in lines)
    lines = verification_lines(samples.result(samples.SIX))
    assert any(line.startswith("to make it assessable: ") for line in lines)
    assert any(line.startswith("left out: 1 episode, most often: AgentError") for line in lines)
    assert samples.nonce(5, "exposed_removed") not in "\n".join(lines)


def test_a_result_without_anything_can_be_reported(tmp_path: Path) -> None:
    bare = samples.result(samples.SIX)
    claim = ClaimVerdict(
        claim="non_use",
        verdict="unassessable",
        statement="Nothing was run.",
        covered=(),
        channels=(),
        targets=(),
        rules=(RuleOutcome(number=3, name="pairs", outcome="unassessable", reason="no pair"),),
        decided_by=0,
    )
    update = {
        "claims": (claim,),
        "cells": (),
        "utility": (),
        "shifts": (),
        "collapse": (),
        "reintroduction": None,
    }
    result = bare.model_copy(update=update)
    paths = write_verification(result, ledger=(), episodes=(), waited=(), folder=tmp_path)
    words = assert_inert(paths.html.read_text(encoding="utf-8")).words
    assert "Nothing was run." in words and "No ledger was handed to this report." in words
