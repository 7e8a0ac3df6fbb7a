"""Key files: Ed25519 for signing a packet, X25519 for opening its restricted part; PEM without a password."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from vestige.errors import ConfigError, MissingDependency, StorageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

    Identity = X25519PrivateKey
    Verifier = Ed25519PublicKey

__all__ = [
    "KeyKind",
    "available",
    "key_id",
    "keygen",
    "load_identity",
    "load_recipient",
    "load_signer",
    "load_verifier",
    "parse_verifier",
    "public_pem",
    "raw_public",
]

KeyKind = Literal["sign", "encrypt"]
_MAX_KEY = 16_384
"""Bytes of a key file."""


def available() -> bool:
    """Whether the package that keys need is installed."""
    try:
        import cryptography.hazmat.primitives.serialization as found
    except ImportError:
        return False
    return bool(found)


def need(purpose: str) -> None:
    """Refuse in one line where the package is missing.

    Raises:
        MissingDependency: It is.
    """
    if not available():
        raise MissingDependency("cryptography", purpose, "packet")


def keygen(kind: KeyKind, path: Path) -> Path:
    """Write a new private key to `path` (mode 0600) and its public key to `path` with ``.pub`` added.

    Args:
        kind: `sign` makes an Ed25519 key, `encrypt` an X25519 key.
        path: Of the private key; neither file may exist.

    Returns:
        The public key's path.

    Raises:
        ConfigError: The kind is unknown, or a file is there already.
        MissingDependency: The package `cryptography` is not installed.
        StorageError: A file cannot be written.
    """
    if not path.name:
        raise ConfigError("the key file's name is empty; give a path")
    need("making a key")
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    match kind:
        case "sign":
            private = Ed25519PrivateKey.generate()
        case "encrypt":
            private = X25519PrivateKey.generate()
        case _:
            raise ConfigError(f"key kind {kind!r}: expected sign or encrypt")
    public = path.with_name(f"{path.name}.pub")
    pem = private.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    _new_file(path, pem, 0o600)
    try:
        _new_file(public, public_pem(private.public_key()), 0o644)
    except BaseException:
        path.unlink()
        raise
    return public


def _new_file(path: Path, data: bytes, mode: int) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
    except FileExistsError:
        raise ConfigError(
            f"{path}: exists already; a key is never written over, choose another name"
        ) from None
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}") from error


def public_pem(key: Ed25519PublicKey | X25519PublicKey) -> bytes:
    """A public key as PEM."""
    from cryptography.hazmat.primitives import serialization as form

    return key.public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)


def raw_public(key: Ed25519PublicKey | X25519PublicKey) -> bytes:
    """A public key's 32 bytes."""
    from cryptography.hazmat.primitives import serialization as form

    return key.public_bytes(form.Encoding.Raw, form.PublicFormat.Raw)


def key_id(key: Ed25519PublicKey) -> str:
    """SHA-256 of a public key's 32 bytes: its name."""
    return hashlib.sha256(raw_public(key)).hexdigest()


def load_signer(path: Path) -> Ed25519PrivateKey:
    """The private Ed25519 key of a file.

    Raises:
        ConfigError: The file holds none.
        MissingDependency: The package `cryptography` is not installed.
    """
    need("signing a packet")
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return _loaded(path, Ed25519PrivateKey, "a private Ed25519 key")


def load_verifier(path: Path) -> Ed25519PublicKey:
    """The public Ed25519 key of a file, or of the private key in it.

    Raises:
        ConfigError: The file holds none.
        MissingDependency: The package `cryptography` is not installed.
    """
    need("verifying a signature")
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

    return _loaded(path, Ed25519PublicKey, "an Ed25519 key", Ed25519PrivateKey)


def load_recipient(path: Path) -> X25519PublicKey:
    """The public X25519 key of a file, or of the private key in it.

    Raises:
        ConfigError: The file holds none.
        MissingDependency: The package `cryptography` is not installed.
    """
    need("encrypting the restricted part")
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

    return _loaded(path, X25519PublicKey, "an X25519 key", X25519PrivateKey)


def load_identity(path: Path) -> X25519PrivateKey:
    """The private X25519 key of a file.

    Raises:
        ConfigError: The file holds none.
        MissingDependency: The package `cryptography` is not installed.
    """
    need("opening the restricted part")
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    return _loaded(path, X25519PrivateKey, "a private X25519 key")


def parse_verifier(pem: bytes) -> Ed25519PublicKey | None:
    """The public Ed25519 key of some PEM text from a packet, if it is one."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    key = _parsed(pem)
    return key if isinstance(key, Ed25519PublicKey) else None


def _loaded(path: Path, kind: Any, what: str, private: Any = None) -> Any:
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_KEY + 1)
    except OSError as error:
        raise ConfigError(f"key {path}: cannot be read: {error.strerror}") from error
    key = _parsed(data) if len(data) <= _MAX_KEY else None
    if private is not None and key is not None and isinstance(key, private):
        key = key.public_key()
    if not isinstance(key, kind):
        raise ConfigError(
            f"key {path}: expected {what} as PEM without a password; `vestige packet keygen` makes one"
        )
    return key


def _parsed(data: bytes) -> Any:
    """Whatever key a PEM text holds, or None."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization as form

    try:
        if b"PRIVATE" in data:
            return form.load_pem_private_key(data, None)
        return form.load_pem_public_key(data)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None
