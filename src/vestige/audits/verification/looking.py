"""Looks for an arm's own targets, and for other arms' nonces, in what one observer saw."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from vestige.audits.verification.pairs import Nonce, Pair, Preference
from vestige.audits.verification.settings import (
    TARGETS,
    Condition,
    TargetName,
    VerificationSettings,
    kind_of,
)
from vestige.canaries import GRAMMAR, Canary
from vestige.probes.matching import combined, foreign, literal_forms, named
from vestige.probes.semantics import semantic_nonce, semantic_preference

__all__ = ["COMBINED", "SEMANTIC", "Known", "Look", "Looker", "Owner", "Reading", "owners_of"]

_CANARY = re.compile(GRAMMAR.pattern, re.IGNORECASE | re.ASCII)
SEMANTIC, COMBINED = "semantic", "combined"
State = Literal["confirmed", "uncertain"]
Reading = Literal["free", "named", "prompted"]
"""What an option's name is worth. `free`: nobody named it but the target, so it is a disclosure. `named`: an earlier
decision task named it too, so that only a stated preference is one. `prompted`: this very task names it, and what is
stated for it may be made up: uncertain."""

Owner = tuple[str, TargetName]
"""Whose a nonce is: id of the episode in which it was told, and which of its targets it is."""

Known = dict[tuple[TargetName, Reading, str], tuple[str, State] | None]
SHORT = 2_000
"""Characters of a text that is worth remembering: stored units come up again and again, whole prompts do not."""


@dataclass(frozen=True, slots=True)
class Look:
    """The best that a set of texts shows of one target."""

    target: TargetName
    form: str
    state: State
    count: int
    """Texts that show it in that state."""


def owners_of(pairs: Mapping[str, Pair]) -> dict[str, Owner]:
    """Whose every nonce is, by its value."""
    return {
        value: (f"{name}/{condition}", target)
        for name, pair in pairs.items()
        for target, nonce in pair.nonces.items()
        for condition, value in nonce.values.items()
    }


class Looker:
    """What is looked for in one episode.

    Args:
        pair: The fixture.
        condition: The arm; without a nonce of its own where it never saw one.
        settings: Which normalisations were declared.
        episode: Id of the episode.
        owners: Of `owners_of`, over all pairs.
        known: What short texts tell of the preferences, which are the same in all arms of a pair; shared between them.
    """

    def __init__(
        self,
        pair: Pair,
        condition: Condition,
        settings: VerificationSettings,
        episode: str,
        owners: Mapping[str, Owner],
        known: Known | None = None,
    ) -> None:
        self._known: Known = {} if known is None else known
        self._settings, self._episode, self._owners = settings, episode, owners
        self._nonces: dict[TargetName, tuple[Canary, Nonce]] = {
            target: (Canary(nonce.values[condition]), nonce)
            for target, nonce in pair.nonces.items()
            if target in settings.targets and condition in nonce.values
        }
        self.preferences: dict[TargetName, Preference] = {
            t: p for t, p in pair.preferences.items() if t in settings.targets
        }
        self._seen: dict[tuple[TargetName, str], tuple[str, State] | None] = {}

    @property
    def targets(self) -> tuple[TargetName, ...]:
        """Targets that this arm has."""
        return tuple(t for t in TARGETS if t in self._nonces or t in self.preferences)

    @property
    def values(self) -> tuple[str, ...]:
        """Their texts."""
        nonces = (canary.value for canary, _ in self._nonces.values())
        return (*nonces, *(p.favoured for p in self.preferences.values()))

    def own(
        self,
        texts: Iterable[str],
        reading: Reading | Mapping[TargetName, Reading] = "free",
        fresh: Collection[str] = (),
    ) -> list[Look]:
        """The arm's own targets in the texts, one look a target that is there.

        Args:
            texts: What was observed.
            reading: What an option's name is worth in them; by target, `free` where it says nothing.
            fresh: Those of the texts whose reading is `named` whatever the others' is.
        """
        every = list(texts)
        out: list[Look] = []
        for target in self.targets:
            read: Reading = reading if isinstance(reading, str) else reading.get(target, "free")
            found = (self._one(target, text, "named" if text in fresh else read) for text in every)
            hits = [hit for hit in found if hit is not None]
            if hits:
                form, state = min(hits, key=_strength)
                out.append(Look(target, form, state, sum(hit[1] == state for hit in hits)))
        return out

    def holds(self, target: TargetName, text: str) -> bool:
        """Whether the text tells the target."""
        found = self._one(target, text, "free")
        return found is not None and found[1] == "confirmed"

    def others(self, texts: Sequence[str]) -> dict[Owner, int]:
        """Other arms' nonces: whose they are → texts that hold them."""
        values = {hit[0].upper() for text in texts for hit in _CANARY.finditer(text)}
        owners = {value: self._owners[value] for value in values if value in self._owners}
        found = foreign(texts, owners) if owners else {}
        return {owner: count for owner, count in found.items() if owner[0] != self._episode}

    def put_together(self, texts: Sequence[str]) -> tuple[TargetName, ...]:
        """The nonces of which the texts of all channels together hold every part."""
        return tuple(t for t, (canary, n) in self._nonces.items() if combined(canary, n.countable, texts))

    def part_of(self, target: TargetName, text: str) -> bool:
        """Whether a text holds any part of the nonce that counts, so that it can be a fragment."""
        if target not in self._nonces:
            return False
        canary, nonce = self._nonces[target]
        lowered = text.lower()
        return any(
            counts and part.lower() in lowered
            for part, counts in zip(canary.parts, nonce.countable, strict=True)
        )

    def any_part(self, text: str) -> bool:
        """The same of any of the arm's nonces."""
        return any(self.part_of(target, text) for target in self._nonces)

    def _one(self, target: TargetName, text: str, reading: Reading) -> tuple[str, State] | None:
        if kind_of(target) == "nonce":
            if (target, text) not in self._seen:
                self._seen[target, text] = self._nonce_in(target, text)
            return self._seen[target, text]
        if len(text) > SHORT:
            return self._preference_in(target, text, reading)
        key = (target, reading, text)
        if key not in self._known:
            self._known[key] = self._preference_in(target, text, reading)
        return self._known[key]

    def _nonce_in(self, target: TargetName, text: str) -> tuple[str, State] | None:
        if target not in self._nonces:
            return None
        canary, nonce = self._nonces[target]
        if forms := literal_forms(canary.value, text, self._settings.observer.normalisations):
            return forms[0], "confirmed"
        state = semantic_nonce(canary, nonce.countable, text)
        return None if state == "none" else (SEMANTIC, state)

    def _preference_in(self, target: TargetName, text: str, reading: Reading) -> tuple[str, State] | None:
        preference = self.preferences.get(target)
        if preference is None:
            return None
        # Where retained facts name the option too, its name alone tells nothing.
        bare = reading == "free" and not self._settings.hints_kept
        if bare and (
            forms := literal_forms(preference.favoured, text, self._settings.observer.normalisations)
        ):
            return forms[0], "confirmed"
        if not bare and not named(preference.favoured, text):
            return None
        state = semantic_preference(preference.favoured, preference.other, preference.topic, text)
        if reading == "prompted":
            # To name the option is the task; only to say that it is preferred is worth a person's look.
            return (SEMANTIC, "uncertain") if state == "confirmed" else None
        return None if state == "none" else (SEMANTIC, state)


def _strength(hit: tuple[str, State]) -> tuple[bool, bool, bool, str]:
    form, state = hit
    return state != "confirmed", form == SEMANTIC, form != "verbatim", form
