"""The channels of a byte scan: the storage's files, and logs among them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from vestige.agents.protocol import Channel
from vestige.channels.observation import Grade, Observation
from vestige.errors import IntegrityError, complaint
from vestige.records import Record

__all__ = ["LOG_NAME", "OLD_NAME", "scan"]

LOG_NAME = re.compile(r"\.log(?:\.\d+)?$|^logs?$|\.(?:out|err)$", re.IGNORECASE)
OLD_NAME = re.compile(
    r"-(?:wal|journal)$|\.(?:bak|old|backup|orig|snapshot|checkpoint|wal|journal)$|~$", re.IGNORECASE
)


class _Hit(Record):
    file: str
    needle: str
    count: int


class _Body(Record):
    files: tuple[str, ...]
    hits: tuple[_Hit, ...]


def scan(body: Mapping[str, Any], live: bool) -> tuple[Observation, ...]:
    """The channels that the record of a Scan step shows.

    Args:
        body: `{"files": names, "hits": [{"file", "needle", "count"}]}`.
        live: Whether the target stood in a live row at the same time; then its bytes are no residue of their own.

    Returns:
        ``logs``: files that are logs. ``storage``: the others, those that keep older versions (write-ahead log,
        journal, backup) apart. A group without files is left out. `found` holds occurrences by label, and `grade` is
        theirs: a log's line is served to whoever reads logs and counts as a live row.

    Raises:
        IntegrityError: The record is not one of a scan.
    """
    try:
        seen = _Body.model_validate({name: body.get(name) for name in ("files", "hits")})
    except ValidationError as error:
        raise IntegrityError(f"not the record of a scan: {complaint(error)}") from None
    groups: dict[tuple[Channel, Grade], list[str]] = {}
    for name in seen.files:
        groups.setdefault(_group(name, live), []).append(name)
    found: dict[tuple[Channel, Grade], Counter[str]] = {}
    for hit in seen.hits:
        group = _group(hit.file, live)
        groups.setdefault(group, [])
        found.setdefault(group, Counter())[hit.needle] += hit.count
    return tuple(
        Observation(
            channel=channel,
            grade=grade,
            items=max(1, len(names)),
            found=dict(sorted(found.get((channel, grade), Counter[str]()).items())),
        )
        for (channel, grade), names in groups.items()
    )


def _group(name: str, live: bool) -> tuple[Channel, Grade]:
    if LOG_NAME.search(name):
        return "logs", "live_row"
    if live:
        return "storage", "live_row"
    return "storage", "old_version" if OLD_NAME.search(name) else "dead_bytes"
