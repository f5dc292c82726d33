"""Signed certificates: Ed25519 by the package `cryptography` (`pip install dpkit[signing]`), with keys in PEM files.

A digest finds changes of a text, and anybody can seal another. A signature says who vouches for it: it covers the digest, which
covers everything else.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpkit.auditing.certificates.certificate import AuditCertificate
from dpkit.errors import InvalidValueError, MissingExtraError, OutputError

_CONTEXT = b"dpkit audit certificate 1\n"


def make_key(path: str | Path) -> str:
    """Write a new private key, readable by its owner alone, and `path`.pub beside it; the public key as text."""
    serialization, ed25519 = _library()
    private = ed25519.Ed25519PrivateKey.generate()
    plain = serialization.NoEncryption()
    pem = private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    public = private.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    for place, body, mode in ((Path(path), pem, 0o600), (Path(f"{path}.pub"), public, 0o644)):
        try:
            with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                file.write(body)
        except OSError as error:
            raise OutputError(path=place, reason=f"a key cannot be written there ({error.strerror}).") from None
    return _hex_of(private.public_key())


def sign(certificate: AuditCertificate, key: str | Path) -> AuditCertificate:
    """The certificate with a signature by the private key in this file, and the public key that checks it."""
    if not certificate.intact:
        raise InvalidValueError(
            field="certificate", found="a changed one", allowed="a certificate whose digest fits", where="sign"
        )
    serialization, ed25519 = _library()
    private = _read_key(key, lambda text: serialization.load_pem_private_key(text, password=None), ed25519.Ed25519PrivateKey)
    return replace(certificate, signature=private.sign(_message(certificate)).hex(), signer=_hex_of(private.public_key()))


def is_signed_by(certificate: AuditCertificate, key: str | Path) -> bool:
    """Whether the certificate is unchanged and was signed by the owner of this public key: a PEM file, or 64 hex digits."""
    serialization, ed25519 = _library()
    text = str(key)
    if len(text) == 64 and set(text) <= set("0123456789abcdef"):
        public = ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(text))
    else:
        public = _read_key(key, serialization.load_pem_public_key, ed25519.Ed25519PublicKey)
    if not certificate.intact or not certificate.signature or certificate.signer != _hex_of(public):
        return False
    from cryptography.exceptions import InvalidSignature

    try:
        public.verify(bytes.fromhex(certificate.signature), _message(certificate))
    except (InvalidSignature, ValueError):
        return False
    return True


def _message(certificate: AuditCertificate) -> bytes:
    return _CONTEXT + certificate.digest.encode()


def _hex_of(public: Any) -> str:
    return str(public.public_bytes_raw().hex())


def _read_key(path: str | Path, read: Any, kind: Any) -> Any:
    try:
        found = read(Path(path).read_bytes())
    except (OSError, ValueError, TypeError) as error:
        found = type(error).__name__
    if not isinstance(found, kind):
        raise InvalidValueError(
            field="key", found=str(path), allowed="a PEM file of an Ed25519 key, without a password", where="sign",
            fix="Make one with `dpkit audit keygen FILE`.",
        )  # fmt: skip
    return found


def _library() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingExtraError(package="cryptography", purpose="Signing a certificate", extra="signing") from None
    return serialization, ed25519
