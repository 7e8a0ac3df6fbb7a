"""The removal ledger as a report shows it: what all rows of a target share, then a row a layer, no cell empty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vestige.audits.verification.results import LedgerRow
from vestige.report.verification.masking import Masker
from vestige.report.verification.words import LEDGER_STATES
from vestige.report.wording import plural

__all__ = ["BLANK", "FIELDS", "LedgerEntry", "LedgerTarget", "note", "targets"]

MOST = 24
"""Targets that a page shows; `report.json` has every one."""
BLANK = "not recorded"

FIELDS: tuple[tuple[str, str], ...] = (
    ("kind", "kind of removal"),
    ("intervention", "intervention"),
    ("payload", "payload"),
    ("fixture", "fixture"),
    ("sources", "sources"),
    ("derived", "derived artifacts"),
    ("requested_scope", "requested scope"),
    ("boundary", "boundary"),
    ("completion", "completion"),
    ("pending_window", "pending window"),
    ("errors", "errors"),
    ("absence_check", "independent absence check"),
    ("correlated_policy", "correlated information"),
    ("reintroduction_paths", "reintroduction paths"),
    ("external_effects", "external effects"),
    ("manifests", "manifests"),
)


@dataclass(frozen=True)
class LedgerEntry:
    """One layer of one target, masked."""

    layer: str
    state: str
    """observed, not_observed, blocked, out_of_scope."""
    words: str
    reason: str
    own: tuple[tuple[str, str], ...]
    """Fields in which this row differs from the target's others."""


@dataclass(frozen=True)
class LedgerTarget:
    """One target, masked."""

    target_id: str
    target: str
    common: tuple[tuple[str, str], ...]
    """Fields that are the same in all its rows."""
    entries: tuple[LedgerEntry, ...]


def targets(rows: Sequence[LedgerRow], masked: Masker) -> tuple[LedgerTarget, ...]:
    """The ledger by target, in its own order."""
    by: dict[tuple[str, str], list[LedgerRow]] = {}
    for row in rows:
        by.setdefault((row.target_id, row.target), []).append(row)
    return tuple(_target(name, kind, of, masked) for (name, kind), of in list(by.items())[:MOST])


def _target(name: str, kind: str, rows: list[LedgerRow], masked: Masker) -> LedgerTarget:
    same = {field for field, _ in FIELDS if len({getattr(row, field) for row in rows}) == 1}
    return LedgerTarget(
        target_id=_text(name, masked),
        target=kind,
        common=tuple((title, _text(getattr(rows[0], f), masked)) for f, title in FIELDS if f in same),
        entries=tuple(
            LedgerEntry(
                layer=_text(row.layer, masked),
                state=row.state,
                words=LEDGER_STATES[row.state],
                reason=_text(row.reason, masked),
                own=tuple((title, _text(getattr(row, f), masked)) for f, title in FIELDS if f not in same),
            )
            for row in rows
        ),
    )


def _text(value: str | tuple[str, ...], masked: Masker) -> str:
    text = value if isinstance(value, str) else ", ".join(value)
    return masked.ours(text) if text.strip() else BLANK


def note(rows: Sequence[LedgerRow]) -> str:
    """How many rows there are, and where the rest of them is."""
    if not rows:
        return "No ledger was handed to this report."
    names = len({(row.target_id, row.target) for row in rows})
    rest = f" {MOST} of {names} targets stand here; report.json has all." if names > MOST else ""
    return (
        f"{plural(len(rows), 'row')}, one a target and layer, over all pairs; each pair's own rows, with codes, "
        "versions and times, stand in the packet's public/ledger.jsonl. Not observed is a statement about the "
        f"observer, out of scope one about the claim.{rest}"
    )
