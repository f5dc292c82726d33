"""Every route keeps to its domain: tiny losses, huge counts, and lower ends that are claimed for attained pairs alone."""

import math

import mpmath
import pytest

from dpkit import (
    Compose,
    DpkitError,
    GaussianEvent,
    LaplaceEvent,
    Neighbours,
    NoIntervalError,
    Parallel,
    PureEvent,
    Repeat,
    Subsample,
    account,
)
from dpkit.mechanisms.discrete import DiscreteLaplaceEvent
from dpkit.mechanisms.exponential import BoundedRangeEvent
from dpkit.mechanisms.randomized_response import RandomizedResponseEvent
from dpkit.privacy.gaussian_dp import gaussian_delta, gaussian_epsilon

KINDS = {"laplace": lambda x: LaplaceEvent(ratio=x), "pure": lambda x: PureEvent(epsilon=x)}


def limit_delta(ratio, count, epsilon):
    """k releases of a tiny loss x in the limit: one Gaussian with mu^2 = k x^2, but for terms of the size of x."""
    return gaussian_delta(ratio * math.sqrt(count), epsilon=epsilon)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spent", [1e-4, 0.3, 3.0])
@pytest.mark.parametrize("count", [10**10, 10**14, 10**18])
def test_tiny_losses_and_huge_counts_cost_what_their_limit_costs(kind, spent, count):
    ratio = spent / math.sqrt(count)
    guarantee = account(Repeat(event=KINDS[kind](ratio), times=count), "pld")
    for delta in (1e-3, 1e-6, 1e-12):
        upper = guarantee.epsilon(delta=delta)
        limit = gaussian_epsilon(spent, delta=delta)
        near = 10.0 * ratio * max(1.0, spent)  # the loss has atoms, and its mean is off by a third of x, relatively
        assert limit * (1.0 - near) - 1e-9 * spent <= upper <= limit * (1.0 + near + 5e-4) + 1e-6 * spent, (upper, limit)
        lower, end = guarantee.interval(delta=delta)
        assert lower <= end == upper
        assert lower >= limit * (1.0 - near) - 1e-4 * spent
        assert guarantee.delta(epsilon=limit) >= limit_delta(ratio, count, limit) * (1.0 - 1e3 * near - 1e-9)


