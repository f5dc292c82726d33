"""Laws of the smoothed contour: its two kernels lie on their sides of the loss, and it brackets what is enumerated."""

import math
from itertools import product

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpkit import Compose, LaplaceEvent, PureEvent, Repeat, account
from dpkit.accountants.pld.composition import tuned
from dpkit.accountants.pld.contour import smoothed_reader
from dpkit.mechanisms.laplace import LaplacePair
from dpkit.privacy.loss_pairs import PurePair
from dpkit.testing.strategies import examples

EXAMPLES = examples(25)


def logarithmic(low, high):
    return st.floats(math.log(low), math.log(high)).map(math.exp)


def smoothed_loss(u, mu):
    """E(1 - e^(-u - S))_+ for the loss S of Gaussian noise of this mu."""
    return mp.ncdf(u / mu + mu / 2) - mp.exp(-u) * mp.ncdf(u / mu - mu / 2)


@EXAMPLES
@given(mu=logarithmic(1e-4, 2.0), share=st.floats(-40.0, 40.0))
def test_a_smoothed_loss_lies_above_and_with_its_dent_below(mu, share):
    with mp.workdps(400):
        mu, u = mp.mpf(mu), mp.mpf(share) * mp.mpf(mu)
        plain = max(mp.mpf(0), 1 - mp.exp(-u))
        above = smoothed_loss(u, mu)
        dent = mu**2 * mp.exp(mu**2 / 8)  # the transform of the dent over that of the smoothing
        bump = dent / (mu * mp.sqrt(2 * mp.pi) * mp.exp(mu**2 / 8)) * mp.exp(-u / 2 - u**2 / (2 * mu**2))
        assert above >= plain >= above - bump


def enumerated_delta(epsilons, at):
    """Every outcome of randomised responses."""
    with mp.workdps(60):
        total = mp.mpf(0)
        for signs in product((1, -1), repeat=len(epsilons)):
            loss = mp.fsum(sign * mp.mpf(e) for sign, e in zip(signs, epsilons, strict=True))
            if loss > at:
                chance = mp.fprod(1 / (1 + mp.exp(-sign * mp.mpf(e))) for sign, e in zip(signs, epsilons, strict=True))
                total += chance * (1 - mp.exp(mp.mpf(at) - loss))
        return total


@examples(12)
@given(
    epsilons=st.lists(logarithmic(1e-3, 3.0), min_size=2, max_size=9),
    delta=logarithmic(1e-12, 0.1),
    width=logarithmic(1e-6, 1e-2),
    places=st.lists(st.floats(0.8, 1.1), min_size=2, max_size=4),
)
def test_unlike_pure_losses_are_bracketed_around_what_is_enumerated(epsilons, delta, width, places):
    terms = tuple((PurePair(epsilon=epsilon).forward(), 1) for epsilon in epsilons)
    moments, tilt, start = tuned(terms, delta)
    found = smoothed_reader(terms, moments, tilt=tilt, epsilon=start, delta=delta, width=width)
    assert found is not None
    for place in places:
        exact = enumerated_delta(epsilons, place * start)
        assert found.lower(place * start) <= exact <= found.upper(place * start)[0]


def test_a_coarser_width_is_a_wider_interval_around_the_same_value():
    rng = np.random.default_rng(5)
    terms = tuple((LaplacePair(ratio=float(x)).forward(), 1) for x in rng.uniform(0.05, 0.5, 12))
    moments, tilt, start = tuned(terms, 1e-6)
    ends = []
    for width in (1e-2, 1e-4, 1e-6):
        found = smoothed_reader(terms, moments, tilt=tilt, epsilon=start, delta=1e-6, width=width)
        ends.append((found.lower(0.9998 * start), found.upper(0.9998 * start)[0]))
    assert ends[0][0] <= ends[1][0] <= ends[2][0] <= ends[2][1] <= ends[1][1] <= ends[0][1]
    assert ends[2][1] - ends[2][0] < 1e-2 * (ends[0][1] - ends[0][0])


@pytest.mark.parametrize("kind", [lambda x: PureEvent(epsilon=x), lambda x: LaplaceEvent(ratio=x)])
@pytest.mark.parametrize(("low", "high", "delta"), [(0.01, 0.1, 1e-12), (1e-6, 1e-4, 1e-3), (1.0, 8.0, 1e-9)])
def test_many_unlike_losses_are_known_to_a_thousandth(kind, low, high, delta):
    rng = np.random.default_rng(11)
    events = tuple(kind(float(x)) for x in np.exp(rng.uniform(math.log(low), math.log(high), 100)))
    lower, upper = account(Compose(events=events), "pld").interval(delta=delta)
    assert 0.0 <= upper - lower <= max(1e-4, 1e-6 * upper)


def test_next_to_the_largest_loss_saddles_have_no_limit():
    """All 30 at their largest loss have a chance of 2^-30: at 1e-30 epsilon is 1e-21 below the sum."""
    ratios = np.random.default_rng(1).uniform(0.05, 0.5, 30).tolist()
    lower, upper = account(Compose(events=tuple(LaplaceEvent(ratio=x) for x in ratios)), "pld").interval(delta=1e-30)
    assert math.fsum(ratios) - 1e-8 <= lower <= upper <= math.fsum(ratios) * (1.0 + 1e-12)


@pytest.mark.parametrize("count", [300, 10**5, 10**9])
@pytest.mark.parametrize("ratio", [1e-6, 1e-3, 0.3])
def test_equal_laplace_losses_are_near_whatever_their_number(ratio, count):
    guarantee = account(Repeat(event=LaplaceEvent(ratio=ratio), times=count), "pld")
    for delta in (1e-3, 1e-12, 1e-30):
        lower, upper = guarantee.interval(delta=delta)
        assert upper - lower <= max(1e-6 * upper, 1e-9)
