"""A certificate survives JSON, and not an edit."""

import json

import pytest

from dpkit import AuditCertificate, PureDP, SerialisationError, audit


def laplace(scale):
    return lambda value, n, rng: value + rng.laplace(scale=scale, size=n)


def test_a_certificate_survives_json_and_not_an_edit():
    (certificate,) = audit(laplace(1.0), claim=PureDP(epsilon=1.0), pair=(0.0, 1.0), samples=5_000, rng=1)
    text = certificate.to_json()
    assert AuditCertificate.from_json(text) == certificate
    assert json.loads(text)["dpkit_audit"] == 1
    with pytest.raises(SerialisationError, match="digest"):
        AuditCertificate.from_json(text.replace('"samples": 5000', '"samples": 500000'))
    with pytest.raises(SerialisationError):
        AuditCertificate.from_json("{}")
    assert "NOT REFUTED" in str(certificate)
