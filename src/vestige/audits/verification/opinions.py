"""What models measured of a reply while the run acted: reason enough for a person to look, never more."""

from __future__ import annotations

from typing import Any, cast

from vestige.audits.verification.looking import SEMANTIC, Look, Looker
from vestige.audits.verification.pairs import Preference
from vestige.audits.verification.settings import TargetName
from vestige.probes.semantics import semantic_preference

__all__ = ["thought_disclosed"]


def thought_disclosed(looker: Looker, target: TargetName, reply: str, measures: Any) -> Look | None:
    """An uncertain look at a preference that the rules do not find in the reply.

    Either the embedder finds it to lean towards the option by `probes.semantics.LEANING`, or the judge model says that
    it discloses it. A model's opinion alone confirms nothing.

    Args:
        looker: Of the arm.
        target: The preference that was asked for.
        reply: The answer to a question for the preference.
        measures: As recorded with the exchange; untrusted.
    """
    preference: Preference | None = looker.preferences.get(target)
    if preference is None or not isinstance(measures, dict):
        return None
    found = cast("dict[str, Any]", measures)
    measured = found.get("leaning")
    leaning = measured if isinstance(measured, float) else None
    state = semantic_preference(preference.favoured, preference.other, preference.topic, reply, leaning)
    if state == "none" and found.get("semantic_judge") != "disclosed":
        return None
    return Look(target, SEMANTIC, "uncertain", 1)
