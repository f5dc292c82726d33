"""`pld` against arbitrary precision: the exact value lies in the interval, and the interval is narrow."""

import dataclasses
import functools
import math

import mpmath as mp
import numpy as np
import pytest

import dpkit
from dpkit import (
    PLD,
    ApproxEvent,
    Citation,
    Compose,
    Event,
    GaussianEvent,
    LaplaceEvent,
    LossRule,
    Neighbours,
    PureEvent,
    Repeat,
    Subsample,
    account,
)

DELTAS = (1e-3, 1e-6, 1e-12, 1e-20, 1e-30)
WIDTH = 1e-6
"""How far the reported epsilon may lie above the exact one."""

_rng = np.random.default_rng(0)
MIXTURE = Compose(
    events=(
        *(LaplaceEvent(ratio=float(1.0 / b)) for b in _rng.uniform(5.0, 50.0, 500)),
        *(GaussianEvent(ratio=float(1.0 / s)) for s in _rng.uniform(10.0, 100.0, 500)),
    )
)
PUBLIC = {
    "laplace": (Repeat(event=LaplaceEvent(ratio=0.15), times=40), 4.2319093540),
    "pure": (Repeat(event=PureEvent(epsilon=0.15), times=40), 4.3629411884),
    "gaussian": (Repeat(event=GaussianEvent(ratio=1.0 / 20.0), times=1000), 8.3062250500),
    "subsampled": (Repeat(event=Subsample(rate=0.01, event=GaussianEvent(ratio=1.0)), times=10_000), 6.9073844950),
    "mixture": (MIXTURE, 7.6532176838),
}
ROUNDED = 6e-11
"""The public table is rounded to the nearest at ten digits."""


@pytest.fixture(autouse=True)
def _precision():
    with mp.workdps(40):
        yield


# Profiles in arbitrary precision. A release composed with a profile is its expectation: E[profile(epsilon - L)].


def gaussian(mu):
    mu = mp.mpf(mu)
    return lambda at: mp.ncdf(-at / mu + mu / 2) - mp.exp(at) * mp.ncdf(-at / mu - mu / 2)


def nothing(at):
    return max(mp.mpf(0), 1 - mp.exp(at))


def then_pure(epsilon, rest):
    epsilon = mp.mpf(epsilon)
    up = 1 / (1 + mp.exp(-epsilon))
    return lambda at: up * rest(at - epsilon) + (1 - up) * rest(at + epsilon)


def one_laplace(ratio):
    ratio = mp.mpf(ratio)
    return lambda at: nothing(at) if at < -ratio else max(mp.mpf(0), 1 - mp.exp((at - ratio) / 2))


def then_laplace(ratio, rest, kinks=()):
    """Atoms of 1/2 at the ratio and e^-ratio/2 at its negative, and a density e^((loss-ratio)/2)/4 between."""
    ratio = mp.mpf(ratio)

    def profile(at):
        inner = sorted({-ratio, ratio, *(at - kink for kink in kinks if -ratio < at - kink < ratio)})
        between = mp.quad(lambda loss: mp.exp((loss - ratio) / 2) / 4 * rest(at - loss), inner)
        return rest(at - ratio) / 2 + mp.exp(-ratio) / 2 * rest(at + ratio) + between

    return profile


def binomial(epsilon, times):
    epsilon = mp.mpf(epsilon)
    up, down = 1 / (1 + mp.exp(-epsilon)), 1 / (1 + mp.exp(epsilon))
    return lambda at: mp.fsum(
        mp.binomial(times, n) * up ** (times - n) * down**n * nothing(at - (times - 2 * n) * epsilon) for n in range(times + 1)
    )


