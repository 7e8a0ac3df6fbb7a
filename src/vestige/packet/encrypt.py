r"""The restricted part for one recipient: X25519, HKDF-SHA-256 and ChaCha20-Poly1305, in the manner of age.

`restricted.enc` is::

    "vestige restricted 1\n"           21 bytes
    ephemeral X25519 public key        32 bytes
    chunks                             65,536 bytes of plaintext and a 16-byte tag each; the last may be shorter

The content key is HKDF-SHA-256 of the X25519 shared secret, with salt = ephemeral key ‖ recipient's key and info = the
first line. Chunk i has the nonce i (11 bytes, big-endian) ‖ 1 for the last chunk, 0 for every other, so that chunks can
be neither moved, left out nor cut off. The plaintext is the canonical ZIP of `restricted/`. The ephemeral key is random
and used once, so an encrypted packet is never the same twice. Sender authenticity is the signature's business.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from vestige.errors import ConfigError, IntegrityError, StorageError
from vestige.packet import keys
from vestige.packet.archive import extract, pack, packet_folder
from vestige.packet.layout import MAX_TOTAL, RESTRICTED, SEALED

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

__all__ = ["decrypt", "encrypt_files", "open_sealed"]

_MAGIC = b"vestige restricted 1\n"
_PUBLIC, _CHUNK, _TAG = 32, 65_536, 16


def encrypt_files(files: Mapping[str, Path], out: Path, recipient: X25519PublicKey) -> None:
    """Write files, by their names in the packet, into one encrypted file.

    Raises:
        StorageError: It cannot be written.
    """
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    ephemeral = X25519PrivateKey.generate()
    public, theirs = keys.raw_public(ephemeral.public_key()), keys.raw_public(recipient)
    try:
        cipher = _cipher(ephemeral.exchange(recipient), public + theirs)
    except ValueError:
        raise ConfigError(
            "recipient's key: not a usable X25519 key; make one with `vestige packet keygen`"
        ) from None
    try:
        # In the packet's own folder: the plaintext may stand in no place that is less private.
        with tempfile.TemporaryFile(dir=out.parent) as plain, out.open("xb") as target:
            pack(files, plain)
            plain.seek(0)
            target.write(_MAGIC + public)
            _seal(cipher, plain, target)
    except OSError as error:
        raise StorageError(f"cannot write {out}: {error.strerror or type(error).__name__}") from error


def _cipher(shared: bytes, salt: bytes) -> ChaCha20Poly1305:
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return ChaCha20Poly1305(HKDF(SHA256(), 32, salt, _MAGIC).derive(shared))


def _nonce(index: int, last: bool) -> bytes:
    return index.to_bytes(11, "big") + bytes((last,))


def _seal(cipher: ChaCha20Poly1305, plain: BinaryIO, target: BinaryIO) -> None:
    index, chunk = 0, plain.read(_CHUNK)
    while True:
        following = plain.read(_CHUNK)
        target.write(cipher.encrypt(_nonce(index, not following), chunk, None))
        if not following:
            return
        index, chunk = index + 1, following


def open_sealed(path: Path, out: Path, identity: X25519PrivateKey) -> None:
    """Unpack an encrypted restricted part into a private folder.

    Nothing is unpacked before every chunk has been authenticated.

    Raises:
        IntegrityError: It was changed, cut off, or made for another key; or what is in it cannot be unpacked safely.
        StorageError: The folder cannot be written.
    """
    from cryptography.exceptions import InvalidTag

    try:
        with path.open("rb") as source, tempfile.TemporaryFile(dir=out) as plain:
            head = source.read(len(_MAGIC) + _PUBLIC)
            if len(head) < len(_MAGIC) + _PUBLIC or not head.startswith(_MAGIC):
                raise IntegrityError(f"{SEALED}: not an encrypted restricted part")
            public = head[len(_MAGIC) :]
            try:
                cipher = _cipher(_shared(identity, public), public + keys.raw_public(identity.public_key()))
                _unseal(cipher, source, plain)
            except (InvalidTag, ValueError):
                raise IntegrityError(
                    f"{SEALED}: cannot be opened: it was made for another key, or was changed"
                ) from None
            plain.seek(0)
            extract(plain, out)
    except OSError as error:
        raise StorageError(f"cannot open {path}: {error.strerror or type(error).__name__}") from error


def _shared(identity: X25519PrivateKey, public: bytes) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

    return identity.exchange(X25519PublicKey.from_public_bytes(public))


def _unseal(cipher: ChaCha20Poly1305, source: BinaryIO, plain: BinaryIO) -> None:
    index, chunk = 0, source.read(_CHUNK + _TAG)
    while True:
        following = source.read(_CHUNK + _TAG)
        plain.write(cipher.decrypt(_nonce(index, not following), chunk, None))
        if plain.tell() > MAX_TOTAL:
            raise IntegrityError(f"{SEALED}: too large: not opened")
        if not following:
            return
        index, chunk = index + 1, following


def decrypt(packet: Path, identity: Path) -> Path:
    """Open the restricted part of a packet's folder and put it beside the public one.

    Args:
        packet: A packet's folder with `restricted.enc`.
        identity: File of the recipient's private X25519 key.

    Returns:
        The folder of the restricted part, readable by its owner alone.

    Raises:
        ConfigError: There is nothing to open, it is open already, or the key file holds no key.
        IntegrityError: It cannot be opened with this key, or is not the one that the packet names.
        MissingDependency: The package `cryptography` is not installed.
        StorageError: It cannot be written.
    """
    packet = packet_folder(packet, "decryption")
    key = keys.load_identity(identity)
    target = packet / RESTRICTED
    if not (packet / SEALED).is_file():
        raise ConfigError(f"{packet}: holds no {SEALED}; give the folder of a packet that was encrypted")
    if target.exists():
        raise ConfigError(f"{target}: exists already; move it away to open the encrypted one")
    with tempfile.TemporaryDirectory(dir=packet, prefix=".restricted-") as name:
        opened = Path(name)
        open_sealed(packet / SEALED, opened, key)
        if [p.name for p in opened.iterdir()] != [RESTRICTED]:
            raise IntegrityError(f"{SEALED}: holds something else than {RESTRICTED}/")
        for path in (opened / RESTRICTED).rglob("*"):
            path.chmod(0o700 if path.is_dir() else 0o600)
        (opened / RESTRICTED).chmod(0o700)
        (opened / RESTRICTED).replace(target)
    return target
