"""A pytest plugin for the tests of plugins: the fixture `dp_audit` and the marker `audit`. Opt in in conftest.py:

pytest_plugins = ["dpkit.testing.pytest_audit"]

@pytest.mark.audit(samples=20_000)
def test_my_mechanism(dp_audit):
    dp_audit(MyMechanism(scale=1.0), at=dpkit.l1(1.0))
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import pytest

from dpkit.auditing.audit import audit
from dpkit.auditing.certificates.certificate import AuditCertificate

DEFAULTS: dict[str, Any] = {"confidence": 1.0 - 1e-9, "samples": 10_000}
"""A test suite runs thousands of times: at this confidence a true claim does not fail it."""

Audits = Callable[..., list[AuditCertificate]]


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, so that --strict-markers knows it."""
    config.addinivalue_line(
        "markers", "audit(confidence, samples, rng, time, refuted): options of the audits that this test's dp_audit runs"
    )


@pytest.fixture
def dp_audit(request: pytest.FixtureRequest) -> Audits:
    """`dpkit.audit` that fails the test where a claim is refuted; with `refuted=True`, where none is.

    Options come from the call, then from the marker `audit`, then from `DEFAULTS`. The seed is that of the test's name, so
    that a failure comes again. The certificates are returned, and shown when the test fails.
    """
    marker = request.node.get_closest_marker("audit")
    seed = zlib.crc32(request.node.nodeid.encode())
    preset = {**DEFAULTS, "rng": seed, **({} if marker is None else marker.kwargs)}

    def run(*arguments: Any, **options: Any) -> list[AuditCertificate]:
        # what stands by position in the call is not given a second time by name
        given = dict(zip(("target", "claim", "pair", "confidence", "samples", "rng"), arguments, strict=False))
        chosen = {**preset, **given, **options}
        expected = bool(chosen.pop("refuted", False))
        found = audit(**chosen)
        text = "\n\n".join(map(str, found))
        request.node.add_report_section("call", "dpkit audit", text)
        refuted = [one for one in found if one.refuted]
        if expected and not refuted:
            pytest.fail("No claim was refuted, and one should be.", pytrace=False)
        if refuted and not expected:
            pytest.fail("\n\n".join(map(str, refuted)), pytrace=False)
        return found

    return run
