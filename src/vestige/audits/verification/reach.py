"""Which outcomes a number of pairs can reach at all, computed as the rules compute it, at the very best."""

from __future__ import annotations

from vestige.audits.verification.contrasts import Contrast, contrast, lower_limit, upper_limit
from vestige.audits.verification.results import Reachable
from vestige.audits.verification.settings import VerificationSettings
from vestige.audits.verification.tally import Pairs
from vestige.stats.paired import MIN_CLUSTERS

__all__ = ["reachable_of"]


def reachable_of(settings: VerificationSettings, n: int, clusters: int | None = None) -> Reachable:
    """What `n` distinct pairs can show if nothing leaks, no pair disagrees and every positive control shows the target.

    Args:
        settings: What the rules ask for.
        n: Distinct pairs.
        clusters: How many clusters they make up; None: all are independent.
    """
    units = n if clusters is None else clusters
    reasons: list[str] = []
    if units < 1:
        return Reachable(n=n, limited_evidence=False, reasons=("there is no pair",))
    if clusters is not None and clusters < MIN_CLUSTERS and settings.observer.stopping == "fixed":
        reasons.append(f"{clusters} clusters decide nothing below {MIN_CLUSTERS}")
    if (upper := upper_limit(0, units, settings)) > settings.leakage_bound:
        reasons.append(
            f"no leak in {units} bounds leakage by {100 * upper:.3g} %, above {100 * settings.leakage_bound:.3g} %"
        )
    if (lower := lower_limit(units, units, settings)) < settings.sensitivity:
        reasons.append(
            f"a control that shows the target in {units} of {units} has the lower limit {100 * lower:.3g} %, below "
            f"{100 * settings.sensitivity:.3g} %"
        )
    # Two option orders make a mean a pair; that no value of it lies between 0 and 1 at the very best changes nothing.
    same = _best(settings, units, 0.0)
    flat = same.interval
    if flat[0] <= -settings.utility_margin:
        reasons.append(
            f"no fact lost in {units} pairs leaves a loss of up to {-flat[0]:.3f} open, beyond "
            f"{settings.utility_margin:g}"
        )
    if (answered := lower_limit(units, units, settings)) <= settings.utility_margin:
        reasons.append(
            f"a twin that answers {units} of {units} facts has the lower limit {100 * answered:.3g} %, no more than "
            f"the {100 * settings.utility_margin:.3g} % that may be lost"
        )
    if "preference" in settings.targets and "non_use" in settings.claims:
        if same.within(settings.margin) != "inside" and flat[1] < settings.margin:
            reasons.append(
                f"no difference in {units} pairs has p = {same.p_value:.3f} by the exact test at the margin "
                f"{settings.margin:g}, which must be below {settings.alpha:g}"
            )
        elif flat[1] >= settings.margin:
            reasons.append(
                f"no difference in {units} pairs has the interval ±{flat[1]:.3f}, beyond the margin {settings.margin:g}"
            )
        if _best(settings, units, 1.0).interval[0] <= settings.margin:
            reasons.append(
                f"a control that always acts, against a twin that never does, is not told apart in {units} pairs"
            )
    return Reachable(n=n, limited_evidence=not reasons, reasons=tuple(reasons))


def _best(settings: VerificationSettings, n: int, difference: float) -> Contrast:
    """The comparison where every one of n independent pairs has the same difference."""
    names = tuple(f"{i}" for i in range(n))
    pairs = Pairs(names, 0, (), n, {name: name for name in names})
    a, b = dict.fromkeys(names, difference), dict.fromkeys(names, 0.0)
    return contrast(a, b, pairs, settings, settings.margin)
