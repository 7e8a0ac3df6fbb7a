"""The report's files: the page runs nothing and reaches nowhere, the three say the same, no secret is in them."""

from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
import samples
from samples import CANARY

from vestige.audits.results import Exclusion, FrontierResult, ResidueResult
from vestige.errors import StorageError, UserError
from vestige.report import ReportPaths, write
from vestige.report.markdown import escape, fence
from vestige.text import fold

VOID = {"meta", "br", "wbr", "link", "img", "hr", "input"}
HOSTILE = (
    "<script>alert(1)</script></pre></div></details>]]><!-- | ` ```` $x$ "
    "<img src=http://evil.example/x onerror=alert(1)> \u202eRTL\u2066 \x00\x1b[2J\x08 [click](http://evil.example) "
    "&lt; {{ 7*7 }} {% raw %} **bold** \r\n# heading\n| a | b |"
)


class Page(HTMLParser):
    """Collects elements, attributes and text; fails where tags do not nest."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> in {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def parsed(text: str) -> Page:
    page = Page()
    page.feed(text)
    page.close()
    assert page.open == []
    return page


def assert_inert(text: str) -> Page:
    page = parsed(text)
    assert not {"script", "iframe", "object", "embed", "form", "base", "link", "img", "foreignobject"} & set(
        page.tags
    )
    assert not [a for a in page.attributes if a[1].startswith("on")]
    for tag, name, value in page.attributes:
        if name in ("href", "src", "xlink:href", "action", "data", "poster", "srcset"):
            assert value.startswith("#"), (tag, name, value)
        if name == "style":
            assert "url(" not in value.replace("url(#", "") and "expression" not in value
        if name == "http-equiv":
            assert value in ("Content-Security-Policy",)
    style = re.findall(r"<style>(.*?)</style>", text, re.S)
    assert len(style) == 1 and "@import" not in style[0] and "url(" not in style[0]
    return page


def test_the_page_runs_nothing_and_reaches_nowhere(page: str) -> None:
    found = assert_inert(page)
    policy = [value for tag, name, value in found.attributes if tag == "meta" and name == "content"]
    assert policy[0].startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")
    assert "http://" not in page and "https://" not in page


def test_anchors_lead_somewhere_and_ids_are_unique(page: str) -> None:
    attributes = parsed(page).attributes
    ids = [value for _, name, value in attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {value[1:] for _, name, value in attributes if name == "href"} <= set(ids)


def test_the_page_says_what_it_must(page: str) -> None:
    text = re.sub(r"\s+", " ", " ".join(parsed(page).text))
    for words in (
        "the direct probe recovered the planted secret in 8 of 8 instances (exact 95 %: 63–100 %)",
        "Compare the shape only",
        "n = 250 = 50 instances × 5 values of k",
        "arXiv 2606.10062",
        "vestige score RUN",
        "there is no summary tier at S = 0",
        "frontier/instance-9/S=0",
        "context too long",
        "no certificate",
        "4f1c" * 16,
        "Personalization recall".lower(),
    ):
        assert words in text or words in text.lower(), words


def test_the_configuration_says_what_became_of_older_summaries(written: ReportPaths, page: str) -> None:
    text = re.sub(r"\s+", " ", " ".join(parsed(page).text))
    assert "Deletion residue, agent configuration" in text
    assert "supersede = append (raw_plus_resummarize alone)" in text
    assert "supersede = append" in written.markdown.read_text(encoding="utf-8")


def test_a_score_is_called_what_it_is(written: ReportPaths, page: str) -> None:
    text = re.sub(r"\s+", " ", " ".join(parsed(page).text))
    assert "summary, similarity 0.74:" in text and "the same text as above" in text
    assert "shown above" not in text
    assert "- raw, similarity 0.66: " in written.markdown.read_text(encoding="utf-8")


def test_every_instance_that_leaks_is_in_every_file(written: ReportPaths) -> None:
    for path in (written.html, written.markdown, written.json):
        text = path.read_text(encoding="utf-8").replace("\\-", "-")
        assert all(f"synthetic-{index:04d}" in text for index in range(8)), path.name


def test_no_secret_in_any_file(written: ReportPaths) -> None:
    for path in (written.html, written.markdown, written.json):
        text = path.read_text(encoding="utf-8")
        for secret in {e.canary for e in samples.exchanges()}:
            assert secret not in text
            assert fold(secret) not in fold(text)
            assert base64.b64encode(secret.encode()).decode()[:14] not in text
        assert "[canary]" in text.replace("\\", "")


def test_secrets_on_request(tmp_path: Path) -> None:
    paths = write(
        samples.residue(levels=(0,)), exchanges=[samples.exchange()], folder=tmp_path, show_canaries=True
    )
    for path in (paths.html, paths.markdown, paths.json):
        assert CANARY in path.read_text(encoding="utf-8").replace("\\-", "-")
    assert "unmasked" in paths.html.read_text(encoding="utf-8")


def test_a_secret_in_a_name_or_a_note_is_masked(tmp_path: Path) -> None:
    result = samples.residue(levels=(0,), modes=("noop",)).model_copy(
        update={
            "notes": (f"The value was {CANARY.lower()}.",),
            "data": f"my {CANARY} file",
            "agent_configuration": {CANARY: CANARY},
            "exclusions": (Exclusion(episode=CANARY, reason=f"could not parse {CANARY}"),),
        }
    )
    found = samples.exchange(instance=f"user of {CANARY}", prompt=f"Is it {CANARY}?")
    paths = write(result, exchanges=[found], folder=tmp_path, title=f"On {CANARY}")
    for path in (paths.html, paths.markdown, paths.json):
        assert fold(CANARY) not in fold(path.read_text(encoding="utf-8"))


def test_the_same_input_gives_the_same_bytes(written: ReportPaths, tmp_path: Path) -> None:
    results = [samples.frontier(), samples.residue()]
    again = write(results, exchanges=list(reversed(samples.exchanges())), folder=tmp_path)
    for path in ("html", "markdown", "json"):
        assert getattr(written, path).read_bytes() == getattr(again, path).read_bytes()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> ReportPaths:
    result: ResidueResult = samples.residue(levels=(0,), modes=("noop",))
    cell = result.cells[0].model_copy(
        update={"mode": HOSTILE, "by_probe": {HOSTILE: result.cells[0].by_probe["direct"]}}
    )
    result = result.model_copy(
        update={
            "cells": (*result.cells, cell),
            "agent": HOSTILE,
            "model": HOSTILE,
            "data": HOSTILE,
            "notes": (HOSTILE,),
            "exclusions": (Exclusion(episode=HOSTILE, reason=HOSTILE),),
        }
    )
    unit = samples.RetrievedUnit(id=HOSTILE, tier=HOSTILE, text=HOSTILE + CANARY, score=0.1)
    found = [
        samples.exchange(reply=HOSTILE + CANARY, prompt=HOSTILE, instance=HOSTILE, retrieved=(unit,)),
        samples.exchange(audit="residue", mode=HOSTILE, probe_kind=HOSTILE, levers=HOSTILE, reply=HOSTILE),
        samples.exchange(reply=HOSTILE * 3000 + CANARY + HOSTILE * 2000, instance="00-long"),
        *(samples.exchange(reply=HOSTILE, instance=f"{HOSTILE} {index}") for index in range(40)),
    ]
    return write(result, exchanges=found, folder=tmp_path_factory.mktemp("hostile"), title=HOSTILE)


def test_hostile_text_stays_text_on_the_page(hostile: ReportPaths) -> None:
    text = hostile.html.read_text(encoding="utf-8")
    page = assert_inert(text)
    shown = " ".join(page.text)
    assert "<script>alert(1)</script>" in shown and "{{ 7*7 }}" in shown
    for hidden in "\u202e\u2066\x00\x1b\x08":
        assert hidden not in text
    assert len(text) < 1_500_000


def test_a_long_reply_is_cut_and_its_length_told(hostile: ReportPaths) -> None:
    length = len(HOSTILE) * 5000
    assert length > 1_000_000
    assert f"shortened: {length + len(CANARY):,} characters in full" in hostile.html.read_text(
        encoding="utf-8"
    )


def test_hostile_text_stays_in_its_place_in_markdown(hostile: ReportPaths) -> None:
    """Rendered by an independent CommonMark parser: no HTML, no link, no image, whole tables."""
    markdown_it = pytest.importorskip("markdown_it")
    text = hostile.markdown.read_text(encoding="utf-8")
    tokens = markdown_it.MarkdownIt("commonmark").enable("table").parse(text)
    inner = [token for block in tokens for token in (block, *(block.children or ()))]
    assert not [t for t in inner if t.type in ("html_block", "html_inline", "link_open", "image")]
    headings = [
        tokens[i + 1].content
        for i, t in enumerate(tokens)
        if t.type == "heading_open" and t.tag in ("h1", "h2")
    ]
    assert headings[1:] == [
        "Deletion residue",
        "Beside the paper",
        "What was and was not observed",
        "The exchanges behind the numbers",
        "The words and measures",
        "Checking it again",
    ]
    for hidden in "\u202e\u2066\x00\x1b":
        assert hidden not in text


def test_the_json_is_whole_and_holds_the_results(written: ReportPaths, hostile: ReportPaths) -> None:
    facts = json.loads(written.json.read_text(encoding="utf-8"))
    assert FrontierResult.model_validate(facts["results"][0]) == samples.frontier()
    assert ResidueResult.model_validate(facts["results"][1]) == samples.residue()
    assert len(facts["published"]["values"]) == 51
    assert sum(group["n_exchanges"] for group in facts["evidence"]) == len(samples.exchanges())
    json.loads(hostile.json.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "text", ["a|b", "`x`", "<b>", "[a](b)", "# h", "1. x", "- x", "line\nbreak", "a\\|b", "&amp;"]
)
def test_markdown_escaping_leaves_the_words(text: str) -> None:
    markdown_it = pytest.importorskip("markdown_it")
    table = f"| a | b |\n| --- | --- |\n| {escape(text)} | end |\n"
    tokens = markdown_it.MarkdownIt("commonmark").enable("table").parse(table)
    cells = [t for t in tokens if t.type == "inline"]
    assert [len(cells), cells[3].content if len(cells) > 3 else ""] == [4, "end"]
    plain = "".join(child.content for child in cells[2].children if child.type in ("text", "text_special"))
    assert plain == " ".join(text.split())


def test_a_fence_is_longer_than_what_it_holds() -> None:
    lines = fence("a\n`````\n~~~\n")
    assert lines[0].startswith("``````") and lines[-1] == "``````"


def test_several_results_of_one_audit_have_anchors_of_their_own(tmp_path: Path) -> None:
    one = samples.residue(levels=(0,), modes=("noop",))
    other = one.model_copy(update={"model": "another"})
    paths = write([one, other], folder=tmp_path)
    found = assert_inert(paths.html.read_text(encoding="utf-8"))
    ids = [value for _, name, value in found.attributes if name == "id"]
    assert len(ids) == len(set(ids)) and {"residue-1", "residue-2"} <= set(ids)


def test_without_exchanges_the_report_says_so(tmp_path: Path) -> None:
    paths = write(samples.residue(levels=(2,), modes=("noop",)), folder=tmp_path)
    assert "No leak was recorded" in paths.html.read_text(encoding="utf-8")


def test_nothing_to_report_is_a_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no result to report"):
        write([], folder=tmp_path)


def test_a_folder_that_cannot_be_written_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot write"):
        write(samples.residue(levels=(0,), modes=("noop",)), folder=tmp_path / "file")
