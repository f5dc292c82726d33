"""A certificate can be run again, and says the same; a tampered one does not pass."""

from dataclasses import replace as changed

import numpy as np

from dpkit import PureDP, RandomizedResponse, audit, records
from dpkit.auditing.formats import as_junit, as_sarif
from dpkit.auditing.replay import replay
from dpkit.auditing.zoo import entry_named


def half(value, n, rng):
    return value + rng.laplace(scale=0.5, size=n)


def test_a_function_is_replayed_from_its_seed():
    (certificate,) = audit(half, PureDP(epsilon=1.0), (0.0, 1.0), rng=np.random.default_rng())
    assert replay(certificate, half).confirmed
    assert replay(certificate, half, (0.0, 1.0)).confirmed


def test_another_function_is_not_confirmed():
    (certificate,) = audit(half, PureDP(epsilon=1.0), (0.0, 1.0), rng=1)
    result = replay(certificate, lambda value, n, rng: value + rng.laplace(scale=0.6, size=n))
    assert not result.confirmed
    assert "log_e_value" in result.differences


def test_an_edited_certificate_is_not_confirmed_even_when_sealed_anew():
    (certificate,) = audit(half, PureDP(epsilon=1.0), (0.0, 1.0), rng=1)
    assert replay(changed(certificate, samples=10), half).differences == ("digest",)
    resealed = changed(certificate, samples=10, digest="")
    assert resealed.intact
    assert replay(resealed, half).differences == ("samples",)


def test_mechanisms_and_zoo_entries_are_found_by_name():
    first, *_, last = audit(RandomizedResponse(epsilon=1.0), at=records(1), samples=1_000, rng=1)
    assert replay(first).confirmed
    assert replay(last).confirmed
    assert replay(entry_named("wishart, white box").audit(rng=3)).confirmed


def test_ci_systems_get_their_formats():
    bad, good = entry_named("laplace half").audit(rng=1), entry_named("laplace").audit(rng=1, samples=1_000)
    assert '<testsuite name="dpkit audit" tests="2" failures="1"' in as_junit([bad, good])
    assert '"ruleId": "black box"' in as_sarif([bad, good])
    assert '"ruleId"' not in as_sarif([good])
