"""Arbitrary values: names, places, amounts, times, titles, composed so that nobody can guess one.

Each kind maps a random generator to a text. The words are in `words.toml`; people have ordinary given names
and invented surnames, towns and firms are invented.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import TypeVar

import numpy as np

__all__ = ["KINDS", "MONTHS", "amount", "given_name", "pick", "whole", "yes"]


_FILE = tomllib.loads(files("vestige.datasets.synthetic").joinpath("words.toml").read_text(encoding="utf-8"))


def _list(raw: str | list[str]) -> tuple[str, ...]:
    return tuple(raw.split() if isinstance(raw, str) else raw)


def _words(name: str) -> tuple[str, ...]:
    """A list of words."""
    return _list(_FILE[name])


def _parts(name: str) -> tuple[tuple[str, ...], ...]:
    """The lists whose words are put together, one of each."""
    return tuple(_list(raw) for raw in _FILE[name].values())


MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
"""The months' names."""
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_TRIPLE = re.compile(r"(.)\1\1")
_GIVEN = _words("given")
_ADJECTIVE = _words("adjective")
_NOUN = _words("noun")
_STREET, _ROAD = _words("street"), _words("road")
_FIRM, _BAND, _CLUB = _words("firm"), _words("band"), _words("club")

Random = np.random.Generator
Kind = Callable[[Random], str]
T = TypeVar("T")


def whole(rng: Random, low: int, high: int) -> int:
    """A whole number from low to high, both included."""
    return int(rng.integers(low, high + 1))


def pick(rng: Random, options: Sequence[T]) -> T:
    """One of the options."""
    return options[int(rng.integers(len(options)))]


def yes(rng: Random, chance: float) -> bool:
    """True with the given chance."""
    return bool(rng.random() < chance)


def given_name(rng: Random) -> str:
    """A given name."""
    return pick(rng, _GIVEN)


def amount(dollars: int) -> str:
    """A whole amount of money as it is written."""
    return f"${dollars:,}"


def _joined(parts: tuple[Sequence[str], ...], between: str = "") -> Kind:
    # Three equal letters where two syllables meet become two.
    return lambda rng: _TRIPLE.sub(r"\1\1", between.join(pick(rng, part) for part in parts))


def _number(low: int, high: int, form: str = "{}") -> Kind:
    return lambda rng: form.format(whole(rng, low, high))


def _decimal(low: int, high: int) -> Kind:
    """Tenths: from low to high, both in tenths."""
    return lambda rng: f"{whole(rng, low, high) / 10:.1f}"


def _pair(words: Sequence[str]) -> Kind:
    def kind(rng: Random) -> str:
        first = whole(rng, 0, len(words) - 1)
        second = (first + whole(rng, 1, len(words) - 1)) % len(words)
        return f"{words[first]} and {words[second]}"

    return kind


_surname = _joined(_parts("surname"))
_town = _joined(_parts("town"))
_brand = _joined(_parts("brand"))


def _person(rng: Random) -> str:
    return f"{given_name(rng)} {_surname(rng)}"


def _street(rng: Random) -> str:
    return f"{pick(rng, _STREET)} {pick(rng, _ROAD)}"


def _address(rng: Random) -> str:
    return f"{whole(rng, 2, 199)} {_street(rng)}"


def _company(rng: Random) -> str:
    if yes(rng, 0.5):
        return f"{_surname(rng)} & {_surname(rng)}"
    return f"{_town(rng)} {pick(rng, _FIRM)}"


def _time(rng: Random) -> str:
    hour = whole(rng, 7, 20)
    return f"{(hour - 1) % 12 + 1}:{whole(rng, 1, 59):02d} {'am' if hour < 12 else 'pm'}"


def _early(rng: Random) -> str:
    return f"{whole(rng, 4, 10)}:{whole(rng, 1, 59):02d} am"


