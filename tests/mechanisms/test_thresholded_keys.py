"""Thresholds for keys: a key of one person comes out as rarely as stated, and no release keeps more."""

import math

import numpy as np
import pytest

import dpkit
from dpkit import Neighbours, ThresholdedGaussian, ThresholdedGeometric, l1, l2, linf


def law(scale, longest, count):
    """What comes out of one key of this count, by its probability; 0 is that it stays in."""
    if count == 0:
        return {0: 1.0}
    noise = np.arange(-longest, longest + 1)
    weights = np.exp(-np.abs(noise) / scale)
    found = {}
    for step, weight in zip(noise.tolist(), (weights / weights.sum()).tolist(), strict=True):
        value = count + step if count + step > longest else 0
        found[value] = found.get(value, 0.0) + weight
    return found


def mixed(mechanism, count):
    longest, often = mechanism.cut
    found = {}
    for length, share in ((longest, 1.0 - often), (longest - 1, often)):
        if share:
            for value, weight in law(mechanism.scale, length, count).items():
                found[value] = found.get(value, 0.0) + share * weight
    return found


def divergence(one, other, epsilon):
    return sum(max(0.0, weight - math.exp(epsilon) * other.get(value, 0.0)) for value, weight in one.items())


@pytest.mark.parametrize(("scale", "delta"), [(1.0, 1e-6), (0.4, 1e-3), (3.0, 0.01), (10.0, 1e-8), (0.05, 0.2)])
def test_one_more_or_less_costs_what_is_claimed(scale, delta):
    mechanism = ThresholdedGeometric(scale=scale, delta=delta)
    worst = 0.0
    for count in [*range(0, 6), mechanism.threshold, 2 * mechanism.threshold + 1]:
        fewer, more = mixed(mechanism, count), mixed(mechanism, count + 1)
        worst = max(worst, divergence(fewer, more, 1.0 / scale), divergence(more, fewer, 1.0 / scale))
    assert delta * 0.99 <= worst <= delta * (1 + 1e-6)  # and nothing of it is left unused


@pytest.mark.parametrize(("scale", "delta"), [(1.0, 1e-6), (0.5, 1e-4), (4.0, 1e-5)])
def test_no_release_keeps_more_keys(scale, delta):
    mechanism, epsilon, chance = ThresholdedGeometric(scale=scale, delta=delta), 1.0 / scale, 0.0
    for count in range(1, 3 * mechanism.threshold):
        chance = min(math.exp(epsilon) * chance + delta, 1.0 - math.exp(-epsilon) * (1.0 - chance - delta), 1.0)
        assert 1.0 - mixed(mechanism, count).get(0, 0.0) == pytest.approx(chance, rel=1e-4)


def test_draws_follow_the_law():
    mechanism, rng, draws = ThresholdedGeometric(scale=2.0, delta=0.05), np.random.default_rng(0), 200_000
    for count in (1, 4, 9):
        found = np.asarray(mechanism.release(np.full(draws, count), rng))
        for value, weight in mixed(mechanism, count).items():
            assert abs(np.mean(found == value) - weight) <= 6.0 * math.sqrt(weight / draws) + 1e-4  # six deviations
    assert not np.asarray(mechanism.release(np.zeros(1_000, dtype=np.int64), rng)).any()


def test_the_price_is_one_release_a_key_that_moves():
    mechanism = ThresholdedGeometric(scale=2.0, delta=1e-7)
    three = mechanism.event((l1(3.0), linf(1.0)))
    assert dpkit.account(three, "pure").epsilon(delta=1e-6) == pytest.approx(1.5)
    grouped = mechanism.event(l1(3.0))  # one key by three
    assert grouped.delta >= 3e-7
    assert dpkit.account(grouped, "pure").epsilon(delta=1e-5) == pytest.approx(1.5)


@pytest.mark.parametrize("keys", [1, 3, 10])
def test_new_keys_of_one_person_come_out_as_rarely_as_stated(keys):
    mechanism, rng, draws = ThresholdedGaussian(scale=3.0, delta=0.02, keys=keys), np.random.default_rng(1), 40_000
    for held in range(1, keys + 1):
        value = np.full((draws, held), mechanism.weight(held))
        often = np.mean((np.asarray(mechanism.release(value, rng)) != 0.0).any(axis=1))
        assert often <= 0.02 + 5.0 * math.sqrt(0.02 / draws)
        assert held * mechanism.weight(held) ** 2 <= 1.0
    assert not np.asarray(mechanism.release(np.zeros(1_000), rng)).any()


def test_gaussian_noise_and_the_threshold_are_priced_apart():
    event = ThresholdedGaussian(scale=5.0, delta=1e-7, keys=4).event((l1(4.0), l2(1.0)))
    both = dpkit.account(event, "pld").epsilon(delta=1e-6)
    assert both > dpkit.account(dpkit.GaussianEvent(ratio=0.2), "pld").epsilon(delta=1e-6)
    assert both == pytest.approx(dpkit.account(dpkit.GaussianEvent(ratio=0.2), "pld").epsilon(delta=9e-7), rel=1e-3)


class TwoLower(ThresholdedGeometric):
    """A mutant, as one was shipped elsewhere."""

    def release(self, value, rng=None):
        counts = np.asarray(value)
        noisy = counts + np.asarray(
            dpkit.DiscreteLaplace(scale=self.scale).release(np.zeros(counts.shape, dtype=np.int64), rng)
        )
        return np.where((counts > 0) & (noisy > self.threshold - 2), noisy, 0)


def test_the_audit_finds_the_mutant_and_nothing_else():
    pair = (np.array([1]), np.array([0]))

    def verdicts(mechanism):
        (claim,) = mechanism.claims(l1(1.0))
        found = dpkit.audit(mechanism, claim=claim, pair=pair, samples=4_000, rng=np.random.default_rng(0))
        return {certificate.verdict for certificate in found}

    assert verdicts(ThresholdedGeometric(scale=1.0, delta=0.01)) == {"not refuted"}
    assert "refuted" in verdicts(TwoLower(scale=1.0, delta=0.01))


def test_wrong_parameters_are_refused():
    for wrong in ({"delta": 0.0}, {"delta": 0.9}, {"delta": math.nan}, {"scale": -1.0}):
        for kind in (ThresholdedGeometric, ThresholdedGaussian):
            with pytest.raises(dpkit.InvalidValueError):
                kind(**{"scale": 1.0, "delta": 1e-6, **wrong})
    with pytest.raises(dpkit.InvalidValueError):
        ThresholdedGaussian(scale=1.0, delta=1e-6, keys=0)
    assert ThresholdedGaussian(scale=1.0, delta=1e-6).claims(l2(1.0), Neighbours.REPLACE_ONE) == ()
