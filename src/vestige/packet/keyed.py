"""What stands in a packet's public part in place of a text: HMAC-SHA-256 under a key of the restricted part."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Iterator
from typing import Any

from vestige.audits.verification.pairs import Pair
from vestige.audits.verification.reading import pairs_of
from vestige.audits.verification.settings import TargetName, kind_of
from vestige.canaries import GRAMMAR
from vestige.errors import ConfigError
from vestige.runs.plan import Plan
from vestige.text import mask

__all__ = ["KEY_BYTES", "Keyed", "new_key", "nonces_in", "secrets_of", "targets_of"]

KEY_BYTES = 32
_PREFIX = "hmac-sha256:"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NAMED = re.compile(rf"(?<![0-9a-f])[0-9a-f]{{64}}(?![0-9a-f])|{GRAMMAR.pattern}")


def new_key() -> bytes:
    """A random key of 256 bits."""
    return secrets.token_bytes(KEY_BYTES)


class Keyed:
    """Replaces texts by their HMAC-SHA-256.

    The message is ``vestige 1``, a purpose and the text, divided by NUL, so that a text used in two places has the same
    code only where a reader is meant to see that it is the same.

    Args:
        key: 32 random bytes. Never printed.
        values: Targets; `without` puts their codes in their places.

    Raises:
        ConfigError: The key has another length.
    """

    def __init__(self, key: bytes, values: Iterable[str] = ()) -> None:
        if len(key) != KEY_BYTES:
            raise ConfigError(f"packet key of {len(key)} bytes: expected {KEY_BYTES} random bytes")
        self._key = key
        self._codes: dict[str, str] = {}
        self.values = tuple(dict.fromkeys(values))
        for value in self.values:
            code = self.code("target", value)
            self._codes[value] = code
            self._codes[hashlib.sha256(value.encode()).hexdigest()] = code

    def mac(self, purpose: str, text: str) -> str:
        """64 hex digits."""
        message = b"\0".join((b"vestige 1", purpose.encode(), text.encode("utf-8", "surrogatepass")))
        return hmac.new(self._key, message, "sha256").hexdigest()

    def code(self, purpose: str, text: str) -> str:
        """The same with its name before it, for a cell that a person reads."""
        return f"{_PREFIX}{self.mac(purpose, text)}"

    def without(self, text: str) -> str:
        """A text with codes in the places of targets and of their plain SHA-256.

        Nonces are found anywhere in the text, other targets where they are all of it.
        """
        if text in self._codes:
            return self._codes[text]
        return _NAMED.sub(lambda m: self._codes.get(m.group(), m.group()), text)

    def masked(self, text: str) -> str:
        """A person's text with targets masked in every form in which `text.mask` finds them."""
        return mask(text, self.values)

    def redacted(self, value: Any, *, hashes: bool = False) -> Any:
        """A JSON value without targets.

        Args:
            value: Anything that JSON can hold.
            hashes: Put codes in the places of plain hashes too (fields whose names end with ``sha256``): what they are
                of could be guessed.
        """
        if isinstance(value, dict):
            return {key: self._field(str(key), item, hashes) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.redacted(item, hashes=hashes) for item in value]
        return self.without(value) if isinstance(value, str) else value

    def _field(self, name: str, value: Any, hashes: bool) -> Any:
        if hashes and isinstance(value, str) and name.endswith("sha256") and _SHA256.fullmatch(value):
            return self.code("sha256", value)
        return self.redacted(value, hashes=hashes)


# ------------------------------------------------------------------------------------------------- targets


def targets_of(pair: Pair) -> Iterator[tuple[TargetName, str, str]]:
    """What must not be told of a pair, as (target, role, value)."""
    for target, nonce in pair.nonces.items():
        for condition, value in sorted(nonce.values.items()):
            yield target, condition, value
        yield target, "decoy", nonce.decoy
        for condition, value in sorted(nonce.replacement.items()):
            yield target, f"replacement:{condition}", value
        if nonce.second_source is not None:
            yield target, "second_source", nonce.second_source
    for target, preference in pair.preferences.items():
        yield target, "favoured", preference.favoured
        yield target, "other", preference.other
        yield target, "decoy", preference.decoy_value
        if preference.replacement is not None:
            yield target, "replacement", preference.replacement


def nonces_in(data: bytes) -> set[str]:
    """Every text of the nonces' grammar in some bytes."""
    return set(GRAMMAR.findall(data.decode("utf-8", "replace")))


def secrets_of(plan: Plan) -> tuple[str, ...]:
    """Every target of a plan, and every nonce that stands anywhere in it.

    The option that nobody preferred, and the one that the decoy names, are no secrets: they say nothing of the target.
    """
    told = {
        value
        for pair in pairs_of(plan).values()
        for target, role, value in targets_of(pair)
        if kind_of(target) == "nonce" or role == "favoured"
    }
    return tuple(sorted(told | nonces_in(plan.to_bytes())))
