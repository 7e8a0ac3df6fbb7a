"""A signature over a packet's root: a DSSE envelope with one Ed25519 signature.

The payload is an in-toto statement whose subject is MANIFEST with its SHA-256, so that tools that know DSSE can verify
it too. The envelope carries the public key: with that alone a signature shows that nothing was changed after signing,
not whose key it is. Authorship is shown to who has the signer's public key from elsewhere.
Source: DSSE protocol 1.0 (secure-systems-lab/dsse); in-toto attestation framework, statement layer 1.
"""

from __future__ import annotations

import base64
import binascii
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from vestige.errors import IntegrityError
from vestige.packet import keys
from vestige.packet.archive import packet_folder
from vestige.packet.layout import FORMAT, MANIFEST, ROOT, SIGNATURE
from vestige.packet.sums import check_sums, digest, digest_file, root_bytes
from vestige.records import Record
from vestige.runs.folder import write_atomic
from vestige.runs.plan import canonical_json

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

__all__ = ["PAYLOAD_TYPE", "Envelope", "envelope", "sign", "verify_envelope"]

PAYLOAD_TYPE = "application/vnd.in-toto+json"
_STATEMENT = "https://in-toto.io/Statement/v1"
_PREDICATE = "urn:vestige:packet:root:1"


class _Signature(Record):
    keyid: str
    sig: str


class Envelope(Record):
    """`signature.json`."""

    payload: str
    """The statement, base64."""
    payloadType: str
    signatures: tuple[_Signature, ...]
    publicKey: str
    """PEM; an addition to DSSE, which lets readers ignore it."""


def _pae(payload: bytes) -> bytes:
    """DSSE's pre-authentication encoding."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def _statement(root: str) -> dict[str, Any]:
    return {
        "_type": _STATEMENT,
        "subject": [{"name": MANIFEST, "digest": {"sha256": root}}],
        "predicateType": _PREDICATE,
        "predicate": {"format": FORMAT},
    }


def envelope(root: str, key: Ed25519PrivateKey) -> bytes:
    """The signed envelope over a root, the SHA-256 of MANIFEST."""
    payload = canonical_json(_statement(root))
    public = key.public_key()
    signature = _Signature(keyid=keys.key_id(public), sig=base64.b64encode(key.sign(_pae(payload))).decode())
    signed = Envelope(
        payload=base64.b64encode(payload).decode(),
        payloadType=PAYLOAD_TYPE,
        signatures=(signature,),
        publicKey=keys.public_pem(public).decode(),
    )
    return canonical_json(signed.model_dump(mode="json")) + b"\n"


def sign(packet: Path, key: Path) -> str:
    """Sign a packet's folder, in place of an earlier signature; its root stays the same.

    Returns:
        The key's id.

    Raises:
        IntegrityError: Its sums are not right.
        ConfigError: It is a ZIP, or no packet; or the key file holds no private Ed25519 key.
        MissingDependency: The package `cryptography` is not installed.
        StorageError: The folder cannot be written.
    """
    packet = packet_folder(packet, "a signature")
    signer = keys.load_signer(key)
    if problems := check_sums(packet):
        raise IntegrityError(f"{packet}: not signed: {problems[0]}")
    root = digest_file(packet / MANIFEST)
    data = envelope(root, signer)
    write_atomic(packet / SIGNATURE, data)
    write_atomic(packet / ROOT, root_bytes(root, digest(data)))
    return keys.key_id(signer.public_key())


def verify_envelope(data: bytes, root: str, trusted: Ed25519PublicKey | None) -> str:
    """Verify an envelope against a root; with `trusted`, by that key and no other.

    Returns:
        The id of the key that signed.

    Raises:
        IntegrityError: It is no envelope, speaks of another root, or the signature is not right.
    """
    from cryptography.exceptions import InvalidSignature

    try:
        found = Envelope.model_validate_json(data)
        payload = base64.b64decode(found.payload, validate=True)
        stated = json.loads(payload)
    except (ValidationError, ValueError, binascii.Error, RecursionError):
        raise IntegrityError("is no signature that can be read") from None
    if found.payloadType != PAYLOAD_TYPE or stated != _statement(root):
        raise IntegrityError("signs something else than this packet's root")
    key = trusted or keys.parse_verifier(found.publicKey.encode("utf-8", "surrogatepass"))
    if key is None:
        raise IntegrityError("carries no Ed25519 key")
    for signature in found.signatures[:16]:
        try:
            key.verify(base64.b64decode(signature.sig, validate=True), _pae(payload))
        except (InvalidSignature, ValueError):
            continue
        return keys.key_id(key)
    whose = "was not made with the trusted key" if trusted else "does not match its key"
    raise IntegrityError(whose)
