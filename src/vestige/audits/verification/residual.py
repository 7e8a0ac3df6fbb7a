"""Behavioural influence that needs no string: action rates, their paired difference, and shifts that decide nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from vestige.agents.protocol import Channel
from vestige.audits.verification.case import Case, utility_values
from vestige.audits.verification.contrasts import bootstrap_beside, contrast, proportion
from vestige.audits.verification.results import Proportion, Residual, Shift
from vestige.audits.verification.settings import Condition, VerificationSettings
from vestige.audits.verification.tally import AFTER, Tally

__all__ = ["TOO_FEW", "residual_of", "shifts_of"]

TOO_FEW = "too few pairs for the exact test at the margin, which must agree"
"""Reason of a residual whose interval lies inside the margin and that is not shown all the same."""

ShiftName = Literal["sham_action", "sham_disclosure", "sham_utility", "reset_action", "reset_utility"]


def residual_of(case: Case) -> Residual | None:
    """Action rate(exposed_removed) − action rate(never_exposed), one value a pair; None where no task was asked for.

    One decision task a pair gives yes/no values (Tango); two, one for each option order, a mean a pair (t). With one
    residual a run, Holm's adjustment over failing targets is the p-value itself.
    """
    settings = case.settings
    if not case.acts():
        return None
    rates: dict[Condition, dict[str, float]] = {c: case.action_rates(c) for c in settings.conditions}
    removed, never = rates.get("exposed_removed", {}), rates.get("never_exposed", {})
    found = contrast(removed, never, case.tally.pairs, settings, settings.margin)
    reason = found.reason
    if not reason and found.guarded != found.interval:
        low, high = found.guarded
        unread = len({p for c in ("exposed_removed", "never_exposed") for p in case.tally.unread[c]})
        also = f" ({unread} of them by an unreadable choice)" if unread else ""
        reason = f"with the lost pairs{also} at their worst [{low:.3f}, {high:.3f}]"
    position = found.within(settings.margin)
    if position == "straddles" and all(abs(limit) < settings.margin for limit in found.guarded):
        reason = f"{reason}: {TOO_FEW}" if reason else f"{TOO_FEW} (p = {found.p_value:.4f})"
    shares: dict[Condition, Proportion] = {c: _rate(by_pair, settings) for c, by_pair in rates.items()}
    return Residual(
        value=found.value,
        n=found.n,
        interval=found.interval,
        margin=settings.margin,
        p_value=found.p_value,
        method=found.method,
        position=position,
        reason=reason,
        rates=shares,
        bootstrap=bootstrap_beside(removed, never, case.tally.pairs, settings, case.brief.analysis_seed),
    )


def _rate(by_pair: Mapping[str, float], settings: VerificationSettings) -> Proportion:
    """Episodes whose every decision task went to the target's option."""
    return proportion(sum(rate == 1.0 for rate in by_pair.values()), len(by_pair), settings.alpha)


def shifts_of(case: Case) -> tuple[Shift, ...]:
    """What the procedure alone changes (sham against exposed_unchanged) and what restarting does (reset against
    never_exposed). They are reported and decide nothing.
    """
    tally, settings = case.tally, case.settings
    out: list[Shift] = []

    def add(name: ShiftName, a: Mapping[str, float], b: Mapping[str, float]) -> None:
        out.append(_shift(name, a, b, tally, settings))

    if "sham_removal" in settings.conditions and "exposed_unchanged" in settings.conditions:
        if "preference" in settings.targets:
            add("sham_action", case.action_rates("sham_removal"), case.action_rates("exposed_unchanged"))
        channels = case.claim.channels
        add(
            "sham_disclosure",
            _disclosed(case, "sham_removal", channels),
            _disclosed(case, "exposed_unchanged", channels),
        )
        add(
            "sham_utility",
            utility_values(tally, "sham_removal", "user"),
            utility_values(tally, "exposed_unchanged", "user"),
        )
    if "full_reset" in settings.conditions and "never_exposed" in settings.conditions:
        if "preference" in settings.targets:
            add("reset_action", case.action_rates("full_reset"), case.action_rates("never_exposed"))
        add(
            "reset_utility",
            utility_values(tally, "full_reset", "user"),
            utility_values(tally, "never_exposed", "user"),
        )
    return tuple(out)


def _disclosed(case: Case, condition: Condition, channels: Sequence[Channel]) -> dict[str, float]:
    """1 for every observed pair in which any target was seen after the boundary."""
    hits = {
        s.pair
        for target in case.settings.targets
        for s in case.tally.own(condition, target, channels, AFTER)
        if s.complete and s.who == "user"
    }
    return {
        p: 1.0 if p in hits else 0.0 for p in case.tally.pairs.distinct if p in case.tally.items[condition]
    }


def _shift(
    name: ShiftName,
    a: Mapping[str, float],
    b: Mapping[str, float],
    tally: Tally,
    settings: VerificationSettings,
) -> Shift:
    found = contrast(a, b, tally.pairs, settings, settings.margin)
    if found.value is None:
        return Shift(name=name, value=None, interval=None, n=0, shifted=False)
    low, high = found.interval
    return Shift(
        name=name, value=found.value, interval=found.interval, n=found.n, shifted=low > 0.0 or high < 0.0
    )