@pytest.mark.parametrize(("ratio", "count", "truth"), [(1e-9, 10**18, 4.8866), (1e-9, 10**17, 1.3676), (3e-9, 10**17, 4.6027)])
@pytest.mark.parametrize("accountant", ["pld", "best"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_an_attack_found_has_its_true_price(kind, accountant, ratio, count, truth):
    epsilon = account(Repeat(event=KINDS[kind](ratio), times=count), accountant).epsilon(delta=1e-6)
    assert epsilon == pytest.approx(truth, abs=6e-5)


def exact_binomial_delta(epsilon, count, at):
    """KOV15, Theorem 3.3, in 60 digits: incomplete beta functions, as in a textbook on the binomial law."""
    context = mpmath.mp.clone()
    context.dps = 40
    e, total = context.mpf(epsilon), context.mpf(at)
    up = 1 / (1 + context.exp(-e))
    first = int(context.floor((count + total / e) / 2)) + 1
    mass = context.binomial(count, first) * up**first * (1 - up) ** (count - first)
    found = context.mpf(0)
    for i in range(first, count + 1):
        term = mass * -context.expm1(total - (2 * i - count) * e)
        found += term
        if i > first + 10 and term < found * context.mpf(10) ** -40:
            break
        mass *= context.mpf(count - i) / (i + 1) * up / (1 - up)
    return found


@pytest.mark.parametrize(("epsilon", "count"), [(1e-3, 1_000_001), pytest.param(2e-5, 3_000_000, marks=pytest.mark.slow)])
def test_more_pure_losses_than_a_sum_can_hold_agree_with_the_binomial(epsilon, count):
    guarantee = account(Repeat(event=PureEvent(epsilon=epsilon), times=count), "pld")
    lower, upper = guarantee.interval(delta=1e-6)
    assert exact_binomial_delta(epsilon, count, upper) <= 1e-6
    assert exact_binomial_delta(epsilon, count, lower * (1.0 - 1e-12)) >= 1e-6 * (1 - 1e-9)
    assert upper - lower <= 1e-4 * upper


def test_no_lower_end_is_claimed_for_a_pair_that_only_dominates():
    for event, relation in (
        (Repeat(event=BoundedRangeEvent(range=1.0), times=20), Neighbours.ADD_REMOVE),
        (Parallel(events=(LaplaceEvent(ratio=1.0), GaussianEvent(ratio=1.0))), Neighbours.ADD_REMOVE),
        (Parallel(events=(LaplaceEvent(ratio=1.0), LaplaceEvent(ratio=2.0))), Neighbours.REPLACE_ONE),
        (Subsample(rate=0.1, event=BoundedRangeEvent(range=1.0)), Neighbours.ADD_REMOVE),
        (Subsample(rate=0.1, event=GaussianEvent(ratio=200.0)), Neighbours.ADD_REMOVE),
        (RandomizedResponseEvent(epsilon=1.0, categories=3), Neighbours.REPLACE_ONE),
        (DiscreteLaplaceEvent(ratio=1.0), Neighbours.ADD_REMOVE),
        (Compose(events=(LaplaceEvent(ratio=1.0), BoundedRangeEvent(range=1.0))), Neighbours.ADD_REMOVE),
    ):
        for accountant in ("pld", "best"):
            with pytest.raises(NoIntervalError):
                account(event, accountant, relation).interval(delta=1e-3)


@pytest.mark.parametrize(
    ("event", "truth"),
    [
        (LaplaceEvent(ratio=100.0), 100.0 + 2.0 * math.log1p(-0.3)),
        (LaplaceEvent(ratio=1e6), 1e6 + 2.0 * math.log1p(-0.3)),
        (RandomizedResponseEvent(epsilon=2.0, categories=2), 2.0 + math.log1p(-0.3 * (1.0 + math.exp(-2.0)))),
        (Parallel(events=(LaplaceEvent(ratio=3.0), LaplaceEvent(ratio=2.0))), 3.0 + 2.0 * math.log1p(-0.3)),
        (GaussianEvent(ratio=30.0), gaussian_epsilon(30.0, delta=0.3)),
    ],
)
def test_attained_pairs_keep_their_lower_end(event, truth):
    for accountant in ("pld", "best"):
        lower, upper = account(event, accountant).interval(delta=0.3)
        assert lower <= truth * (1.0 + 1e-15) <= upper * (1.0 + 1e-15)
        assert upper - lower <= 1e-8 * truth


@pytest.mark.parametrize("ratio", [1e-6, 1.0, 76.0, 1e3, 1e9])
def test_of_two_proofs_the_tighter_is_taken_however_large_the_loss(ratio):
    assert account(LaplaceEvent(ratio=ratio), "pld").parts[0].rule == "laplace-pair"


def test_a_reading_ends_where_a_moment_is_no_number():
    event = Compose(events=(LaplaceEvent(ratio=1.9), GaussianEvent(ratio=1e160)))
    for accountant in ("pld", "best"):
        guarantee = account(event, accountant)
        assert guarantee.epsilon(delta=1e-6) == math.inf
        assert guarantee.delta(epsilon=1.0) == 1.0


@pytest.mark.parametrize(
    "event",
    [
        Repeat(event=PureEvent(epsilon=1.7e308), times=43_687),
        Repeat(event=GaussianEvent(ratio=1.7e308), times=10**9),
        Parallel(events=(LaplaceEvent(ratio=1.7e308), GaussianEvent(ratio=2.5e-31))),
        Compose(events=(LaplaceEvent(ratio=9e-158), RandomizedResponseEvent(epsilon=17.5, categories=2))),
        Repeat(event=PureEvent(epsilon=408.2), times=6_733_087),
    ],
    ids=repr,
)
def test_whatever_a_field_holds_a_reading_is_a_number_or_infinite(event):
    for accountant in ("advanced", "rdp", "pld", "best"):
        try:
            guarantee = account(event, accountant)
        except DpkitError:
            continue
        assert guarantee.epsilon(delta=1e-9) >= 0.0
        assert 0.0 <= guarantee.delta(epsilon=1.0) <= 1.0


@pytest.mark.parametrize("accountant", ["pld", "best"])
@pytest.mark.parametrize("epsilon", [16.2, 300.0, 1e6, 1e308])
def test_a_delta_that_no_float_holds_is_not_zero(accountant, epsilon):
    pure = Repeat(event=PureEvent(epsilon=0.4), times=2)
    for noise in (GaussianEvent(ratio=0.13), Subsample(rate=0.9, event=GaussianEvent(ratio=0.13))):
        assert 0.0 < account((pure, noise), accountant).delta(epsilon=epsilon) <= 1e-200


@pytest.mark.parametrize("delta", [5e-324, 1.2856e-320, 4e-315, 2e-308])
def test_a_delta_below_the_normal_floats_is_bracketed(delta):
    """Three pure losses and a Gaussian: their law is a mixture of four Gaussian profiles."""
    context = mpmath.mp.clone()
    context.dps = 60
    one, mu = context.mpf(1.065795313232051), context.mpf(0.43961564514667023)
    up, down = 1 / (1 + context.exp(-one)), 1 / (1 + context.exp(one))

    def exact(epsilon):
        places = [
            (context.binomial(3, i) * up ** (3 - i) * down**i, context.mpf(epsilon) - (3 - 2 * i) * one) for i in range(4)
        ]
        return context.fsum(
            mass * (context.ncdf(mu / 2 - at / mu) - context.exp(at) * context.ncdf(-mu / 2 - at / mu)) for mass, at in places
        )

    event = (Repeat(event=PureEvent(epsilon=float(one)), times=3), GaussianEvent(ratio=float(mu)))
    lower, upper = account(event, "pld").interval(delta=delta)
    assert exact(upper) <= delta <= exact(lower)
    assert upper - lower <= 1e-2 * upper
