"""What an agent of a person's own sends to its model is seen, by a proxy alone, and judged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.helpers.echo import Echo
from tests.planted.verified import SMALL, Verified, verify

from vestige.report.verification.gather import gather
from vestige.report.verification.waiting import excerpts
from vestige.runs.store import read_lines


@pytest.fixture
def echo() -> Iterator[Echo]:
    with Echo() as server:
        yield server


def lines(found: Verified, condition: str) -> list[str]:
    return [
        text
        for line in read_lines(found.folder.path)
        if line.kind == "model_requests" and line.episode.endswith(condition)
        for text in line.body["texts"]
    ]


def test_an_agent_that_sends_nothing_of_it_again_is_limited_evidence(out: Path, echo: Echo) -> None:
    found = verify("Asks", out, model=echo.model)
    assert found.verdict == "limited_evidence", found.decided().reason
    cell = found.cell("model_requests", "exposed_unchanged")
    assert (cell.episodes.events, cell.grades) == (5, {"sent_to_model": 5})
    assert found.cell("model_requests").episodes.n == 5
    covered = {c.channel for c in found.claim().channels if c.state == "covered"}
    assert "model_requests" in covered
    assert "model_requests" in found.result.agent_description["channels"]


def test_every_request_is_in_the_record_and_no_user_is_in_a_url(out: Path, echo: Echo) -> None:
    found = verify("Extracts", out, model=echo.model, pairs=2, plan=SMALL)
    recorded = [json.loads(text) for e in ("exposed", "unchanged", "removed") for text in lines(found, e)]
    for line in read_lines(found.folder.path):
        if line.kind == "exchange":
            recorded += [json.loads(text) for text in line.body["reply"]["model_requests"]]

    def order(bodies: list[object]) -> list[str]:
        return sorted(json.dumps(b, sort_keys=True) for b in bodies)

    assert order(recorded) == order(list(echo.asked))


def test_a_removed_text_that_stays_in_prompts_fails(out: Path, echo: Echo) -> None:
    found = verify("KeepsPrompts", out, model=echo.model)
    assert (found.verdict, found.decided().name) == ("fails", "disclosure")
    assert found.leaking() == {"model_requests"}
    assert found.cell("model_requests").grades == {"sent_to_model": 5}
    assert found.cell("model_requests", "never_exposed").episodes.events == 0


def test_a_removed_text_that_a_later_conversation_sends_along_fails(out: Path, echo: Echo) -> None:
    found = verify("ExtractsAgain", out, model=echo.model)
    assert (found.verdict, found.decided().name) == ("fails", "disclosure")
    cell = found.cell("model_requests")
    assert (cell.grades, cell.phases) == ({"sent_to_model": 5}, {"before": 5, "delayed": 5})
    assert found.leaking() == {"model_requests"}
    rows = [row for pair in gather(found.folder, found.findings) for row in pair.rows if row.kind == "sent"]
    assert rows and {row.phase for row in rows} == {"delayed"}
    removed = [arm for row in rows for arm in row.arms if arm.condition == "exposed_removed"]
    assert all(arm.said and {s.channel for s in arm.seen} == {"model_requests"} for arm in removed)
    shown = excerpts(
        found.folder, [f for f in found.findings if f.kind.startswith("sighting:model_requests")]
    )
    assert shown and all(shown.values())


def test_what_the_removal_itself_sends_is_no_residue(out: Path, echo: Echo) -> None:
    found = verify("Extracts", out, model=echo.model)
    assert found.verdict == "limited_evidence", found.decided().reason
    assert any("What is to be forgotten?" in text for text in lines(found, "/exposed_removed"))
    assert set(found.cell("model_requests").phases) == {"before"}


def test_what_is_told_again_is_no_residue(out: Path, echo: Echo) -> None:
    found = verify("Extracts", out, model=echo.model, plan={**SMALL, "reintroduction": True})
    assert found.verdict == "limited_evidence", found.decided().reason


def test_a_phase_with_requests_that_nobody_can_read_was_not_looked_at(out: Path, echo: Echo) -> None:
    found = verify("SendsTokens", out, model=echo.model)
    states = {c.channel: c for c in found.claim().channels}
    assert states["model_requests"].state == "unobserved_after"
    assert "in 0 pairs, exposed_unchanged in 5" in states["model_requests"].reason


def test_a_reference_agent_has_no_proxy(out: Path, echo: Echo) -> None:
    found = verify("reference", out, model=echo.model, pairs=2)
    assert not any(line.kind == "model_requests" for line in read_lines(found.folder.path))
