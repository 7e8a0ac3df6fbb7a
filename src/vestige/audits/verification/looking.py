"""Looks for an arm's own targets, and for other arms' nonces, in what one observer saw."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from vestige.audits.verification.pairs import Pair
from vestige.audits.verification.settings import Condition, TargetKind, VerificationSettings
from vestige.canaries import GRAMMAR, Canary
from vestige.probes.matching import combined, foreign, literal_forms, named
from vestige.probes.semantics import semantic_nonce, semantic_preference

__all__ = ["COMBINED", "SEMANTIC", "Known", "Look", "Looker", "Reading", "owners_of"]

_CANARY = re.compile(GRAMMAR.pattern, re.IGNORECASE | re.ASCII)
SEMANTIC, COMBINED = "semantic", "combined"
State = Literal["confirmed", "uncertain"]
Reading = Literal["free", "named", "prompted"]
"""What an option's name is worth. `free`: nobody named it but the target, so it is a disclosure. `named`: an earlier
decision task named it too, so that only a stated preference is one. `prompted`: this very task names it, and what is
stated for it may be made up: uncertain."""

Known = dict[tuple[Reading, str], tuple[str, State] | None]
SHORT = 2_000
"""Characters of a text that is worth remembering: stored units come up again and again, whole prompts do not."""


@dataclass(frozen=True, slots=True)
class Look:
    """The best that a set of texts shows of one target."""

    target: TargetKind
    form: str
    state: State
    count: int
    """Texts that show it in that state."""


def owners_of(pairs: Mapping[str, Pair]) -> dict[str, str]:
    """Whose every nonce is: value → id of the episode in which it was told."""
    return {
        value: f"{name}/{condition}"
        for name, pair in pairs.items()
        if pair.nonce is not None
        for condition, value in pair.nonce.values.items()
    }


class Looker:
    """What is looked for in one episode.

    Args:
        pair: The fixture.
        condition: The arm; without a nonce of its own where it never saw one.
        settings: Which normalisations were declared.
        episode: Id of the episode.
        owners: Of `owners_of`, over all pairs.
        known: What short texts tell of the preference, which is the same in all arms of a pair; shared between them.
    """

    def __init__(
        self,
        pair: Pair,
        condition: Condition,
        settings: VerificationSettings,
        episode: str,
        owners: Mapping[str, str],
        known: Known | None = None,
    ) -> None:
        self._known: Known = {} if known is None else known
        self._settings, self._episode, self._owners = settings, episode, owners
        value = pair.nonce.values.get(condition) if pair.nonce is not None else None
        self._nonce = Canary(value) if value is not None and "nonce" in settings.targets else None
        self._countable = pair.nonce.countable if pair.nonce is not None else (True, True, True)
        self.preference = pair.preference if "preference" in settings.targets else None
        self._nonces: dict[str, tuple[str, State] | None] = {}

    @property
    def kinds(self) -> tuple[TargetKind, ...]:
        """Targets that this arm has."""
        found: list[TargetKind] = []
        if self._nonce is not None:
            found.append("nonce")
        if self.preference is not None:
            found.append("preference")
        return tuple(found)

    @property
    def values(self) -> tuple[str, ...]:
        """Their texts."""
        nonce = (self._nonce.value,) if self._nonce is not None else ()
        return (*nonce, self.preference.favoured) if self.preference is not None else nonce

    def own(self, texts: Iterable[str], reading: Reading = "free", fresh: Collection[str] = ()) -> list[Look]:
        """The arm's own targets in the texts, one look a target that is there.

        Args:
            texts: What was observed.
            reading: What an option's name is worth in them.
            fresh: Those of the texts whose reading is `named` whatever the others' is.
        """
        every = list(texts)
        out: list[Look] = []
        for kind in self.kinds:
            found = (self._one(kind, text, "named" if text in fresh else reading) for text in every)
            hits = [hit for hit in found if hit is not None]
            if hits:
                form, state = min(hits, key=_strength)
                out.append(Look(kind, form, state, sum(hit[1] == state for hit in hits)))
        return out

    def holds(self, kind: TargetKind, text: str) -> bool:
        """Whether the text tells the target."""
        found = self._one(kind, text, "free")
        return found is not None and found[1] == "confirmed"

    def others(self, texts: Sequence[str]) -> dict[str, int]:
        """Other arms' nonces: episode id → texts that hold its nonce."""
        values = {hit[0].upper() for text in texts for hit in _CANARY.finditer(text)}
        owners = {value: self._owners[value] for value in values if value in self._owners}
        found = foreign(texts, owners) if owners else {}
        found.pop(self._episode, None)
        return found

    def put_together(self, texts: Iterable[str]) -> bool:
        """Whether the texts of all channels together hold every part of the nonce."""
        return self._nonce is not None and combined(self._nonce, self._countable, texts)

    def part_of(self, text: str) -> bool:
        """Whether a text holds any part of the nonce that counts, so that it can be a fragment."""
        if self._nonce is None:
            return False
        lowered = text.lower()
        return any(
            counts and part.lower() in lowered
            for part, counts in zip(self._nonce.parts, self._countable, strict=True)
        )

    def _one(self, kind: TargetKind, text: str, reading: Reading) -> tuple[str, State] | None:
        if kind == "nonce":
            if text not in self._nonces:
                self._nonces[text] = self._nonce_in(text)
            return self._nonces[text]
        if len(text) > SHORT:
            return self._preference_in(text, reading)
        key = (reading, text)
        if key not in self._known:
            self._known[key] = self._preference_in(text, reading)
        return self._known[key]

    def _nonce_in(self, text: str) -> tuple[str, State] | None:
        if self._nonce is None:
            return None
        if forms := literal_forms(self._nonce.value, text, self._settings.observer.normalisations):
            return forms[0], "confirmed"
        state = semantic_nonce(self._nonce, self._countable, text)
        return None if state == "none" else (SEMANTIC, state)

    def _preference_in(self, text: str, reading: Reading) -> tuple[str, State] | None:
        preference = self.preference
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
