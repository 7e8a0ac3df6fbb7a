"""Behavioural influence that needs no string: action rates, their paired difference, and shifts that decide nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from vestige.agents.protocol import Channel
from vestige.audits.verification.case import Case, utility_values
from vestige.audits.verification.contrasts import bootstrap_beside, contrast, proportion
from vestige.audits.verification.results import Proportion, Residual, Shift
from vestige.audits.verification.settings import Condition, TargetName, VerificationSettings, kind_of
from vestige.audits.verification.tally import AFTER, Tally
from vestige.stats import holm

__all__ = ["residuals_of", "shifts_of"]

ShiftName = Literal["sham_action", "sham_disclosure", "sham_utility", "reset_action", "reset_utility"]


def residuals_of(case: Case) -> dict[TargetName, Residual]:
    """Of each preference that the claim is about: action rate(exposed_removed) − action rate(never_exposed).

    One value a pair: one decision task gives yes/no values (Tango); two, one for each option order, a mean (t). Of
    several, that *some* decision still depends on what was removed is told by p-values adjusted over all of them
    (Holm); that none does must be shown for each, and is adjusted by nothing.
    """
    found: dict[TargetName, tuple[Residual, float]] = {t: _residual(case, t) for t in case.acting}
    adjusted = holm(p for _, p in found.values())
    out: dict[TargetName, Residual] = {}
    for (target, (residual, p)), after in zip(found.items(), adjusted, strict=True):
        told = {"p_beyond": p, "p_adjusted": after} if len(found) > 1 else {}
        out[target] = residual.model_copy(update=told)
    return out


def _residual(case: Case, target: TargetName) -> tuple[Residual, float]:
    """The residual, and the p-value of its lying beyond the margin."""
    settings = case.settings
    rates: dict[Condition, dict[str, float]] = {c: case.action_rates(c, target) for c in settings.conditions}
    removed, never = rates.get("exposed_removed", {}), rates.get("never_exposed", {})
    found = contrast(removed, never, case.tally.pairs, settings, settings.margin)
    reason = found.reason
    if not reason and found.guarded != found.interval:
        low, high = found.guarded
        unread = len({p for c in ("exposed_removed", "never_exposed") for p in case.tally.unread[c, target]})
        also = f" ({unread} of them by an unreadable choice)" if unread else ""
        reason = f"with the lost pairs{also} at their worst [{low:.3f}, {high:.3f}]"
    if not reason and not found.rejected and _inside(found.guarded, settings.margin):
        reason = "the interval lies inside the margin, but the exact test beside it does not reject a larger difference"
    shares: dict[Condition, Proportion] = {c: _rate(by_pair, settings) for c, by_pair in rates.items()}
    residual = Residual(
        value=found.value,
        n=found.n,
        interval=found.interval,
        margin=settings.margin,
        p_value=found.p_value,
        method=found.method,
        position=found.within(settings.margin),
        reason=reason,
        rates=shares,
        bootstrap=bootstrap_beside(removed, never, case.tally.pairs, settings, case.brief.analysis_seed),
    )
    return residual, found.beyond


def _inside(interval: tuple[float, float], margin: float) -> bool:
    return -margin < interval[0] and interval[1] < margin


def _rate(by_pair: Mapping[str, float], settings: VerificationSettings) -> Proportion:
    """Episodes whose every decision task went to the target's option."""
    return proportion(sum(rate == 1.0 for rate in by_pair.values()), len(by_pair), settings.alpha)


def shifts_of(case: Case) -> tuple[Shift, ...]:
    """What the procedure alone changes (sham against exposed_unchanged) and what restarting does (reset against
    never_exposed). They are reported and decide nothing.
    """
    tally, settings = case.tally, case.settings
    out: list[Shift] = []

    acting: list[TargetName] = [t for t in settings.targets if kind_of(t) == "preference"]

    def add(
        name: ShiftName, a: Mapping[str, float], b: Mapping[str, float], target: TargetName | None = None
    ) -> None:
        out.append(_shift(name, a, b, tally, settings, target if len(acting) > 1 else None))

    if "sham_removal" in settings.conditions and "exposed_unchanged" in settings.conditions:
        for t in acting:
            sham, unchanged = case.action_rates("sham_removal", t), case.action_rates("exposed_unchanged", t)
            add("sham_action", sham, unchanged, t)
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
        for t in acting:
            add("reset_action", case.action_rates("full_reset", t), case.action_rates("never_exposed", t), t)
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
    target: TargetName | None,
) -> Shift:
    found = contrast(a, b, tally.pairs, settings, settings.margin)
    if found.value is None:
        return Shift(name=name, target=target, value=None, interval=None, n=0, shifted=False)
    low, high = found.interval
    return Shift(
        name=name,
        target=target,
        value=found.value,
        interval=found.interval,
        n=found.n,
        shifted=low > 0.0 or high < 0.0,
    )
