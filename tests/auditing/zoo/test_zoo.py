"""What is broken falls, what is right stands, within samples and error rates that are stated."""

from statistics import median

import pytest

from dpkit.auditing.zoo import ZOO, entry_named

BROKEN = [entry for entry in ZOO if entry.broken]
RIGHT = [entry for entry in ZOO if not entry.broken]

# Medians (samples of both sides that are bet on, so without pilots); the tests allow one seed to be a few times slower.
BARS = {
    "laplace half": 600,
    "sparse vector 5": 400,
    "sparse vector 6": 3_000,
    "sparse vector 4": 20_000,
    "noisy max 3": 5_000,
    "mean that leaks N": 20_000,
    "gaussian half, noise law": 40,
}


@pytest.mark.parametrize("entry", BROKEN, ids=lambda entry: entry.name)
def test_every_broken_entry_is_refuted(entry):
    certificate = entry.audit(rng=2024)
    assert certificate.refuted
    assert certificate.samples <= 4 * BARS.get(entry.name, 50_000)


@pytest.mark.parametrize("entry", RIGHT, ids=lambda entry: entry.name)
def test_no_right_entry_is_refuted(entry):
    certificate = entry.audit(rng=2024, samples=4_000)
    assert not certificate.refuted
    assert certificate.epsilon_lower <= getattr(certificate.claim.loss, "epsilon", 10.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", BARS)
def test_medians_are_within_the_bars(name):
    certificates = [entry_named(name).audit(rng=seed) for seed in range(91_000, 91_020)]
    assert all(certificate.refuted for certificate in certificates)
    assert median(certificate.samples - certificate.pilot_samples for certificate in certificates) <= BARS[name]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "truth"), [("laplace", 1.0), ("noisy histogram 1", 1.0), ("truncated geometric", 1.0)])
def test_lower_bounds_are_within_a_twentieth_of_the_truth_at_a_million_samples(name, truth):
    for seed in range(91_100, 91_105):
        bound = entry_named(name).audit(samples=1_000_000, rng=seed).epsilon_lower
        assert 0.95 * truth <= bound <= truth, seed
