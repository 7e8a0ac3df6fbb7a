"""How many calls a run makes, counted by the server that answers them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.helpers.echo import Echo
from tests.helpers.studies import options, people, run

from vestige import studying
from vestige.agents.reference import ReferenceAgent
from vestige.audits.estimate import estimate
from vestige.records import Session
from vestige.runs.store import read_lines


def test_a_call_is_made_once_for_each_distinct_request(tmp_path: Path) -> None:
    """At temperature 0; the server itself counts, and the same prompt at k = 10 and k = 25 is one call."""
    n, levels, ks = 3, (0, 1, 2), (1, 3, 10, 25)
    data = people(n)
    with Echo() as server:
        made = run("frontier", tmp_path / "r", data, model=server.model, levels="0,1,2", k="1,3,10,25")
        calls = server.calls()
    again = {call: count for call, count in Counter(calls).items() if count > 1}
    assert not again
    exchanges = sum(line.kind == "exchange" for line in read_lines(made.path))
    assert exchanges == n * len(levels) * len(ks) * 4  # a question about the data and three extraction probes
    sessions = sum(len(i.sessions) for i in data.instances)
    summaries = server.summaries
    assert summaries == sessions * 2  # once for S = 1 and once for S = 2, whatever the number of k
    # Everybody has four turns, four facts and two sentences, so that k = 10 and 25 show the same: k = 1, 3, and all of
    # them are three prompts for each probe at S = 0 and 1; at S = 2 one of them, and both, are two.
    assert len(calls) - summaries == n * 4 * (3 + 3 + 2) < exchanges


def test_the_ratio_to_the_naive_count_is_the_server_s(tmp_path: Path) -> None:
    """Naive: every exchange on a state built for it alone. The plan's estimate is near."""
    data = people(3)
    with Echo() as server:
        given = {"model": server.model, "levels": "0,1", "k": "1,3,10,25"}
        planned = studying.make_plan("frontier", options(**given), data)
        guess = estimate(planned.plan, planned.blobs)
        run("frontier", tmp_path / "r", data, **given)
        called = len(server.asked)
    exchanges, sessions_each = 3 * 2 * 4 * 4, 2
    naive = exchanges + exchanges // 2 * sessions_each  # at S = 1 each would summarise its sessions again
    assert (guess.exchanges, guess.naive_calls, guess.states_built) == (exchanges, naive, 3 * 2)
    assert called == 3 * 4 * (3 + 3) + 3 * sessions_each
    print(f"{called} calls for {exchanges} exchanges; naive {naive}: {naive / called:.2f} times as many")
    assert naive / called > 2.4
    assert 0.8 * called <= guess.calls <= 1.25 * called


def test_another_run_over_the_same_cache_calls_nothing(tmp_path: Path) -> None:
    cache = tmp_path / "shared.sqlite"
    with Echo() as server:
        first = run("frontier", tmp_path / "a", model=server.model, cache=cache)
        before = len(server.asked)
        second = run("frontier", tmp_path / "b", model=server.model, cache=cache)
        assert len(server.asked) == before > 0
        # The ladder's noop rungs ask what the frontier asked: only the other modes are new.
        run("residue", tmp_path / "c", model=server.model, cache=cache, modes="noop", k="1,3")
        assert len(server.asked) == before
    assert first.bytes == second.bytes


def test_a_sampled_call_is_cached_under_its_own_seed_alone(tmp_path: Path) -> None:
    with Echo() as server:
        run("frontier", tmp_path / "a", people(2), model=server.model, levels="0", temperature=0.7)
        calls = server.calls()
    assert len(calls) == len(set(calls))
    assert all(seed != "null" for *_, seed in calls)
    assert len({seed for *_, seed in calls}) == 2 * 4  # a seed for each instance and probe


@pytest.mark.parametrize("audit", ["frontier", "residue"])
def test_states_built_are_instances_times_levels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, audit: str
) -> None:
    """Each session is told once for each instance and S, however many k, probes and modes meet the state."""
    told: Counter[tuple[int, str]] = Counter()
    real = ReferenceAgent.converse

    async def counted(self: ReferenceAgent, user: str, session: Session) -> None:
        told[self.settings.level, session.id] += 1
        await real(self, user, session)

    monkeypatch.setattr(ReferenceAgent, "converse", counted)
    run(audit, tmp_path / "r", people(3), levels="0,1,2", k="1,3,6")
    assert set(told) == {(level, f"p{i}-s{s}") for level in (0, 1, 2) for i in range(3) for s in range(2)}
    assert set(told.values()) == {1}