def subsampled(rate, ratio, *, leaving, times):
    """P = (1-q) N(0,1) + q N(m,1) against N(0,1), or the reverse, once by distribution functions, again by quadrature."""
    rate, ratio = mp.mpf(rate), mp.mpf(ratio)

    def loss(w):
        return mp.log(1 - rate + rate * mp.exp(ratio * w - ratio**2 / 2)) * (-1 if leaving else 1)

    def once(at):
        inside = (mp.exp(-at if leaving else at) - 1 + rate) / rate
        if inside <= 0:
            return mp.mpf(0) if leaving else 1 - mp.exp(at)
        edge = mp.log(inside) / ratio + ratio / 2
        if leaving:  # the loss is above epsilon where w is below the edge
            return mp.ncdf(edge) - mp.exp(at) * ((1 - rate) * mp.ncdf(edge) + rate * mp.ncdf(edge - ratio))
        mixed = (1 - rate) * mp.ncdf(-edge) + rate * mp.ncdf(ratio - edge)
        return mixed - mp.exp(at) * mp.ncdf(-edge)

    def density(w):
        return mp.npdf(w) if leaving else (1 - rate) * mp.npdf(w) + rate * mp.npdf(w - ratio)

    def twice(at):
        return mp.quad(lambda w: density(w) * once(at - loss(w)), [-15, -5, 0, 4, 9, 17])

    return once if times == 1 else twice


def larger(one, other):
    return lambda at: max(one(at), other(at))


def both_directions(rate, ratio, times):
    return larger(*(subsampled(rate, ratio, leaving=leaving, times=times) for leaving in (False, True)))


CASES = {
    "one Gaussian": (GaussianEvent(ratio=0.7), gaussian(0.7)),
    "sixty-four Gaussians": (Repeat(event=GaussianEvent(ratio=0.125), times=64), gaussian(1)),
    "forty pure": (Repeat(event=PureEvent(epsilon=0.15), times=40), binomial(0.15, 40)),
    "two different pure": (
        Compose(events=(PureEvent(epsilon=0.75), PureEvent(epsilon=0.5))),
        then_pure(0.75, then_pure(0.5, nothing)),
    ),
    "one Laplace": (LaplaceEvent(ratio=1.5), one_laplace(1.5)),
    "two Laplace": (Repeat(event=LaplaceEvent(ratio=0.75), times=2), then_laplace(0.75, one_laplace(0.75), (-0.75, 0.75))),
    "Laplace and Gaussian": (
        Compose(events=(LaplaceEvent(ratio=0.5), GaussianEvent(ratio=0.25))),
        then_laplace(0.5, gaussian(0.25)),
    ),
    "Laplace, pure and Gaussian": (
        Compose(events=(LaplaceEvent(ratio=0.5), PureEvent(epsilon=0.375), GaussianEvent(ratio=0.5))),
        then_pure(0.375, then_laplace(0.5, gaussian(0.5))),
    ),
    "one subsampled": (Subsample(rate=0.125, event=GaussianEvent(ratio=1.0)), both_directions(0.125, 1, 1)),
    "two subsampled": (
        Repeat(event=Subsample(rate=0.125, event=GaussianEvent(ratio=1.0)), times=2),
        both_directions(0.125, 1, 2),
    ),
}


SLOW = ("two subsampled",)
GRID = [(name, delta) for name in CASES for delta in (DELTAS[::4] if name in SLOW else DELTAS)]


@functools.cache
def public_interval(name):
    return account(PUBLIC[name][0], "pld").interval(delta=1e-6)


@pytest.mark.parametrize("name", PUBLIC)
def test_public_workloads_are_met_to_a_millionth_and_never_from_below(name):
    lower, upper = public_interval(name)
    exact = PUBLIC[name][1]
    assert exact - ROUNDED <= upper <= exact + WIDTH
    assert lower <= exact + ROUNDED
    assert upper == account(PUBLIC[name][0], "pld").epsilon(delta=1e-6)


@pytest.mark.parametrize(("name", "delta"), GRID)
def test_the_exact_profile_crosses_delta_inside_the_interval(name, delta):
    event, profile = CASES[name]
    lower, upper = account(event, "pld").interval(delta=delta)
    assert 0.0 <= lower <= upper
    # the profile falls, so these three say: lower <= exact <= upper <= exact + WIDTH
    assert profile(mp.mpf(upper)) <= mp.mpf(delta) * (1 + mp.mpf(10) ** -20)
    assert lower == 0.0 or profile(mp.mpf(lower)) >= mp.mpf(delta) * (1 - mp.mpf(10) ** -20)
    assert upper <= WIDTH or profile(mp.mpf(upper) - mp.mpf(WIDTH)) >= delta


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 1.2])
@pytest.mark.parametrize("name", [name for name in CASES if name not in SLOW])
def test_delta_is_read_from_above(name, epsilon):
    event, profile = CASES[name]
    reported, exact = account(event, "pld").delta(epsilon=epsilon), profile(mp.mpf(epsilon))
    assert reported >= exact * (1 - mp.mpf(10) ** -20)
    assert reported <= max(exact, profile(mp.mpf(epsilon) - mp.mpf(WIDTH))) * (1 + mp.mpf(10) ** -9) + mp.mpf(10) ** -280


