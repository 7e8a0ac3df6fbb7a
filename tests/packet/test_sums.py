"""MANIFEST and ROOT: written canonically, read strictly."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestige.errors import IntegrityError
from vestige.packet.layout import fits
from vestige.packet.sums import digest, manifest_bytes, parse_manifest, root_bytes, verify

A, B = "a" * 64, "b" * 64


def test_lines_are_sorted() -> None:
    assert manifest_bytes({"public/b": B, "public/a": A}) == f"{A}  public/a\n{B}  public/b\n".encode()


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="sha256sum is not installed")
def test_sha256sum_reads_it(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"hello")
    (tmp_path / "MANIFEST").write_bytes(manifest_bytes({"x": hashlib.sha256(b"hello").hexdigest()}))
    assert (
        subprocess.run(["sha256sum", "-c", "--strict", "MANIFEST"], cwd=tmp_path, check=False).returncode == 0
    )


@given(
    st.dictionaries(
        st.sampled_from(["a", "ab", "a.b", "a-b", "a/b", "a/b.c", "a/B", "public/x_1", "z"]),
        st.binary(max_size=4).map(digest),
        max_size=6,
    )
)
def test_what_is_written_is_read(sums: dict[str, str]) -> None:
    assert parse_manifest(manifest_bytes(sums)) == sums


@pytest.mark.parametrize(
    "data",
    [
        f"{A}  x",
        f"{A} x\n",
        f"{A}  ../x\n",
        f"{A}  /etc/passwd\n",
        f"{A}  a//b\n",
        f"{A.upper()}  x\n",
        f"{A}  y\n{A}  x\n",
        f"{A}  x\n{B}  x\n",
        f"{A}  x\r\n",
        f"{A}  x\n\n",
        f"{A}  é\n",
        "\0",
    ],
)
def test_anything_else_is_refused(data: str) -> None:
    with pytest.raises(IntegrityError):
        parse_manifest(data.encode())


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(IntegrityError):
        assert manifest_bytes(parse_manifest(data)) == data


def packet(restricted: bool = True) -> tuple[dict[str, str], dict[str, bytes]]:
    inner = manifest_bytes({"key": A})
    manifest = manifest_bytes({"public/a": A, "restricted/MANIFEST": digest(inner)})
    root = root_bytes(digest(manifest))
    files = {"public/a": A, "MANIFEST": digest(manifest), "ROOT": digest(root)}
    texts = {"MANIFEST": manifest, "ROOT": root}
    if restricted:
        files |= {"restricted/key": A, "restricted/MANIFEST": digest(inner)}
        texts |= {"restricted/MANIFEST": inner}
    return files, texts


@pytest.mark.parametrize("restricted", [True, False])
def test_a_whole_packet_is_right_with_and_without_its_restricted_part(restricted: bool) -> None:
    assert verify(*packet(restricted)) == []


@pytest.mark.parametrize("gone", ["public/a", "MANIFEST", "ROOT", "restricted/key", "restricted/MANIFEST"])
def test_a_file_that_is_gone_is_named(gone: str) -> None:
    files, texts = packet()
    del files[gone]
    texts.pop(gone, None)
    found = verify(files, texts)
    assert (gone, "is missing") in [(p.file, p.what) for p in found]


@pytest.mark.parametrize("more", ["public/b", "restricted/b", "x", "signature.json", "restricted.enc"])
def test_a_file_too_many_is_named(more: str) -> None:
    files, texts = packet()
    (problem,) = verify({**files, more: B}, texts)
    assert problem.file == more
    assert "extra" in problem.what


def test_restricted_files_under_no_manifest_are_extra() -> None:
    files, texts = packet(restricted=False)
    manifest = manifest_bytes({"public/a": A})
    root = root_bytes(digest(manifest))
    files |= {"MANIFEST": digest(manifest), "ROOT": digest(root), "restricted/key": A}
    texts |= {"MANIFEST": manifest, "ROOT": root}
    assert [p.file for p in verify(files, texts)] == ["restricted/key"]


@pytest.mark.parametrize(
    "name",
    [
        "..",
        "a/../b",
        "/a",
        "a\\b",
        "a b",
        "",
        "a/",
        ".hidden",
        "a/b/c/d/e",
        "x" * 200,
        "con.",
        "ä",
        "a\0",
        "C:x",
    ],
)
def test_names_that_do_not_fit(name: str) -> None:
    assert not fits(name)
