"""Files of units as the MRMMIA authors publish them, and as `write_units` writes them.

One object: ``{metadata, stats, user_stats, users: {user: {members: [unit, …], non_members: [unit, …]}}}``, a unit with
`content` and, where known, `id`, `topic`, `source_key`, `event_id`. Which list a unit stands in decides its membership.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from vestige.datasets.reading import Node
from vestige.datasets.units.dataset import UnitDataset
from vestige.datasets.units.formats import Names, ParsedUnits, Reading, UnitFormat, keys_of, statement
from vestige.datasets.units.locomo import LOCOMO_UNITS
from vestige.datasets.units.perltqa import PERLTQA_UNITS
from vestige.datasets.units.unit import KINDS, Unit, UnitKind
from vestige.errors import StorageError

__all__ = ["UNIT_FILE", "write_units"]

_SIDES = {"members": True, "non_members": False}
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_UNKNOWN = "as the file's source says"
_PER_USER = {known.name: known.per_user for known in (LOCOMO_UNITS, PERLTQA_UNITS)}
_LICENSES = {known.name: known.license for known in (LOCOMO_UNITS, PERLTQA_UNITS)}


def _kind(field: Node) -> UnitKind:
    if field.value is None:
        return "plain"
    for kind in KINDS:
        if field.value == kind:
            return kind
    field.fail(f"one of {', '.join(KINDS)}", got=repr(field.value)[:60])


def _texts(field: Node) -> tuple[str, ...]:
    return tuple(item.filled() for item in field.items()) if field.value is not None else ()


def _given(field: Node) -> str | None:
    """A text or an integer, or None where it is null, missing or blank."""
    return None if field.value in (None, "") else field.text_or_digits().strip() or None


def _unit(item: Node, user: str, member: bool, names: Names, fallback: str) -> Unit:
    said = item.get("is_member")
    if said.flag() not in (None, member):
        said.fail(f"{member}, as the list it stands in says".lower(), got=repr(said.value).lower())
    owner = _given(item.get("user_id"))
    if owner not in (None, user):
        item.get("user_id").fail(f"{user!r}, under which it stands", got=repr(owner)[:60])
    key = _given(item.get("source_key"))
    group = _given(item.get("event_id")) or (key.partition("#")[0] or None if key else None)
    return Unit(
        id=names.once(_given(item.get("id")) or fallback),
        user=user,
        text=statement(item.get("content")),
        member=member,
        kind=_kind(item.get("kind")),
        session=_given(item.get("session")) or group,
        group=group,
        sources=_texts(item.get("sources")) or ((key,) if key else ()),
        subject=_given(item.get("subject")),
        topic=_given(item.get("topic")),
        related=_texts(item.get("related")),
    )


def _read(records: Iterable[Node], how: Reading) -> ParsedUnits:
    names = Names()
    units: dict[str, tuple[Unit, ...]] = {}
    name = ""
    for record in records:
        metadata = record.get("metadata")
        if metadata.value is not None:
            name = metadata.get("dataset_name").optional_text() or ""
        users = record.get("users")
        for user in keys_of(users):
            if user in units:
                users.fail("every user once", got=ascii(user)[:60])
            if how.n is not None and len(units) == how.n:
                continue
            found: list[Unit] = []
            for side, member in _SIDES.items():
                for item in users.get(user).get(side).items():
                    found.append(_unit(item, user, member, names, f"{user}:{len(found)}"))
            units[user] = tuple(found)
    notes: list[str] = []
    if names.repeated:
        notes.append(f"{names.repeated} units have an id that was there before: they are numbered")
    known = name if _NAME.fullmatch(name) else None
    return ParsedUnits(
        units,
        tuple(notes),
        name=known,
        license=_LICENSES.get(known or "", _UNKNOWN),
        per_user=_PER_USER.get(known or ""),
    )


def _looks(first: Node) -> bool:
    if not isinstance(first.value, dict) or not isinstance(first.get("users").value, dict):
        return False
    return all(
        isinstance(user.value, dict) and set(_SIDES) <= set(user.keys())
        for key in first.get("users").keys()[:1]
        for user in (first.get("users").get(key),)
    )


UNIT_FILE = UnitFormat(
    name="units",
    looks=_looks,
    read=_read,
    expected="an object with users (name → members and non_members, each a list of units with content)",
    license=_UNKNOWN,
)
"""The loader of files of units."""


def write_units(data: UnitDataset, path: str | Path) -> None:
    """Write units as a file that `load_units` reads, so that an extraction or a hand-picked set is made once.

    Raises:
        StorageError: The file cannot be written.
    """
    users: dict[str, Any] = {}
    for user in data.units:
        sides: dict[str, list[dict[str, Any]]] = {side: [] for side in _SIDES}
        for unit in data.units[user]:
            sides["members" if unit.member else "non_members"].append(_written(unit))
        users[user] = sides
    counts = data.counts
    whole = {
        "metadata": {"dataset_name": data.name, "source": data.source, "sha256": data.sha256},
        "stats": {"users": counts.users, "members": counts.members, "non_members": counts.non_members},
        "users": users,
    }
    try:
        Path(path).write_text(json.dumps(whole, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}") from error


def _written(unit: Unit) -> dict[str, Any]:
    said: dict[str, Any] = {
        "id": unit.id,
        "content": unit.text,
        "topic": unit.topic,
        "user_id": unit.user,
        "source_key": unit.sources[0] if unit.sources else None,
        "event_id": unit.group,
        "is_member": unit.member,
    }
    ours = {
        "kind": unit.kind if unit.kind != "plain" else None,
        "session": unit.session if unit.session != unit.group else None,
        "sources": list(unit.sources) if len(unit.sources) > 1 else None,
        "subject": unit.subject,
        "related": list(unit.related) or None,
    }
    return said | {key: value for key, value in ours.items() if value is not None}
