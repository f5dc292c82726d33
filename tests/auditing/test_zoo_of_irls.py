"""The plugin's entries of the zoo: they come by hook, are what they say, and fall or stand as known."""

from statistics import median

import dpkit_irls
import numpy as np
import pytest
from scipy import special

import dpkit
from dpkit import load_plugins
from dpkit.auditing.certificates.replay import replay
from dpkit.auditing.zoo import ZOO, entry_named, whole_zoo

INSTALLED = load_plugins(discover=False, extra={"irls": dpkit_irls})
REGISTRY = INSTALLED.registry
BARS = {"wishart, black box": 8_000, "wishart, white box": 110, "wishart, support": 110}


def test_they_come_with_the_plugin_and_not_without_it():
    added = [entry for entry in whole_zoo(INSTALLED) if entry.plugin == "irls"]
    assert {entry.name: entry.truth for entry in added} == dict.fromkeys(BARS, "broken") | {"wishart, repaired": "right"}
    assert whole_zoo(load_plugins(discover=False)) == ZOO
    with pytest.raises(dpkit.UnknownNameError, match="zoo entry"):
        entry_named("wishart, repaired", load_plugins(discover=False).registry)


@pytest.mark.parametrize("name", BARS)
def test_the_published_noise_falls_and_its_certificate_is_confirmed(name):
    certificate = entry_named(name, REGISTRY).audit(rng=2024)
    assert certificate.refuted
    assert certificate.samples <= 4 * BARS[name]
    assert replay(certificate, registry=REGISTRY).confirmed


def test_the_repaired_noise_stands():
    certificate = entry_named("wishart, repaired", REGISTRY).audit(rng=2024, samples=4_000)
    assert not certificate.refuted
    assert certificate.epsilon_lower <= certificate.claim.loss.epsilon


def test_the_published_output_is_impossible_as_often_as_said():
    entry = entry_named("wishart, support", REGISTRY)
    outputs = np.asarray(entry.sampler(entry.pair[0], 20_000, np.random.default_rng(1)))
    impossible = np.linalg.eigvalsh(outputs - entry.pair[1])[:, 0] < 0.0
    assert impossible.mean() == pytest.approx(1.0 - np.exp(-1.0), abs=4.5 * np.sqrt(0.25 / 20_000))


def test_the_repaired_claim_is_the_exact_profile():
    """By the likelihood ratio's threshold x, (1 - 1/x)^(a-1) = e^-2: F_a(x) - e F_a(x - 1), computed apart from the plugin."""
    entry, a = entry_named("wishart, repaired", REGISTRY), 10.5
    edge = 1.0 / -np.expm1(-2.0 / (a - 1.0))
    expected = special.gammainc(a, edge) - np.e * special.gammainc(a, edge - 1.0)
    assert entry.claim.delta == pytest.approx(expected, rel=1e-7)
    assert entry.claim.delta >= expected


@pytest.mark.slow
@pytest.mark.parametrize("name", BARS)
def test_medians_are_within_the_bars(name):
    certificates = [entry_named(name, REGISTRY).audit(rng=seed) for seed in range(91_000, 91_020)]
    assert all(certificate.refuted for certificate in certificates)
    assert median(certificate.samples - certificate.pilot_samples for certificate in certificates) <= BARS[name]
