"""A result cut into what one figure or table can show: one setting of the levers, and, for residue, one k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from vestige.audits.results import (
    FrontierConfiguration,
    FrontierLevel,
    FrontierResult,
    Levers,
    Rate,
    ResidueCell,
    ResidueResult,
)
from vestige.report.glossary import MODE_ORDER, PROBE_ORDER

__all__ = [
    "FrontierSlice",
    "ResidueSlice",
    "frontier_slices",
    "mode_name",
    "probe_rates",
    "residue_slices",
    "worst_probe",
]

L = TypeVar("L", bound=Levers)
PAPER_K = 6
"""The default k of the residue audit, and the middle of the paper's."""


@dataclass(frozen=True)
class FrontierSlice:
    """The frontier at one setting of the levers."""

    label: str
    """The levers that vary in the run; empty where none does."""
    configurations: tuple[FrontierConfiguration, ...]
    """By S, then k."""
    levels: tuple[FrontierLevel, ...]

    def at(self, level: int) -> tuple[FrontierConfiguration, ...]:
        """The configurations of one S, by k."""
        return tuple(c for c in self.configurations if level == c.S)


@dataclass(frozen=True)
class ResidueSlice:
    """The deletion ladder at one k and one setting of the levers."""

    label: str
    k: int
    cells: tuple[ResidueCell, ...]
    """By S, then mode."""

    @property
    def levels(self) -> tuple[int, ...]:
        """The S that were measured."""
        return tuple(sorted({cell.S for cell in self.cells}))

    @property
    def modes(self) -> tuple[str, ...]:
        """The names of the modes (with their supersede variants), in the order of the ladder."""
        ordered = sorted(self.cells, key=_mode_rank)
        return tuple(dict.fromkeys(self.name(cell) for cell in ordered))

    def name(self, cell: ResidueCell) -> str:
        """The mode's name, with its supersede variant where the slice holds several of them."""
        variants = {c.supersede for c in self.cells if c.mode == cell.mode}
        return mode_name(cell, variant=len(variants) > 1)

    def cell(self, mode: str, level: int) -> ResidueCell | None:
        """The cell of a mode (as `modes` names it) at one S."""
        for cell in self.cells:
            if level == cell.S and self.name(cell) == mode:
                return cell
        return None


def mode_name(cell: ResidueCell, *, variant: bool = True) -> str:
    """`raw_plus_resummarize (append)`, or the mode alone."""
    return f"{cell.mode} ({cell.supersede})" if variant and cell.supersede else cell.mode


def _mode_rank(cell: ResidueCell) -> tuple[int, str, str]:
    rank = MODE_ORDER.index(cell.mode) if cell.mode in MODE_ORDER else len(MODE_ORDER)
    return rank, cell.mode, cell.supersede or ""


def _levers(item: Levers) -> tuple[str, str, float, int]:
    return item.embedder, item.granularity, -2.0 if item.tau is None else item.tau, item.horizon


def _labels(items: Sequence[Levers]) -> dict[tuple[str, str, float, int], str]:
    """A label for each setting, naming only what varies."""
    keys = sorted({_levers(item) for item in items})
    varies = [len({key[i] for key in keys}) > 1 for i in range(4)]

    def label(key: tuple[str, str, float, int]) -> str:
        words = (
            f"embedder {key[0]}",
            f"chunks by {key[1]}",
            "no similarity threshold" if key[2] == -2.0 else f"τ = {key[2]:g}",
            f"{key[3]} distractor session{'' if key[3] == 1 else 's'} between planting and probing",
        )
        return " · ".join(word for word, shown in zip(words, varies, strict=True) if shown)

    return {key: label(key) for key in keys}


def frontier_slices(result: FrontierResult) -> tuple[FrontierSlice, ...]:
    """One slice for each setting of the levers."""
    labels = _labels((*result.configurations, *result.levels))
    return tuple(
        FrontierSlice(
            label,
            tuple(sorted((c for c in result.configurations if _levers(c) == key), key=lambda c: (c.S, c.k))),
            tuple(sorted((v for v in result.levels if _levers(v) == key), key=lambda v: v.S)),
        )
        for key, label in labels.items()
    )


def residue_slices(result: ResidueResult) -> tuple[ResidueSlice, ...]:
    """One slice for each setting of the levers and each k; for each setting the k nearest 6 comes first."""
    slices: list[ResidueSlice] = []
    for key, label in _labels(result.cells).items():
        cells = [cell for cell in result.cells if _levers(cell) == key]
        for k in sorted({cell.k for cell in cells}, key=lambda k: (abs(k - PAPER_K), k)):
            at_k = sorted((c for c in cells if c.k == k), key=lambda c: (c.S, *_mode_rank(c)))
            slices.append(ResidueSlice(label, k, tuple(at_k)))
    return tuple(slices)


def probe_rates(configuration: FrontierConfiguration) -> dict[str, Rate]:
    """The extraction rates of the probe kinds that were run, in their order."""
    aer = configuration.AER
    rates = {"direct": aer.direct, "indirect": aer.indirect, "jailbreak": aer.jailbreak}
    return {kind: rate for kind, rate in rates.items() if rate is not None}


def worst_probe(rates: dict[str, Rate]) -> tuple[str, Rate] | None:
    """The probe kind with the highest rate; the first in their order where several share it."""
    known = sorted(
        rates, key=lambda kind: PROBE_ORDER.index(kind) if kind in PROBE_ORDER else len(PROBE_ORDER)
    )
    if not known:
        return None
    worst = max(known, key=lambda kind: rates[kind].value)
    return worst, rates[worst]
