"""Signatures: whoever holds the key signed this very text."""

import json
import stat
from dataclasses import replace

import pytest

from dpkit import AuditCertificate, InvalidValueError, Laplace, audit, l1
from dpkit.auditing.certificates.signing import is_signed_by, make_key, sign
from dpkit.errors import OutputError

pytest.importorskip("cryptography", reason="signing needs the extra dpkit[signing]")


@pytest.fixture
def certificate():
    return audit(Laplace(scale=1.0), at=l1(1.0), samples=100, rng=1)[0]


def test_a_signature_survives_the_file_and_names_its_owner(certificate, tmp_path):
    public = make_key(tmp_path / "mine")
    make_key(tmp_path / "other")
    signed = AuditCertificate.from_json(sign(certificate, tmp_path / "mine").to_json())
    assert signed.intact
    assert signed.digest == certificate.digest
    assert public in str(signed)
    assert is_signed_by(signed, tmp_path / "mine.pub")
    assert is_signed_by(signed, public)
    assert not is_signed_by(signed, tmp_path / "other.pub")
    assert not is_signed_by(certificate, public)
    assert stat.S_IMODE((tmp_path / "mine").stat().st_mode) == 0o600


def test_a_changed_and_resealed_certificate_is_not_signed(certificate, tmp_path):
    public = make_key(tmp_path / "mine")
    signed = sign(certificate, tmp_path / "mine")
    assert not is_signed_by(replace(signed, target="another", digest=""), public)
    assert not is_signed_by(replace(signed, target="another"), public)
    for nonsense in ("00" * 64, "xyz", signed.signature[:-2]):
        assert not is_signed_by(replace(signed, signature=nonsense), public)
    body = json.loads(signed.to_json())
    body["signer"] = 3
    with pytest.raises(Exception, match="signer"):
        AuditCertificate.from_json(json.dumps(body))


def test_keys_are_not_overwritten_and_other_files_are_refused(certificate, tmp_path):
    make_key(tmp_path / "mine")
    with pytest.raises(OutputError):
        make_key(tmp_path / "mine")
    (tmp_path / "no.key").write_text("no key")
    with pytest.raises(InvalidValueError, match="keygen"):
        sign(certificate, tmp_path / "no.key")
    with pytest.raises(InvalidValueError, match="keygen"):
        sign(certificate, tmp_path / "mine.pub")
    with pytest.raises(InvalidValueError, match="changed"):
        sign(replace(certificate, samples=3), tmp_path / "mine")
