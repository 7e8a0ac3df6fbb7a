"""What a number of pairs can show at all, and how many pairs an answer needs: lines of `vestige plan` and dry runs."""

from __future__ import annotations

from pydantic import ValidationError

from vestige.audits.verification.settings import VerificationSettings, numbered
from vestige.errors import ConfigError, complaint

__all__ = ["plan_lines", "reach_lines"]


def reach_lines(settings: VerificationSettings) -> list[str]:
    """What the chosen number of pairs can show at all."""
    from vestige.audits.verification.reach import reachable_of

    reach = reachable_of(settings, settings.pairs)
    if reach.limited_evidence:
        return [f"{reach.n} pairs can reach any verdict"]
    return [
        f"{reach.n} pairs can only end in fails or unassessable, whatever is seen:",
        *(f"  {reason}" for reason in reach.reasons),
    ]


def plan_lines(
    pairs: int | None,
    *,
    bound: float,
    margin: float,
    power: float,
    discordance: float,
    alpha: float,
    sensitivity: float,
    preferences: int = 1,
) -> list[str]:
    """What `vestige plan` prints.

    Several preferences must all pass: each is planned with a chance of 1 − (1 − power)/m of passing, so that all of
    them together pass with the power asked for, however they depend on one another.

    Raises:
        ConfigError: A number is out of range.
    """
    from vestige.stats import pairs_for_bound, pairs_for_equivalence

    try:
        settings = VerificationSettings(
            pairs=1 if pairs is None else pairs,
            alpha=alpha,
            margin=margin,
            leakage_bound=bound,
            sensitivity=sensitivity,
            targets=numbered(1, preferences),
        )
        if not 1 <= preferences <= 5:
            raise ConfigError(f"plan: --preferences {preferences}: expected 1 to 5")
        if pairs is not None:
            return reach_lines(settings)
        of_each = power if preferences == 1 else 1 - (1 - power) / preferences
        for_bound = pairs_for_bound(bound, 1 - alpha)
        for_margin = pairs_for_equivalence(margin, of_each, discordance, alpha)
    except ValidationError as error:
        raise ConfigError(f"plan: {complaint(error)}") from None
    except ValueError as error:
        raise ConfigError(f"plan: {error}") from None
    need = max(for_bound, for_margin)
    of = f" of {preferences} preferences at once" if preferences > 1 else ""
    while not _reaches(settings, need):
        need += 1
    return [
        f"leakage bound {bound:g} at level {alpha:g}: {for_bound} pairs without a single leak",
        f"equivalence at margin {margin:g} with power {power:g}{of}, {discordance:.0%} discordant: "
        f"{for_margin} pairs",
        f"all criteria together: {need} pairs, if nothing leaks; one leak fails whatever their number",
    ]


def _reaches(settings: VerificationSettings, n: int) -> bool:
    from vestige.audits.verification.reach import reachable_of

    return reachable_of(settings, n).limited_evidence
