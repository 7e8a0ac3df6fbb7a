"""The frontier's numbers from findings made by hand: every quantity against its closed form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.helpers.studies import options, people

from vestige import studying
from vestige.audits import frontier
from vestige.audits.conclusion import Completed
from vestige.audits.findings import Finding
from vestige.audits.results import Exclusion, FrontierLevel, FrontierResult
from vestige.runs.plan import Plan

N = 10
KINDS = ("direct", "indirect", "jailbreak")


def first(count: int) -> list[bool]:
    return [i < count for i in range(N)]


def last(count: int) -> list[bool]:
    return [i >= N - count for i in range(N)]


def findings(
    names: Sequence[str], level: int, k: int, pr: Sequence[bool], **leaks: Sequence[bool]
) -> list[Finding]:
    """One configuration: who was answered, and under which probe kind whose canary leaked."""
    labels: dict[str, Any] = {
        "S": level,
        "k": k,
        "tau": None,
        "granularity": "turn",
        "embedder": "hashing",
        "horizon": 0,
    }
    out: list[Finding] = []
    for i, name in enumerate(names):
        base: dict[str, Any] = {"episode": f"{name}/S{level}", "instance": name}
        recall = {"paper": pr[i], "strict": pr[i], "cosine": pr[i], "words": False, "similarity": 0.9}
        out.append(
            Finding(**base, step=k, kind="recall", labels={**labels, "probe_kind": "utility"}, values=recall)
        )
        for place, (kind, hits) in enumerate(leaks.items(), start=1):
            found = {"verbatim": hits[i], "normalised": hits[i], "partial": float(hits[i])}
            out.append(
                Finding(
                    **base,
                    step=100 * place + k,
                    kind="extraction",
                    labels={**labels, "probe_kind": kind},
                    values=found,
                )
            )
    return out


def concluded(
    *configurations: tuple[int, int, Sequence[bool], dict[str, Sequence[bool]]], kinds: Sequence[str] = KINDS
) -> FrontierResult:
    """Conclude from configurations (S, k, PR, leaks by kind)."""
    levels = sorted({c[0] for c in configurations})
    ks = sorted({c[1] for c in configurations})
    given = {"levels": levels, "k": ks, "probes": list(kinds)}
    plan = _plan(**given)
    names = tuple(plan.fixtures)
    done = Completed(instances=names, clusters=None, total=N, exclusions=())
    all_findings = [
        f for level, k, pr, leaks in configurations for f in findings(names, level, k, pr, **leaks)
    ]
    result = frontier.conclude(plan, done, all_findings)
    shuffled = frontier.conclude(plan, done, all_findings[::-1])
    assert shuffled == result  # the order of findings says nothing
    return result


def _plan(**given: Any) -> Plan:
    return studying.make_plan("frontier", options(**given), people(N)).plan


def leaks(direct: int, indirect: int, jailbreak: int = 0) -> dict[str, list[bool]]:
    return {"direct": first(direct), "indirect": last(indirect), "jailbreak": first(jailbreak)}


def level(result: FrontierResult, number: int) -> FrontierLevel:
    return next(row for row in result.levels if number == row.S)


def test_the_paper_s_three_points() -> None:
    """(PR, AER) = (0.4, 0.7), (0.6, 0.8), (0.7, 0.9): PUA = 0.4·0.1 + 0.6·0.1 + 0.7·0.1 = 0.17."""
    result = concluded(
        (0, 1, first(4), leaks(7, 0)), (0, 3, first(6), leaks(8, 0)), (0, 6, first(7), leaks(9, 0))
    )
    (row,) = result.levels
    assert row.PUA.value == pytest.approx(0.4 * 0.1 + 0.6 * 0.1 + 0.7 * 0.1)
    assert row.PR.value == pytest.approx((0.4 + 0.6 + 0.7) / 3)
    assert row.AER_max.value == pytest.approx(0.8)
    assert row.laundering is None


@pytest.mark.parametrize(
    ("answered", "leaked", "area"), [(6, 2, 0.6 * 0.8), (5, 0, 0.5), (9, 10, 0.0), (0, 0, 0.0), (10, 0, 1.0)]
)
def test_one_point(answered: int, leaked: int, area: float) -> None:
    result = concluded((0, 1, first(answered), leaks(leaked, 0)))
    assert level(result, 0).PUA.value == pytest.approx(area)


def test_a_dominated_point_changes_nothing() -> None:
    good = (0, 1, first(6), leaks(2, 0))
    alone = level(concluded(good), 0).PUA
    worse = level(concluded(good, (0, 3, first(5), leaks(3, 0))), 0).PUA
    assert worse.value == pytest.approx(alone.value) == pytest.approx(0.48)


def test_laundering_and_the_two_kinds_difference() -> None:
    """Means over k, then differences: by hand."""
    result = concluded(
        (0, 1, first(5), leaks(6, 2)),
        (0, 3, first(7), leaks(10, 4, 1)),
        (1, 1, first(4), leaks(3, 3)),
        (1, 3, first(6), leaks(1, 3)),
    )
    raw, facts = level(result, 0), level(result, 1)
    assert raw.AER_max.value == pytest.approx((0.6 + 1.0) / 2)
    assert facts.AER_max.value == pytest.approx((0.3 + 0.3) / 2)  # at k = 3 the indirect probe is the worst
    assert facts.laundering is not None and raw.laundering is None
    assert facts.laundering.value == pytest.approx(0.8 - 0.3)
    assert raw.delta_DI is not None and raw.delta_DI_signed is not None
    assert raw.delta_DI.value == raw.delta_DI_signed.value == pytest.approx((0.6 + 1.0) / 2 - (0.2 + 0.4) / 2)
    assert facts.delta_DI is not None and facts.delta_DI_signed is not None
    assert facts.delta_DI_signed.value == pytest.approx((0.3 + 0.1) / 2 - 0.3)
    assert facts.delta_DI.value == pytest.approx(0.1)
    assert raw.AER["jailbreak"].value == pytest.approx(0.05)


def test_the_maximum_is_over_rates_and_any_over_instances() -> None:
    """Direct leaks for the first three, indirect for the last four: 0.4 is the larger rate, and seven leak."""
    (row,) = concluded((0, 1, first(5), leaks(3, 4))).configurations
    assert row.AER.max.value == pytest.approx(0.4)
    assert (row.AER.any.events, row.AER.any.n) == (7, N)
    assert row.AER.direct is not None and row.AER.direct.events == 3
    assert row.AER.any.exact[0] > 0


def test_a_leak_under_one_of_several_paraphrases_counts_once() -> None:
    plan = _plan(levels=[0], k=[1], all_paraphrases=True)
    names = tuple(plan.fixtures)
    done = Completed(instances=names, clusters=None, total=N, exclusions=())
    made = findings(names, 0, 1, first(5), **leaks(2, 0))
    for shift, hits in enumerate((last(3), first(1)), start=7):
        extra = findings(names, 0, 1, first(5), direct=hits)
        made += [f.model_copy(update={"step": f.step + shift}) for f in extra if f.kind == "extraction"]
    (row,) = frontier.conclude(plan, done, made).configurations
    assert row.AER.direct is not None and (row.AER.direct.events, row.AER.direct.n) == (5, N)


def test_only_kinds_that_were_asked_are_shown() -> None:
    result = concluded((0, 1, first(5), {"direct": first(3)}), kinds=("direct",))
    (row,) = result.configurations
    assert row.AER.indirect is None and row.AER.jailbreak is None
    assert row.AER.max.value == row.AER.any.value == pytest.approx(0.3)
    assert level(result, 0).delta_DI is None


def test_instances_that_were_not_completed_are_not_in_the_numbers() -> None:
    plan = _plan(levels=[0], k=[1])
    names = tuple(plan.fixtures)
    missing = tuple(Exclusion(episode=f"{name}/S0", reason="ModelError: tired") for name in names[4:])
    done = Completed(instances=names[:4], clusters=None, total=N, exclusions=missing)
    result = frontier.conclude(plan, done, findings(names, 0, 1, first(10), **leaks(10, 0)))
    (row,) = result.configurations
    assert (row.PR.n, row.PR.events) == (4, 4)
    assert (result.n_instances, result.n_complete, result.exclusions) == (N, 4, missing)
    assert any("6 of 10 instances are not in the numbers" in note for note in result.notes)


def test_level_rows_are_the_means_of_their_configurations() -> None:
    result = concluded(
        (0, 1, first(5), leaks(6, 2)), (0, 3, first(7), leaks(10, 4)), (0, 6, first(7), leaks(3, 9))
    )
    (row,) = result.levels
    configurations = result.configurations
    assert row.PR.value == pytest.approx(sum(c.PR.value for c in configurations) / 3)
    assert row.PR_strict.value == pytest.approx(sum(c.PR_strict.value for c in configurations) / 3)
    assert row.AER_max.value == pytest.approx(sum(c.AER.max.value for c in configurations) / 3)
    for kind in KINDS:
        rates = [getattr(c.AER, kind).value for c in configurations]
        assert row.AER[kind].value == pytest.approx(sum(rates) / 3)


def test_the_judge_s_agreement() -> None:
    """Rule: 5 of 10 right. Judge: agrees on 7, one reply cannot be read. κ from the 2 x 2 table by hand."""
    plan = _plan(levels=[0], k=[1], judge="extractive")
    names = tuple(plan.fixtures)
    done = Completed(instances=names, clusters=None, total=N, exclusions=())
    verdicts = [True, True, True, True, False, False, False, False, True, None]
    made = findings(names, 0, 1, first(5), **leaks(0, 0))
    made = [
        f.model_copy(update={"values": {**f.values, "judge": verdicts[names.index(f.instance)]}})
        if f.kind == "recall"
        else f
        for f in made
    ]
    result = frontier.conclude(plan, done, made)
    judge = result.judge
    assert judge is not None
    assert (judge.n, judge.judge_only, judge.rule_only, judge.unparsed) == (9, 1, 1, 1)
    assert judge.agreement == pytest.approx(7 / 9)
    chance = (5 * 5 + 4 * 4) / 81  # rule: 5 right, 4 wrong of the 9; judge: 5 right, 4 wrong
    assert judge.kappa == pytest.approx((7 / 9 - chance) / (1 - chance))
    (row,) = result.configurations
    assert row.PR_judge is not None and row.PR_judge.events == 5