def test_a_slack_is_added_to_the_profile_of_the_rest():
    event = Compose(events=(ApproxEvent(epsilon=0.375, delta=1e-7), LaplaceEvent(ratio=0.5), GaussianEvent(ratio=0.5)))
    rest, slack = CASES["Laplace, pure and Gaussian"][1], mp.mpf(1e-7)
    guarantee = account(event, "pld")
    for delta in (1e-3, 1e-6, 2e-7):
        lower, upper = guarantee.interval(delta=delta)
        assert slack + (1 - slack) * rest(mp.mpf(upper)) <= mp.mpf(delta) * (1 + mp.mpf(10) ** -20)
        assert slack + (1 - slack) * rest(mp.mpf(lower)) >= mp.mpf(delta) * (1 - mp.mpf(10) ** -20)
    assert guarantee.epsilon(delta=1e-8) == np.inf
    assert guarantee.delta(epsilon=50.0) >= 1e-7


def test_a_slack_that_is_nearly_all_of_delta_leaves_the_lower_end_below():
    slack, delta = 1e-6, 1e-6 * (1.0 + 1e-12)
    event = Compose(events=(ApproxEvent(epsilon=0.5, delta=slack), GaussianEvent(ratio=0.5)))
    profile = then_pure(0.5, gaussian(0.5))
    lower, upper = account(event, "pld").interval(delta=delta)
    left = (mp.mpf(delta) - mp.mpf(slack)) / (1 - mp.mpf(slack))
    assert profile(mp.mpf(upper)) <= left
    assert profile(mp.mpf(lower)) >= left * (1 - mp.mpf(10) ** -15)


def test_a_thousand_different_mechanisms_agree_with_their_moments():
    # against the contour integral itself, in arbitrary precision: 500 Laplace and 500 Gaussian
    _, upper = public_interval("mixture")
    ratios = [mp.mpf(event.ratio) for event in MIXTURE.events[:500]]
    square = mp.fsum(mp.mpf(event.ratio) ** 2 for event in MIXTURE.events[500:])
    period, tilt = mp.mpf(30), mp.mpf(3)

    @functools.cache
    def moment(n):
        z = tilt + 2j * mp.pi * n / period
        log_moment = z * (z + 1) * square / 2
        for x in ratios:
            log_moment += mp.log(((1 + z) * mp.exp(z * x) + z * mp.exp(-(1 + z) * x)) / (1 + 2 * z))
        return z, log_moment

    def term(n, at):
        z, log_moment = moment(n)
        return mp.exp(log_moment - z * at) / (z * (z + 1))

    with mp.workdps(20):
        for at, below in ((upper, True), (upper - WIDTH, False)):
            delta = (term(0, at) + 2 * mp.fsum(term(n, at).real for n in range(1, 32))).real / period
            assert (delta <= 1e-6 * (1 + 1e-12)) == below


@pytest.mark.parametrize("times", [1, 2, 3])
def test_the_direction_in_which_a_record_leaves_is_read_too(times):
    """P's losses are at most 0.21, and Q's reach 3: who reads one direction alone answers a tenth of the truth."""
    share = 0.01 * math.exp(3.0)
    table = PLD(losses=(-3.0, math.log(0.99 / (1.0 - share))), masses=(0.01, 0.99))

    @dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
    class Lopsided(Event):
        """A release with that table."""

    cited = LossRule(
        name="lopsided",
        event=Lopsided,
        loss=PLD,
        neighbours=(Neighbours.ADD_REMOVE,),
        because=Citation(key="dpkit", locator="a test"),
        bound=lambda event: table,
    )
    registry = dpkit.default_registry().extended(rules=[cited])
    guarantee = account(Repeat(event=Lopsided(), times=times), "pld", registry=registry)
    # P(all of Q's losses are 3) = share^times, so epsilon is next to 3 times
    assert guarantee.epsilon(delta=1e-6) >= 3.0 * times + math.log1p(-1e-6 / share**times) - 1e-9
