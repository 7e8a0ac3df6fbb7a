"""The byte scan finds what is there, wherever the blocks are cut, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vestige.memory.scan import Hit, scan_bytes


def naive(data: bytes, needle: bytes) -> tuple[int, int] | None:
    places = [i for i in range(len(data)) if data.startswith(needle, i)]
    return (places[0], len(places)) if places else None


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.binary(max_size=60).map(lambda b: bytes(x % 3 for x in b)),
    needles=st.lists(
        st.binary(min_size=1, max_size=6).map(lambda b: bytes(x % 3 for x in b)), min_size=1, max_size=4
    ),
    chunk=st.integers(1, 12),
)
def test_every_occurrence_is_counted_at_its_offset(tmp_path: Path, data, needles, chunk):
    path = tmp_path / "data"
    path.write_bytes(data)
    expected = [
        Hit(path, str(i), *place)
        for i, needle in enumerate(needles)
        if (place := naive(data, needle)) is not None
    ]
    assert scan_bytes([path], needles, chunk=chunk) == expected


def test_labels_stand_for_needles_and_missing_files_are_skipped(tmp_path: Path):
    path = tmp_path / "log"
    path.write_bytes(b"xx secret yy secret")
    hits = scan_bytes([tmp_path / "gone", path], {"value": b"secret", "absent": b"nothing"})
    assert hits == [Hit(path, "value", 3, 2)]
    assert "secret" not in repr(hits)


@pytest.mark.parametrize("needles", [[b""], {"empty": b""}])
def test_an_empty_needle_is_refused(tmp_path: Path, needles):
    with pytest.raises(ValueError, match="at least one byte"):
        scan_bytes([tmp_path], needles)


def test_a_device_and_a_folder_are_no_files_of_a_store(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"needle")
    paths = [Path("/dev/zero"), tmp_path, tmp_path / "real"]
    assert [hit.path.name for hit in scan_bytes(paths, [b"needle", b"\0\0"])] == ["real"]
