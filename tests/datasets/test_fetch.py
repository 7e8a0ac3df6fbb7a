from __future__ import annotations

import hashlib
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from vestige.datasets import fetch as fetching
from vestige.datasets import load
from vestige.datasets.fetch import PUBLIC_FILES, PublicFile, data_folder, fetch
from vestige.errors import DataError, IntegrityError, StorageError

from .records import longmemeval

CONTENT = json.dumps([longmemeval()]).encode()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/missing.json":
            self.send_error(404)
            return
        body = {"/cut.json": CONTENT[:100], "/long.json": CONTENT + b" " * 10}.get(self.path, CONTENT)
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT) if self.path == "/cut.json" else len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None: ...


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()


def public(url: str, content: bytes = CONTENT) -> PublicFile:
    digest = hashlib.sha256(content).hexdigest()
    return PublicFile(
        "longmemeval:oracle", "longmemeval", url, len(content), digest, "https://example.org/data"
    )


def test_a_file_is_fetched_once_verified_and_read(
    tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VESTIGE_DATA_DIR", str(tmp_path / "cache"))
    monkeypatch.setitem(PUBLIC_FILES, "longmemeval:oracle", public(f"{server}/good.json"))
    seen: list[tuple[int, int]] = []
    data = load("longmemeval", progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert (data.name, data.source) == ("longmemeval:oracle", "good.json")
    assert data.sha256 == hashlib.sha256(CONTENT).hexdigest()
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["good.json"]
    seen.clear()
    assert load("longmemeval:oracle", progress=lambda done, total: seen.append((done, total))) == data
    assert seen == []


def test_a_changed_file_in_the_cache_is_refused(tmp_path: Path, server: str) -> None:
    file = public(f"{server}/good.json")
    path = fetch(file, folder=tmp_path)
    path.write_bytes(CONTENT + b"\n")
    with pytest.raises(IntegrityError, match="delete it so that it is fetched again"):
        fetch(file, folder=tmp_path)


@pytest.mark.parametrize("name", ["cut.json", "long.json"])
def test_a_file_that_is_not_the_pinned_one_is_never_kept(tmp_path: Path, server: str, name: str) -> None:
    with pytest.raises((IntegrityError, DataError)):
        fetch(public(f"{server}/{name}"), folder=tmp_path)
    with pytest.raises(IntegrityError, match="SHA-256"):
        fetch(public(f"{server}/good.json", CONTENT[:-1] + b"\t"), folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_without_a_source_the_message_says_where_and_what_to_pass(tmp_path: Path, server: str) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        for url in (f"http://127.0.0.1:{port}/a.json", f"{server}/missing.json", "http://no.invalid/a.json"):
            with pytest.raises(DataError) as caught:
                fetch(public(url), folder=tmp_path)
            assert "https://example.org/data and give its path instead of the name" in str(caught.value)
            assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_source_that_says_nothing_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "CONNECT_TIMEOUT", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(DataError, match="timed out"):
            fetch(public(f"http://127.0.0.1:{silent.getsockname()[1]}/a.json"), folder=tmp_path)


def test_a_folder_that_cannot_be_written_is_a_storage_error(tmp_path: Path, server: str) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    with pytest.raises(StorageError, match="set VESTIGE_DATA_DIR"):
        fetch(public(f"{server}/good.json"), folder=blocked / "below")


def test_the_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VESTIGE_DATA_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert data_folder() == Path("/somewhere/vestige/data")
    monkeypatch.setenv("VESTIGE_DATA_DIR", "/own")
    assert data_folder() == Path("/own")


def test_every_public_file_is_pinned_to_a_revision_and_a_hash() -> None:
    assert set(PUBLIC_FILES) == {"longmemeval:oracle", "longmemeval:s", "longmemeval:m", "locomo"}
    for file in PUBLIC_FILES.values():
        assert file.url.startswith("https://")
        assert any(len(part) == 40 and set(part) <= set("0123456789abcdef") for part in file.url.split("/"))
        assert len(file.sha256) == 64 and file.bytes > 0
