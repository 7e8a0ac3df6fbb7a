"""What a reply shows besides targets: actions, usefulness, health, a correction, a reintroduction."""

from __future__ import annotations

from collections.abc import Iterator

from vestige.audits.verification.looking import Looker
from vestige.audits.verification.pairs import Pair
from vestige.audits.verification.settings import Condition, Normalisation, TargetName
from vestige.channels import exchange
from vestige.probes.health import state_of
from vestige.probes.influence import action_of
from vestige.probes.matching import literal_forms
from vestige.probes.usefulness import outcome_of
from vestige.records import JsonScalar, Reply
from vestige.runs.plan import Probe

__all__ = ["HARMLESS", "adopted", "measured", "used_again"]

HARMLESS = ("utility", "sibling")
"""Kinds of probe with a known right answer that has nothing to do with a target."""

Values = dict[str, JsonScalar]


def measured(
    pair: Pair, probe: Probe, reply: Reply, who: str, target: TargetName | None
) -> Iterator[tuple[str, Values]]:
    """Kinds of finding with their values: action, utility, health."""
    preference = pair.preferences.get(target) if target is not None else None
    if probe.kind == "choice" and preference is not None and len(probe.choices) == 2:
        action = action_of(reply, (probe.choices[0], probe.choices[1]))
        options = {preference.favoured: "favoured", preference.other: "other"}
        yield "action", {"chosen": options.get(action.option or "", "none"), "source": action.source}
    elif probe.kind in (*HARMLESS, "unknown", "second_source"):
        outcome = outcome_of(reply, probe.text, probe.expected)
        task = "unknown" if probe.kind == "unknown" else "retained"
        whose = probe.kind if probe.kind == "second_source" else who
        yield "utility", {"outcome": outcome, "task": task, "who": whose}
    if probe.kind in HARMLESS:
        yield "health", {"state": state_of(reply)}


def used_again(looker: Looker, reply: Reply, target: TargetName | None) -> bool:
    """Whether a target that was told anew is used: it stands in the answer or in what a tool was called with."""
    return any(
        look.target == target and look.state == "confirmed"
        for observation in exchange(reply)
        if observation.channel in ("answer", "tool_arguments")
        for look in looker.own(observation.texts)
    )


def adopted(
    pair: Pair,
    condition: Condition,
    looker: Looker,
    normalisations: tuple[Normalisation, ...],
    reply: Reply,
    target: TargetName | None,
) -> bool:
    """Whether the replacement answers, and the old value does not."""
    new: str | None = None
    if target in pair.nonces:
        new = pair.nonces[target].replacement.get(condition)
    elif target in pair.preferences:
        new = pair.preferences[target].replacement
    if new is None or not literal_forms(new, reply.text, normalisations):
        return False
    return all(look.target != target for look in looker.own([reply.text]))
