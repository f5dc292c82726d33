"""Rare losses composed from atoms: beside binomial sums in many digits, and intervals that were wide or had no lower end."""

import math
from dataclasses import replace

import mpmath
import pytest
from mpmath import mpf

from dpkit import Compose, GaussianEvent, LaplaceEvent, Neighbours, PureEvent, Repeat, Subsample, account
from dpkit.accountants.pld import few_large
from dpkit.accountants.pld.composition import _tail
from dpkit.accountants.pld.few_large import few_large_holds, few_large_reader
from dpkit.accountants.pld.where_bounds_hold import MOST_RELEASES
from dpkit.mechanisms.subsampled_gaussian import SubsampledGaussianPair
from dpkit.privacy.gaussian_dp import GaussianPair
from dpkit.privacy.loss_pairs import PurePair
from dpkit.privacy.sampled_pairs import SampledPair


def binomial_delta(rate, epsilon, count, at):
    """delta of randomised responses on samples, a record more: the loss has two values, so the number of one is binomial."""
    with mpmath.workdps(60):
        yes = mpmath.exp(mpf(epsilon)) / (1 + mpmath.exp(mpf(epsilon)))
        p = (1 - mpf(rate)) * (1 - yes) + mpf(rate) * yes  # of the likelier answer of the record
        q = 1 - yes
        up, down = mpmath.log(p / q), mpmath.log((1 - p) / (1 - q))
        first = max(0, math.ceil((mpf(at) - count * down) / (up - down)))
        total, term = mpf(0), mpmath.binomial(count, first) * p**first * (1 - p) ** (count - first)
        for k in range(first, count + 1):
            total += term * (1 - mpmath.exp(at - k * up - (count - k) * down))
            term *= p / (1 - p) * (count - k) / (k + 1)
            if k > count * p and term < total * mpf(10) ** -30:
                break
        return total


@pytest.mark.parametrize(
    ("rate", "epsilon", "count", "delta", "start"),
    [(1e-3, 3.0, 20_000, 1e-9, 1.5), (1e-5, 2.0, 10**6, 1e-12, 0.5), (1e-2, 6.0, 50, 1e-10, 6.0), (0.1, 0.5, 500, 1e-6, 3.0)],
)
def test_two_valued_losses_are_held_beside_a_binomial_sum(rate, epsilon, count, delta, start):
    terms = [(SampledPair(rate=rate, pair=PurePair(epsilon=epsilon)).forward(), count)]
    found = few_large_reader(terms, delta=delta, epsilon=start, width=5e-7, tail=_tail(terms, delta))
    assert found is not None
    for share in (0.9, 1.0, 1.05):
        exact = binomial_delta(rate, epsilon, count, share * found.start)
        assert found.lower(share * found.start) <= exact <= found.upper(share * found.start)[0]
    exact = binomial_delta(rate, epsilon, count, found.start)
    assert found.upper(found.start)[0] <= exact * (1.0 + 1e-3)
    assert found.lower(found.start) >= exact * (1.0 - 1e-3)


def poisson(rate, sigma, times):
    return Repeat(event=Subsample(rate=rate, event=GaussianEvent(ratio=1.0 / sigma)), times=times)


@pytest.mark.parametrize(
    ("rate", "sigma", "times", "delta"), [(0.01, 1.0, 1000, 1e-6), (1e-3, 0.8, 20_000, 1e-9), (0.2, 5.0, 300, 1e-5)]
)
def test_where_a_contour_is_near_both_agree(rate, sigma, times, delta):
    lower, upper = account(poisson(rate, sigma, times), "pld").interval(delta=delta)
    assert upper - lower <= 1e-5
    terms = [(SubsampledGaussianPair(rate=rate, ratio=1.0 / sigma).forward(), times)]
    found = few_large_reader(terms, delta=delta, epsilon=1.5 * upper, width=5e-7, tail=_tail(terms, delta))
    assert found is not None
    assert found.upper(lower)[0] >= delta * (1.0 - 1e-9)
    assert found.lower(upper) <= delta * (1.0 + 1e-9)
    assert found.upper(upper + 1e-4)[0] <= delta
    assert found.lower(lower - 1e-4) >= delta


