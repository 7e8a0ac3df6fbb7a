"""The report of an audit whose statements, users and agent are hostile: nothing of them is more than text."""

from __future__ import annotations

import csv
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from vestige import attacking, workflow
from vestige.audits.membership.results import MembershipResult
from vestige.datasets.units import Unit, UnitDataset
from vestige.datasets.units.dataset import count_units
from vestige.membership_options import MembershipOptions
from vestige.report.membership import membership_lines

HOSTILE = "<img src=x onerror=alert(1)>"
USER = "eve\u202e</h2><script>alert(2)</script>"

AGENT = '''
class Agent:
    """Says whatever is stored, and markup."""

    def __init__(self, storage):
        self.kept = {}

    def remember(self, user, units):
        self.kept[user] = [u.text for u in units]

    def converse(self, user, session):
        pass

    def ask(self, user, prompt, options):
        return "<b onclick=alert(3)>I do not know</b> [link](javascript:alert(4)) \\x1b[31m" + prompt[:40]

    def forget(self, user, request):
        raise NotImplementedError

    def reset(self, user):
        self.kept.pop(user, None)
'''


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("hostile")
    (home / "agent.py").write_text(AGENT, "utf-8")
    units = {
        user: [
            Unit(
                id=f"{user}:{i}:{HOSTILE}",
                user=user,
                text=f"Delia {verb} {HOSTILE} at the {place} market.",
                member=i % 2 == 0,
            )
            for i, (verb, place) in enumerate(
                (v, p) for v in ("bought", "sold") for p in ("harbour", "village", "winter")
            )
        ]
        for user in (USER, "bob")
    }
    data = UnitDataset(
        "made <up>", "made", "0" * 64, "none", units, count_units(units), notes=(f"A note: {HOSTILE}",)
    )
    options = MembershipOptions(
        agent=f"{home / 'agent.py'}:Agent", embedder="hashing", quiet=True, out=home / "run", concurrency=1
    )
    folder, _ = workflow.run(attacking.make_plan(options, data), options)
    attacking.finish(folder, title=f"A title {HOSTILE}")
    return folder.path


class Seen(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            self.attributes.add(name)
            if name in ("href", "src", "xlink:href"):
                self.links.append(str(value))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_the_page_has_no_markup_but_its_own(paths: Path) -> None:
    page = (paths / "report.html").read_text("utf-8")
    seen = Seen()
    seen.feed(page)
    assert not seen.tags & {"script", "img", "b onclick", "iframe", "object", "form", "link"}
    assert not {a for a in seen.attributes if a.startswith("on")}
    assert all(link.startswith("#") for link in seen.links)
    text = "".join(seen.text)
    assert HOSTILE in text and "<script>alert(2)</script>" in text, "it is shown, as text"
    assert "alert(3)" in text, "the worst errors are shown with their replies"
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", page)
    assert "default-src 'none'" in page


def test_markdown_holds_neither_markup_nor_links(paths: Path) -> None:
    page = (paths / "report.md").read_text("utf-8")
    assert not re.search(r"(?<!\\)<(?:img|script|b)\b", page)
    assert not re.search(r"(?<!\\)\]\(javascript", page)
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e]", page)


def test_the_scores_hold_ids_and_numbers_and_no_statement(paths: Path) -> None:
    rows = list(csv.DictReader((paths / "scores.csv").read_text("utf-8").splitlines()))
    assert len(rows) == 12 and {r["member"] for r in rows} == {"0", "1"}
    assert {r["user"] for r in rows} == {USER, "bob"}
    assert "market" not in (paths / "scores.csv").read_text("utf-8")
    for name in rows[0]:
        if name not in ("candidate", "user", "member", "kind", "repeat"):
            assert all(r[name] == "" or float(r[name]) == float(r[name]) for r in rows)


def test_the_json_is_the_result(paths: Path) -> None:
    report = json.loads((paths / "report.json").read_text("utf-8"))
    assert report["result"] == json.loads((paths / "result.json").read_text("utf-8"))


def test_a_terminal_is_told_nothing_that_controls_it(paths: Path) -> None:
    result = MembershipResult.model_validate_json((paths / "result.json").read_bytes())
    lines = membership_lines(
        result.model_copy(update={"statement": "x\x1b[31m\u202e\ny", "parts": {"a": "b\x07"}})
    )
    assert lines[0] == "x␛[31m⟨U+202E⟩ y"
    assert not any(re.search("[\x00-\x1f\u202e]", line) for line in lines)
