"""Key files, the signature, and the encrypted restricted part."""

from __future__ import annotations

import base64
import builtins
import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from vestige.errors import ConfigError, IntegrityError, MissingDependency
from vestige.packet import encrypt, keys
from vestige.packet.encrypt import encrypt_files, open_sealed
from vestige.packet.keys import keygen
from vestige.packet.sign import PAYLOAD_TYPE, envelope, verify_envelope

ROOT = "5" * 64


@pytest.fixture
def signer(tmp_path: Path) -> Path:
    keygen("sign", tmp_path / "signer")
    return tmp_path / "signer"


@pytest.fixture
def reader(tmp_path: Path) -> Path:
    keygen("encrypt", tmp_path / "reader")
    return tmp_path / "reader"


def public(path: Path) -> Path:
    return path.with_name(f"{path.name}.pub")


def test_a_private_key_is_for_its_owner_alone(signer: Path) -> None:
    assert stat.S_IMODE(signer.stat().st_mode) == 0o600
    assert b"PRIVATE" not in public(signer).read_bytes()


def test_a_key_is_never_written_over(signer: Path) -> None:
    before = signer.read_bytes()
    with pytest.raises(ConfigError, match="exists already"):
        keygen("sign", signer)
    other = signer.with_name("other")
    public(other).write_bytes(b"mine")
    with pytest.raises(ConfigError, match="exists already"):
        keygen("sign", other)
    assert not other.exists()
    assert signer.read_bytes() == before


def test_a_wrong_key_file_is_one_clear_line(signer: Path, reader: Path, tmp_path: Path) -> None:
    (tmp_path / "junk").write_bytes(b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
    for load, path in (
        (keys.load_signer, reader),
        (keys.load_signer, public(signer)),
        (keys.load_verifier, public(reader)),
        (keys.load_recipient, public(signer)),
        (keys.load_identity, public(reader)),
        (keys.load_signer, tmp_path / "junk"),
        (keys.load_signer, tmp_path / "none"),
    ):
        with pytest.raises(ConfigError) as caught:
            load(path)
        assert "\n" not in str(caught.value)
        assert "AAAA" not in str(caught.value)


def test_without_the_package_the_command_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = builtins.__import__

    def gone(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("cryptography"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    for name in [n for n in sys.modules if n.startswith("cryptography")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", gone)
    with pytest.raises(MissingDependency, match=r"vestige\[packet\]"):
        keygen("sign", tmp_path / "k")


# ----------------------------------------------------------------------------------------------- signature


def test_a_signature_verifies_by_hand(signer: Path) -> None:
    """By DSSE's own words: the signature is over "DSSEv1", and type and payload with their lengths."""
    found = json.loads(envelope(ROOT, keys.load_signer(signer)))
    payload = base64.b64decode(found["payload"])
    message = b"DSSEv1 28 application/vnd.in-toto+json %d " % len(payload) + payload
    keys.load_verifier(public(signer)).verify(base64.b64decode(found["signatures"][0]["sig"]), message)
    assert found["payloadType"] == PAYLOAD_TYPE
    assert json.loads(payload)["subject"] == [{"name": "MANIFEST", "digest": {"sha256": ROOT}}]


def test_a_signature_is_of_one_root_and_one_key(signer: Path, tmp_path: Path) -> None:
    data = envelope(ROOT, keys.load_signer(signer))
    trusted = keys.load_verifier(public(signer))
    assert verify_envelope(data, ROOT, None) == verify_envelope(data, ROOT, trusted) == keys.key_id(trusted)
    with pytest.raises(IntegrityError, match="something else"):
        verify_envelope(data, "6" * 64, trusted)
    keygen("sign", tmp_path / "other")
    other = keys.load_verifier(tmp_path / "other.pub")
    with pytest.raises(IntegrityError, match="trusted key"):
        verify_envelope(data, ROOT, other)
    swapped = {**json.loads(data), "publicKey": (tmp_path / "other.pub").read_text()}
    with pytest.raises(IntegrityError, match="does not match"):
        verify_envelope(json.dumps(swapped).encode(), ROOT, None)


@pytest.mark.parametrize("data", [b"", b"{}", b"[" * 100_000, b'{"payload": "!"}', b"\xff", b"null"])
def test_what_is_no_envelope_is_refused(data: bytes) -> None:
    with pytest.raises(IntegrityError):
        verify_envelope(data, ROOT, None)


# ---------------------------------------------------------------------------------------------- encryption


def sealed(tmp_path: Path, reader: Path, sizes: tuple[int, ...] = (5, 200_000)) -> Path:
    files: dict[str, Path] = {}
    for i, size in enumerate(sizes):
        path = tmp_path / f"f{i}"
        path.write_bytes(bytes(i % 251 for i in range(size)))
        files[f"restricted/f{i}"] = path
    out = tmp_path / "restricted.enc"
    encrypt_files(files, out, keys.load_recipient(public(reader)))
    return out


@pytest.mark.parametrize("sizes", [(), (0,), (5, 200_000), (65_536 - 22 - 30 - 13 - 46 - 13,)])
def test_the_recipient_opens_it(tmp_path: Path, reader: Path, sizes: tuple[int, ...]) -> None:
    path = sealed(tmp_path, reader, sizes)
    out = tmp_path / "out"
    out.mkdir()
    open_sealed(path, out, keys.load_identity(reader))
    assert [p.stat().st_size for p in sorted(out.rglob("f*"))] == list(sizes)
    assert b"restricted/f0" not in path.read_bytes()


def test_nobody_else_does(tmp_path: Path, reader: Path) -> None:
    path = sealed(tmp_path, reader)
    keygen("encrypt", tmp_path / "other")
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(IntegrityError, match="another key"):
        open_sealed(path, out, keys.load_identity(tmp_path / "other"))
    assert list(out.iterdir()) == []


def test_chunks_cannot_be_cut_moved_or_changed(tmp_path: Path, reader: Path) -> None:
    path = sealed(tmp_path, reader)
    data = path.read_bytes()
    head, size = 21 + 32, 65_536 + 16
    chunks = [data[head:][i : i + size] for i in range(0, len(data) - head, size)]
    assert len(chunks) > 2
    identity = keys.load_identity(reader)
    changed = bytearray(data)
    changed[len(data) // 2] ^= 1
    for number, bad in enumerate(
        (
            data[:head] + b"".join(chunks[:-1]),
            data[:head] + chunks[1] + chunks[0] + b"".join(chunks[2:]),
            data[:-1],
            data + b"x",
            bytes(changed),
            data[:10],
            data[:21] + bytes(32) + data[head:],
            b"x" + data[1:],
            data[:head],
        )
    ):
        out = tmp_path / f"out{number}"
        out.mkdir()
        path.write_bytes(bad)
        with pytest.raises(IntegrityError):
            open_sealed(path, out, identity)
        assert list(out.iterdir()) == []


def test_the_same_files_are_never_encrypted_to_the_same_bytes(tmp_path: Path, reader: Path) -> None:
    one = sealed(tmp_path, reader).read_bytes()
    (tmp_path / "restricted.enc").unlink()
    assert sealed(tmp_path, reader).read_bytes() != one


def test_the_plaintext_has_a_limit(tmp_path: Path, reader: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sealed(tmp_path, reader)
    monkeypatch.setattr(encrypt, "MAX_TOTAL", 100_000)
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(IntegrityError, match="too large"):
        open_sealed(path, out, keys.load_identity(reader))