WIDE = {
    "ten million rare steps": (poisson(1e-6, 1.0, 10**7), 1e-15, 5e-6),
    "one large loss": (poisson(1e-5, 0.6, 10**5), 1e-15, 1e-4),
    "sampled Laplace noise": (Repeat(event=Subsample(rate=0.1, event=LaplaceEvent(ratio=0.5)), times=1000), 1e-3, 1e-5),
    "rare Laplace noise": (Repeat(event=Subsample(rate=1e-6, event=LaplaceEvent(ratio=1.6)), times=10**7), 1e-12, 1e-5),
    "beside Laplace noise": (Compose(events=(poisson(1e-3, 0.8, 1), LaplaceEvent(ratio=0.1))), 1e-6, 1e-5),
}


@pytest.mark.parametrize("name", WIDE)
def test_intervals_are_narrow_where_they_were_wide(name):
    """They were 5e-4, 4e-4, 1e-3, endless and 5e-3 wide."""
    event, delta, width = WIDE[name]
    lower, upper = account(event, "pld").interval(delta=delta)
    assert 0.0 < lower <= upper <= lower + width


def test_a_replaced_record_is_held_too():
    event = Repeat(event=Subsample(rate=1e-4, event=GaussianEvent(ratio=5.0, absent=2.5)), times=76_141)
    lower, upper = account(event, "pld", Neighbours.REPLACE_ONE).interval(delta=1e-3)
    assert 3.1446 < lower <= upper <= lower + 1e-4


def test_a_sample_that_leaves_beside_pure_losses_is_read_at_a_large_delta():
    """Losses of a record less end where hardly any of them are: all places lie below that end."""
    pure = Repeat(event=Subsample(rate=0.27, event=PureEvent(epsilon=1.09)), times=5)
    beside = Compose(events=(pure, Subsample(rate=4e-6, event=GaussianEvent(ratio=0.47))))
    lower, upper = account(beside, "pld").interval(delta=0.169)
    alone = account(pure, "pld").interval(delta=0.169)
    assert lower <= upper
    assert alone[0] - 1e-6 <= upper
    assert lower <= alone[1] + 1e-4  # the sample tells next to nothing


def test_what_is_left_out_is_added_from_above(monkeypatch):
    """With a threshold at which several large losses are likely; a mutant that does not add them is below the truth."""
    rate, epsilon, count = 1e-3, 4.0, 40
    terms = [(SampledPair(rate=rate, pair=PurePair(epsilon=epsilon)).forward(), count)]
    plain = few_large.choose

    def low(*laws, **others):
        chosen = plain(*laws, **others)
        return None if chosen is None else replace(chosen, threshold=0.01, few=0)

    monkeypatch.setattr(few_large, "choose", low)
    monkeypatch.setattr("dpkit.accountants.pld.atom_sums._RARE", 10.0)
    found = few_large_reader(terms, delta=1e-4, epsilon=2.0, width=5e-7, tail=1e-20)
    exact = binomial_delta(rate, epsilon, count, 1.0)
    assert found.lower(1.0) <= exact <= found.upper(1.0)[0]
    monkeypatch.setattr("dpkit.accountants.pld.atom_sums.log_missed", lambda *_: -math.inf)
    assert few_large_reader(terms, delta=1e-4, epsilon=2.0, width=5e-7, tail=1e-20).upper(1.0)[0] < exact


def test_its_domain():
    one = SubsampledGaussianPair(rate=1e-3, ratio=1.0).forward()
    assert few_large_holds([(one, 1000)], 1e-20)
    assert not few_large_holds([(one, MOST_RELEASES + 1)], 1e-20)
    assert not few_large_holds([(GaussianPair(mu=300.0).forward(), 1)], 1e-20)
    assert not few_large_holds([(PurePair(epsilon=0.1 * k).forward(), 1) for k in range(1, 6)], 1e-20)
