"""Folders and ZIPs from a stranger: what is dangerous is refused before anything of it is used."""

from __future__ import annotations

import io
import os
import random
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestige.errors import ConfigError, IntegrityError
from vestige.packet import archive
from vestige.packet.archive import extract, opened, tree, write_zip


def put(folder: Path, **files: bytes) -> Path:
    for name, data in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def zipped(
    path: Path, entries: list[tuple[str | zipfile.ZipInfo, bytes]], method: int = zipfile.ZIP_STORED
) -> Path:
    with zipfile.ZipFile(path, "w", method) as made:
        for name, data in entries:
            made.writestr(name, data)
    return path


def linked(name: str, kind: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = (kind | 0o777) << 16
    return info


# ------------------------------------------------------------------------------------------------- folders


def test_a_folder_s_files_by_name(tmp_path: Path) -> None:
    assert sorted(tree(put(tmp_path, a=b"1", b__c=b"2"))) == ["a", "b/c"]


def test_links_and_pipes_are_refused(tmp_path: Path) -> None:
    secret = put(tmp_path / "elsewhere", secret=b"s")
    for name, make in (
        ("link", lambda p: p.symlink_to(secret / "secret")),
        ("folder", lambda p: p.symlink_to(secret, target_is_directory=True)),
        ("dangling", lambda p: p.symlink_to(tmp_path / "nowhere")),
        ("pipe", os.mkfifo),
    ):
        folder = tmp_path / f"with-{name}"
        folder.mkdir()
        make(folder / name)
        with pytest.raises(IntegrityError, match=f"^{name}: not a plain file"):
            tree(folder)


@pytest.mark.parametrize("name", ["a b", ".hidden", "x\ny", "ä", "-rf", "a/b/c/d/e"])
def test_odd_names_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    with pytest.raises(IntegrityError, match="not a name"):
        tree(tmp_path)


def test_names_that_differ_in_case_alone_are_refused(tmp_path: Path) -> None:
    put(tmp_path, a=b"", A=b"")
    if len(list(tmp_path.iterdir())) < 2:
        pytest.skip("this file system folds case")
    with pytest.raises(IntegrityError, match="case alone"):
        tree(tmp_path)


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_FILES", 3)
    with pytest.raises(IntegrityError, match="more than 3 files"):
        tree(put(tmp_path, **{f"f{i}": b"" for i in range(5)}))


# ---------------------------------------------------------------------------------------------------- ZIPs

HOSTILE: dict[str, Callable[[Path], Path]] = {
    "zip slip": lambda p: zipped(p, [("../out", b"x")]),
    "zip slip, inside": lambda p: zipped(p, [("a/../../out", b"x")]),
    "absolute": lambda p: zipped(p, [("/tmp/out", b"x")]),
    "backslash": lambda p: zipped(p, [("..\\out", b"x")]),
    "drive": lambda p: zipped(p, [("C:out", b"x")]),
    "link": lambda p: zipped(p, [(linked("a", stat.S_IFLNK), b"/etc/passwd")]),
    "device": lambda p: zipped(p, [(linked("a", stat.S_IFCHR), b"")]),
    "pipe": lambda p: zipped(p, [(linked("a", stat.S_IFIFO), b"")]),
    "folder as file": lambda p: zipped(p, [(linked("a", stat.S_IFDIR), b"")]),
    "case": lambda p: zipped(p, [("a", b"1"), ("A", b"2")]),
    "file and folder": lambda p: zipped(p, [("a", b"1"), ("a/b", b"2")]),
    "bomb": lambda p: zipped(p, [("a", bytes(100_000_000))], zipfile.ZIP_DEFLATED),
    "bzip2": lambda p: zipped(p, [("a", b"1")], zipfile.ZIP_BZIP2),
    "odd name": lambda p: zipped(p, [("ä\n", b"1")]),
    "no zip": lambda p: (p.write_bytes(b"PK nothing") and p) or p,
    "empty": lambda p: (p.write_bytes(b"") and p) or p,
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_zip_is_refused_and_leaves_nothing(tmp_path: Path, what: str) -> None:
    path = HOSTILE[what](tmp_path / "hostile.zip")
    inside = tmp_path / "a" / "deep" / "place"
    inside.mkdir(parents=True)
    with path.open("rb") as file, pytest.raises(IntegrityError):
        extract(file, inside)
    assert {p.name for p in tmp_path.iterdir()} == {"hostile.zip", "a"}
    assert not Path("/tmp/out").exists()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_stands_there_twice_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "two.zip", [("a", b"1"), ("a", b"2")])
    with pytest.raises(IntegrityError, match="twice"), opened(path):
        pass


def test_an_encrypted_entry_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "e.zip", [("a", b"1")])
    data = bytearray(path.read_bytes())
    data[6] |= 1
    data[data.rfind(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(IntegrityError, match="encrypted"), opened(path):
        pass


def test_an_entry_that_lies_about_its_size_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "lie.zip", [("a", b"x" * 5_000)], zipfile.ZIP_DEFLATED)
    for size in (10, 4_999, 5_001, 6_000):
        data = bytearray(path.read_bytes())
        struct.pack_into("<L", data, data.rfind(b"PK\x01\x02") + 24, size)
        lie = tmp_path / f"lie{size}.zip"
        lie.write_bytes(data)
        with pytest.raises(IntegrityError), opened(lie):
            pass


def test_entries_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    """The quine-free bomb: many names for one compressed block."""
    path = zipped(tmp_path / "o.zip", [("a", bytes(1_000_000))], zipfile.ZIP_STORED)
    data = path.read_bytes()
    start = data.rfind(b"PK\x01\x02")
    end = data.rfind(b"PK\x05\x06")
    entry = data[start:end]
    entries = b"".join(entry[:46] + bytes([97 + i]) + entry[47:] for i in range(8))
    tail = bytearray(data[end:])
    struct.pack_into("<HHL", tail, 8, 8, 8, len(entries))
    path.write_bytes(data[:start] + entries + bytes(tail))
    with pytest.raises(IntegrityError), opened(path):
        pass


def test_a_directory_of_a_million_entries_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = zipped(tmp_path / "many.zip", [(f"f{i}", b"") for i in range(100)])
    monkeypatch.setattr(archive, "_DIRECTORY", 1_000)
    with pytest.raises(IntegrityError, match="files: not opened"), opened(path):
        pass


@given(cut=st.integers(0, 400), flip=st.integers(0, 400), value=st.integers(1, 255))
def test_a_damaged_zip_is_read_or_refused(cut: int, flip: int, value: int) -> None:
    import tempfile

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("a", b"hello " * 20)
        made.writestr("b/c", b"1")
    data = bytearray(buffer.getvalue())
    data = data[: len(data) - cut % len(data)]
    data[flip % len(data)] ^= value
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.zip"
        path.write_bytes(data)
        target = Path(folder) / "out"
        target.mkdir()
        try:
            with path.open("rb") as file:
                extract(file, target)
        except IntegrityError:
            pass
        assert {p.name for p in Path(folder).iterdir()} == {"x.zip", "out"}


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no packet here"), opened(tmp_path / "none.zip"):
        pass


# ----------------------------------------------------------------------------------------------- canonical


def test_equal_files_give_equal_zips(tmp_path: Path) -> None:
    names = [f"public/f{i}" for i in range(20)] + ["ROOT", "restricted/key"]
    made: list[bytes] = []
    for seed in (1, 2):
        folder = tmp_path / str(seed)
        random.Random(seed).shuffle(names)
        for name in names:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(name.encode() * 100)
            path.chmod(0o600 if seed == 1 else 0o640)
            os.utime(path, (seed * 10**8, seed * 10**8))
        made.append(write_zip(folder, tmp_path / f"{seed}.zip").read_bytes())
    assert made[0] == made[1]


def test_a_zip_gives_its_files_back(tmp_path: Path) -> None:
    source = put(tmp_path / "p", ROOT=b"r", public__a=b"1", restricted__key=b"k")
    (tmp_path / "p" / "restricted.enc").write_bytes(b"e")
    whole = write_zip(source, tmp_path / "p.zip")
    public = write_zip(source, tmp_path / "q.zip", public_only=True)
    with opened(whole) as folder:
        assert {n: p.read_bytes() for n, p in tree(folder).items()} == {
            "ROOT": b"r",
            "public/a": b"1",
            "restricted/key": b"k",
            "restricted.enc": b"e",
        }
    with opened(public) as folder:
        assert sorted(tree(folder)) == ["ROOT", "public/a"]
    assert not folder.exists()


def test_a_zip_of_the_folder_itself_is_opened_too(tmp_path: Path) -> None:
    path = zipped(tmp_path / "p.zip", [("packet/", b""), ("packet/public/a", b"1"), ("packet/ROOT", b"r")])
    with opened(path) as folder:
        assert sorted(tree(folder)) == ["ROOT", "public/a"]
