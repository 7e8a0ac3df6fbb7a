"""Loads membership units by name or from a file, whatever the layout."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from vestige.datasets.fetch import PUBLIC_FILES, fetch
from vestige.datasets.formats import objects, sniffed
from vestige.datasets.reading import RecordFile
from vestige.datasets.units.dataset import UnitDataset, count_units, without_shared
from vestige.datasets.units.extractor import Extractor
from vestige.datasets.units.formats import ParsedUnits, Reading, UnitFormat
from vestige.datasets.units.locomo import LOCOMO_UNITS
from vestige.datasets.units.msc import MSC_UNITS
from vestige.datasets.units.opening import open_extractor
from vestige.datasets.units.perltqa import PERLTQA_UNITS
from vestige.datasets.units.published import UNIT_FILE
from vestige.datasets.units.synthetic import DEFAULT_USERS, UnitMix, generate_units
from vestige.errors import ConfigError, DataError

__all__ = ["UNIT_FORMATS", "load_units", "unit_names"]

UNIT_FORMATS: dict[str, UnitFormat] = {
    known.name: known for known in (UNIT_FILE, LOCOMO_UNITS, PERLTQA_UNITS, MSC_UNITS)
}
"""The loaders by name. Add one, and `load_units` sniffs it and takes its name as `format`."""
_SYNTHETIC = re.compile(r"synthetic(?::(\d{1,7}))?")


def unit_names() -> tuple[str, ...]:
    """The names that `load_units` takes besides paths."""
    return (
        *(name for name, file in PUBLIC_FILES.items() if file.format in UNIT_FORMATS),
        "synthetic",
        "synthetic:N",
    )


def load_units(
    name_or_path: str | Path,
    format: str | None = None,
    *,
    n: int | None = None,
    seed: int = 42,
    drop_duplicates: bool = False,
    extractor: Extractor | str | None = None,
    cache: Path | None = None,
    mix: UnitMix | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> UnitDataset:
    """Load statements of which membership in a memory is asked, with their labels.

    Args:
        name_or_path: one of `unit_names()` (``locomo``, ``synthetic:200``), or the path of a file. A public file is
            fetched at first use, pinned to a revision and checked by its hash.
        format: the file's layout, a key of `UNIT_FORMATS`; None sniffs it from the content.
        n: the number of users: the first so many of a file, or so many of `synthetic`; ``synthetic:N`` says the same.
        seed: of the split of a file, and of the generator. The paper's is 42.
        drop_duplicates: leave out units that stand on both sides of a user after normalisation. They are counted either
            way, and the published counts keep them.
        extractor: makes statements where a layout holds dialogues (perltqa, msc): a model's name, ``extractive`` for
            rules without a model, or an object of your own. It is closed once it was used.
        cache: where the replies of a model named as `extractor` are kept; None: in the data folder.
        mix: what the generator makes, for `synthetic` alone.
        progress: called with (bytes so far, bytes in all) while a public file is downloaded.

    Raises:
        DataError: no such file or name, an unknown layout, a malformed record (the message names file, record and
            field), a file without units, or a public file that cannot be fetched.
        ConfigError: an argument is not usable, or an extractor is needed and none is given.
        ModelError: the extractor's model failed.
        IntegrityError: a fetched file is not the pinned one.
    """
    if format is not None and format not in UNIT_FORMATS:
        raise ConfigError(f"no layout of units {format!r}; expected one of {', '.join(UNIT_FORMATS)}")
    if n is not None and n < 1:
        raise ConfigError(f"n is {n}; expected at least 1 user")
    if seed < 0:
        raise ConfigError(f"seed is {seed}; expected a whole number from 0")
    found = _SYNTHETIC.fullmatch(name_or_path) if isinstance(name_or_path, str) else None
    if found is not None:
        named = int(found[1]) if found[1] else None
        if named is not None and n is not None and named != n:
            raise ConfigError(f"synthetic:{named} and n = {n} disagree; give one of them")
        wanted = named if named is not None else n
        data = generate_units(DEFAULT_USERS if wanted is None else wanted, seed=seed, mix=mix)
        return without_shared(data) if drop_duplicates else data
    if mix is not None:
        raise ConfigError(f"mix is for synthetic units; {str(name_or_path)!r} holds what it holds")
    path, format, name = _file(name_or_path, format, progress)
    data = _read(path, format, name, _Plan(seed, n, extractor, cache))
    return without_shared(data) if drop_duplicates else data


@dataclass(frozen=True, slots=True)
class _Plan:
    seed: int
    n: int | None
    extractor: Extractor | str | None
    cache: Path | None

    def reading(self) -> Reading:
        return Reading(seed=self.seed, n=self.n, opened=self.opened if self.extractor is not None else None)

    def opened(self) -> Extractor:
        made = self.extractor
        assert made is not None
        return open_extractor(made, cache=self.cache) if isinstance(made, str) else made


def _file(
    name_or_path: str | Path, format: str | None, progress: Callable[[int, int], None] | None
) -> tuple[Path, str | None, str | None]:
    """The path, the layout where it is known, and the data's name where it has one."""
    public = PUBLIC_FILES.get(name_or_path) if isinstance(name_or_path, str) else None
    if public is not None and public.format in UNIT_FORMATS:
        return fetch(public, progress=progress), public.format, public.name
    path = Path(name_or_path)
    if not str(name_or_path).strip() or not _exists(path):  # Path("") is the folder we stand in
        known = ", ".join(unit_names())
        raise DataError(f"no file of units {str(name_or_path)!r}; expected a path, or one of {known}")
    return path, format, None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _read(path: Path, format: str | None, name: str | None, plan: _Plan) -> UnitDataset:
    records = RecordFile(path)
    stream = iter(records)
    first = next(stream, None)
    if first is None:
        raise DataError(f"{path} holds no record")
    chosen = (
        UNIT_FORMATS[format]
        if format is not None
        else sniffed(UNIT_FORMATS.values(), first, path, "layout of units")
    )
    # The generator runs to the file's end, whatever the loader leaves unread: the hash is that of all bytes.
    stream = objects(chain([first], stream))
    parsed: ParsedUnits = chosen.read(stream, plan.reading())
    for _ in stream:
        pass
    units = {user: listed for user, listed in parsed.units.items() if listed}
    if not units:
        raise DataError(f"{path} holds no unit{'; ' + parsed.notes[0] if parsed.notes else ''}")
    counts = count_units(units)
    notes = list(parsed.notes)
    if counts.shared_non_members:
        notes.append(
            f"{counts.shared_non_members} non-members equal a member of the same user after normalisation"
        )
    if counts.one_sided_users:
        notes.append(f"{counts.one_sided_users} users have members alone or non-members alone")
    return UnitDataset(
        name=name or parsed.name or chosen.name,
        source=path.name,
        sha256=records.sha256,
        license=parsed.license or chosen.license,
        units=units,
        counts=counts,
        notes=tuple(notes),
        per_user=parsed.per_user or chosen.per_user,
    )