def _date(rng: Random) -> str:
    month = whole(rng, 0, 11)
    return f"{whole(rng, 1, _DAYS[month])} {MONTHS[month]}"


def _title(rng: Random) -> str:
    shape = whole(rng, 0, 3)
    noun, other = pick(rng, _NOUN), pick(rng, _NOUN)
    if shape == 0:
        return f"The {noun} of {_town(rng)}"
    if shape == 1:
        return f"{pick(rng, _ADJECTIVE)} {noun}, {pick(rng, _ADJECTIVE)} {other}"
    if shape == 2:
        return f"{'An' if noun[0] in 'AEIOU' else 'A'} {noun} for {given_name(rng)}"
    return f"The {pick(rng, _ADJECTIVE)} {noun}"


def _shop(rng: Random) -> str:
    return f"The {pick(rng, _ADJECTIVE)} {pick(rng, _NOUN)}"


def _band(rng: Random) -> str:
    return f"{pick(rng, _ADJECTIVE)} {pick(rng, _NOUN)} {pick(rng, _BAND)}"


def _article(kind: Kind, article: str = "a") -> Kind:
    return lambda rng: f"{article} {kind(rng)}"


def _dish(rng: Random) -> str:
    how, what, form, extra = (pick(rng, part) for part in _parts("dish"))
    return f"{how} {what} {form} with {extra}"


KINDS: dict[str, Kind] = {
    "address": _address,
    "band": _band,
    "bar": _decimal(18, 48),
    "bigcount": _number(104, 987),
    "bigmoney": lambda rng: amount(whole(rng, 411, 4890)),
    "carpart": _article(_joined(_parts("carpart"), " "), "the"),
    "club": lambda rng: f"{_town(rng)} {pick(rng, _CLUB)} Society",
    "code": _number(1002, 9987),
    "colours": _pair(_words("colour")),
    "company": _company,
    "count": _number(13, 98),
    "date": _date,
    "degrees": _number(161, 289),
    "dish": _dish,
    "early": _early,
    "furniture": _article(_joined(_parts("furniture"), " ")),
    "gadget": _article(_joined(_parts("gadget"), " ")),
    "grams": _number(13, 97),
    "kiln": _number(961, 1298),
    "kilos": _decimal(31, 89),
    "lift": _decimal(415, 1595),
    "longcode": _number(100_203, 998_786),
    "mileage": lambda rng: f"{whole(rng, 8_113, 289_888):,}",
    "model": lambda rng: f"{_brand(rng)} {whole(rng, 11, 990)}",
    "money": lambda rng: f"${whole(rng, 11, 298)}.{whole(rng, 1, 99):02d}",
    "oldage": _number(71, 104),
    "person": _person,
    "pet": _joined(_parts("pet")),
    "pills": _number(13, 187),
    "pressure": lambda rng: f"{whole(rng, 104, 168)} over {whole(rng, 61, 102)}",
    "race": lambda rng: f"{whole(rng, 38, 74)}:{whole(rng, 1, 59):02d}",
    "rating": _number(812, 2287),
    "roomdegrees": _decimal(151, 229),
    "seat": lambda rng: f"{whole(rng, 2, 89)}{pick(rng, 'ABCDEFGHJK')}",
    "shoe": lambda rng: f"{whole(rng, 24, 45)}{pick(rng, ('', '.5'))}",
    "shop": _shop,
    "steps": lambda rng: f"{whole(rng, 4_105, 18_950):,}",
    "street": _street,
    "supply": _joined(_parts("supply"), " of "),
    "tea": _pair(_words("herb")),
    "tempo": _number(41, 208),
    "time": _time,
    "title": _title,
    "tool": _article(_joined(_parts("tool"), " ")),
    "town": _town,
    "variety": lambda rng: f"{pick(rng, _ADJECTIVE)} {pick(rng, _NOUN)}",
    "wood": _joined(_parts("wood"), " "),
}
"""The kinds of value by name, each from a random generator to a text."""
