"""The questions of a pair: which are put when, shared by its arms with their seeds.

Source: "Counterfactual Tests", "Probe disclosure and decisions".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from vestige.audits.verification.fixtures import Material
from vestige.audits.verification.naming import nonce_words, second_source_texts
from vestige.audits.verification.pairs import Preference
from vestige.audits.verification.settings import TargetName, VerificationSettings, kind_of
from vestige.probes import disclosure, influence
from vestige.records import JsonScalar
from vestige.runs.plan import Probe, generator
from vestige.runs.steps import Who

__all__ = ["Asked", "Probes", "questions"]


@dataclass(frozen=True)
class Asked:
    """A probe with what the scorer must know of it."""

    probe: Probe
    labels: dict[str, JsonScalar]
    who: Who = "user"


@dataclass
class Probes:
    """The probes of a pair by the phase in which they are put."""

    core: list[Asked] = field(default_factory=list[Asked])
    """Put after the boundary, and before it too where the observer is warm."""
    harmless: list[Asked] = field(default_factory=list[Asked])
    """Retained usefulness: put after the boundary."""
    delayed: list[Asked] = field(default_factory=list[Asked])
    restarted: list[Asked] = field(default_factory=list[Asked])
    sibling: list[Asked] = field(default_factory=list[Asked])
    again: list[Asked] = field(default_factory=list[Asked])
    corrected: list[Asked] = field(default_factory=list[Asked])

    def every(self) -> Iterable[Asked]:
        """All of them."""
        for group in (
            self.core,
            self.harmless,
            self.delayed,
            self.restarted,
            self.sibling,
            self.again,
            self.corrected,
        ):
            yield from group


def questions(
    item: Material, settings: VerificationSettings, seed: int, *, judge: bool = False, tools: bool = False
) -> Probes:
    """All of a pair's probes.

    Args:
        item: The pair.
        settings: How many of which.
        seed: Of the plan.
        judge: Have a judge model look at the answers that could tell a preference.
        tools: The agent is known to take tools.
    """
    pair, observer, out = item.pair, settings.observer, Probes()
    out.harmless = [
        _harmless(item, "utility", pair.retained.question, pair.retained.expected, settings),
        _harmless(item, "unknown", pair.retained.unknown_question, None, settings),
    ]
    if pair.nonce is not None and (value := pair.nonce.second_source) is not None:
        texts = second_source_texts()
        first = int(generator(seed, item.id, "second_source").integers(len(texts)))
        for number, group in enumerate((out.harmless, out.delayed)):
            text = texts[(first + number) % len(texts)]
            probe = _probe(item, f"second-source-{number}", "second_source", text, settings)
            group.append(Asked(probe.model_copy(update={"expected": value}), {}))
    for target in settings.targets:
        kind = kind_of(target)
        topic = pair.preferences[target].topic if kind == "preference" else None
        words = nonce_words(target) if kind == "nonce" else None
        rng = generator(seed, item.id, "recall", target)
        recalls = disclosure.recall_texts(kind, rng, observer.recall_probes + 2, topic, words)
        labels: dict[str, JsonScalar] = {"target": target}
        for number, text in enumerate(recalls):
            asked = Asked(_probe(item, f"recall-{target}-{number}", "recall", text, settings), labels)
            if number < observer.recall_probes:
                out.core.append(asked)
            elif number == observer.recall_probes:
                out.delayed.append(asked)
            else:
                out.restarted.append(asked)
        families = disclosure.semantic_texts(
            kind, generator(seed, item.id, "semantic", target), observer.semantic_probes, topic, words
        )
        for number, (family, text) in enumerate(families):
            probe = _probe(item, f"semantic-{target}-{number}", "semantic", text, settings)
            out.core.append(Asked(probe, {**labels, "family": family}))
        if observer.structured_probes:
            rng = generator(seed, item.id, "structured", target)
            text = disclosure.structured_text(kind, rng, topic, words)
            probe = _probe(item, f"structured-{target}", "structured", text, settings)
            out.core.append(
                Asked(probe.model_copy(update={"tools": tuple(disclosure.STRUCTURED_TOOLS)}), labels)
            )
        out.sibling.append(
            Asked(
                _probe(item, f"sibling-recall-{target}", "sibling_recall", recalls[0], settings),
                labels,
                "sibling",
            )
        )
        again = _probe(item, f"again-{target}", "reintroduction", recalls[0], settings)
        out.again.append(Asked(again, labels))
        if settings.task == "correction":
            out.corrected.append(
                Asked(_probe(item, f"correction-{target}", "correction", recalls[0], settings), labels)
            )
    for group in (out.core, out.delayed, out.restarted):
        group[:] = [
            one if preference is None else _compared(one, preference, judge)
            for one in group
            for preference in [_preference_of(one, pair.preferences)]
        ]
    for target, preference in pair.preferences.items():
        out.core += _choices(item, target, preference, settings, seed, tools)
    out.delayed.append(
        Asked(
            _probe(
                item,
                "summary",
                "summary",
                disclosure.summary_text(generator(seed, item.id, "summary")),
                settings,
            ),
            {},
        )
    )
    out.sibling.append(
        _harmless(
            item,
            "sibling",
            pair.retained.sibling_question,
            pair.retained.sibling_expected,
            settings,
            "sibling",
        )
    )
    return out


def _preference_of(asked: Asked, preferences: Mapping[TargetName, Preference]) -> Preference | None:
    return next((p for target, p in preferences.items() if asked.labels.get("target") == target), None)


def _compared(asked: Asked, preference: Preference, judge: bool) -> Asked:
    """The probe with what the models measure of its reply: a preference may be told without its option's name."""
    measures = ("leaning", "semantic_judge") if judge else ("leaning",)
    told = preference.statement.strip()
    contrast = told.replace(preference.favoured, preference.other)
    probe = asked.probe.model_copy(update={"expected": told, "contrast": contrast, "measures": measures})
    return Asked(probe, asked.labels, asked.who)


def _probe(item: Material, name: str, kind: str, text: str, settings: VerificationSettings) -> Probe:
    return Probe(
        id=f"{item.id}/{name}", kind=kind, text=text, max_tokens=settings.observer.max_tokens, trace=True
    )


def _harmless(
    item: Material,
    kind: str,
    question: str,
    expected: str | None,
    settings: VerificationSettings,
    who: Who = "user",
) -> Asked:
    probe = _probe(item, kind, kind, question, settings).model_copy(update={"expected": expected})
    return Asked(probe, {}, who)


def _choices(
    item: Material,
    target: TargetName,
    preference: Preference,
    settings: VerificationSettings,
    seed: int,
    tools: bool,
) -> list[Asked]:
    further = () if target == "preference" else (target,)
    orders = [preference.order, (preference.order[1], preference.order[0])][: settings.observer.choice_probes]
    asked: list[Asked] = []
    for number, order in enumerate(orders):
        text = influence.choice_text(
            preference.topic, order, generator(seed, item.id, "choice", *further), alone=not tools
        )
        name = "-".join(("choice", *further, str(number)))
        probe = _probe(item, name, "choice", text, settings).model_copy(
            update={"tools": (influence.CHOICE_TOOL(order),), "choices": order}
        )
        asked.append(Asked(probe, {"target": target, "order": number}))
    return asked
