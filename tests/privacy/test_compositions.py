"""Composition and amplification theorems against exact sums, products written out, and small mechanisms enumerated."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws.profile_laws import profile_falls_no_faster_than_the_odds, profile_is_convex_and_decreasing
from mpmath import mp, mpf

from dpkit import ApproxDP, ApproxEvent, Neighbours, PureDP, PureEvent, Repeat, Subsample, UnpricedEventError, account
from dpkit.numerics.rounding import SMALLEST
from dpkit.privacy.compositions import (
    OPTIMAL_COUNT_LIMIT,
    amplified,
    dwork_roth_delta,
    dwork_roth_epsilon,
    kairouz_delta,
    kairouz_epsilon,
    optimal_delta,
    optimal_epsilon,
)
from dpkit.testing.strategies import examples, log_uniform

mp.dps = 60
COMPOSITIONS = [(1.0, 1), (1e-6, 7), (0.15, 40), (5.0, 30), (0.5, 100), (2.0, 1001), (0.01, 2000), (1e-6, 3000), (1e-3, 5000)]
DELTAS = [1e-30, 1e-12, 1e-6, 1e-2, 0.5]


def exact_delta(epsilon: float, count: int, target: float) -> mpf:
    """sum over l of C(k, l) p^(k-l) q^l [1 - e^(t - (k-2l)e)]_+ at 60 digits."""
    e, t = mpf(epsilon), mpf(target)
    p = 1 / (1 + mp.exp(-e))
    odds, mass, total = mp.exp(-e), p**count, mpf(0)
    for flips in range((count + 1) // 2):
        loss = (count - 2 * flips) * e
        if loss <= t:
            break
        total += mass * -mp.expm1(t - loss)
        mass *= odds * (count - flips) / (flips + 1)
    return min(mpf(1), total)


@pytest.mark.parametrize(("epsilon", "count"), COMPOSITIONS)
def test_delta_is_never_below_the_exact_sum_and_hardly_above(epsilon: float, count: int) -> None:
    spread = epsilon * math.sqrt(count)
    for target in (0.0, 0.3 * spread, spread, 3.0 * spread, 9.0 * spread, 0.999 * epsilon * count):
        exact = exact_delta(epsilon, count, target)
        reported = mpf(optimal_delta(epsilon, count, target=target))
        assert reported >= exact
        assert reported <= exact * (1 + mpf(1e-8)) + count * mpf(1e-322)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize(("epsilon", "count"), COMPOSITIONS)
def test_epsilon_inverts_delta_on_the_safe_side(epsilon: float, count: int, delta: float) -> None:
    reported = optimal_epsilon(epsilon, count, delta=delta)
    assert exact_delta(epsilon, count, reported) <= delta
    if reported > 0.0:
        # a little less would not have been enough
        assert exact_delta(epsilon, count, reported * (1 - 1e-7)) >= delta * (1 - 1e-6) or reported >= epsilon * count


def test_many_mechanisms_are_summed_to_the_last_one() -> None:
    reported = optimal_epsilon(1e-3, 50_000, delta=1e-6)
    assert 1e-6 * (1 - 1e-7) <= exact_delta(1e-3, 50_000, reported) <= 1e-6


@pytest.mark.parametrize("count", [1, 2, 3, 6])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_sum_is_the_product_of_randomised_responses(epsilon: float, count: int) -> None:
    p, q = 1 / (1 + mp.exp(-mpf(epsilon))), 1 / (1 + mp.exp(mpf(epsilon)))
    for target in (0.0, 0.5 * epsilon, epsilon, 1.7 * epsilon, (count - 0.5) * epsilon):
        brute = mpf(0)
        for answers in itertools.product((True, False), repeat=count):
            here = mp.fprod(p if answer else q for answer in answers)
            there = mp.fprod(q if answer else p for answer in answers)
            brute += max(mpf(0), here - mp.exp(mpf(target)) * there)
        reported = mpf(optimal_delta(epsilon, count, target=target))
        assert brute <= reported + mpf(10) ** -50
        assert reported <= brute * (1 + mpf(1e-12)) + mpf(1e-300) + mpf(1e-14) * reported


@pytest.mark.parametrize(("epsilon", "count"), [(0.1, 10_000), (1e-3, 1_000_000), (1e-12, 1_000_000), (0.1, 10)])
def test_without_delta_there_is_only_basic_composition(epsilon: float, count: int) -> None:
    """The masses of the largest losses underflow; a pure claim must not."""
    assert Fraction(optimal_epsilon(epsilon, count, delta=0.0)) >= Fraction(epsilon) * count
    assert optimal_delta(epsilon, count, target=0.99 * epsilon * count) >= SMALLEST
    guarantee = account(Repeat(event=PureEvent(epsilon=epsilon), times=count), "advanced")
    assert Fraction(guarantee.epsilon(delta=0.0)) >= Fraction(epsilon) * count
    assert not guarantee.within(PureDP(epsilon=0.99 * epsilon * count))
    assert optimal_delta(epsilon, count, target=math.nextafter(epsilon * count * (1 + 1e-15), math.inf)) == 0.0


@pytest.mark.parametrize("delta", [1e-300, 1e-6, 0.999])
def test_a_million_mechanisms_are_priced_in_no_time(delta: float) -> None:
    first = optimal_epsilon(1e-3, OPTIMAL_COUNT_LIMIT, delta=delta)
    assert 0.0 <= first <= 1e-3 * OPTIMAL_COUNT_LIMIT
    assert optimal_delta(1e-3, OPTIMAL_COUNT_LIMIT, target=first) <= delta * (1 + 1e-9)


@pytest.mark.parametrize("delta", [1e-300, *DELTAS, 0.9])
@pytest.mark.parametrize(("epsilon", "count"), COMPOSITIONS)
def test_no_other_theorem_is_below_the_optimum(epsilon: float, count: int, delta: float) -> None:
    least = optimal_epsilon(epsilon, count, delta=delta) * (1 - 1e-9)
    assert kairouz_epsilon([(epsilon, count)], delta=delta) >= min(least, epsilon * count)
    assert dwork_roth_epsilon(epsilon, count, delta=delta) >= least


@pytest.mark.parametrize(("epsilon", "count"), COMPOSITIONS)
def test_the_tails_solved_for_delta_are_not_below_the_optimum_either(epsilon: float, count: int) -> None:
    for target in (0.5 * epsilon * math.sqrt(count), 2.0 * epsilon * math.sqrt(count), 0.9 * epsilon * count):
        exact = exact_delta(epsilon, count, target)
        assert kairouz_delta([(epsilon, count)], epsilon=target) >= exact
        assert dwork_roth_delta(epsilon, count, target=target) >= exact


@pytest.mark.parametrize("epsilon", [1e-170, 1e-300, SMALLEST])
def test_losses_whose_squares_underflow_are_priced(epsilon: float) -> None:
    guarantee = account(Repeat(event=PureEvent(epsilon=epsilon), times=1000), "advanced")
    assert guarantee.epsilon(delta=SMALLEST) > 0.0
    assert guarantee.delta(epsilon=1.0) == 0.0
    assert kairouz_delta([(epsilon, 1000)], epsilon=1.0) <= 1e-300
    assert dwork_roth_delta(epsilon, 1000, target=1.0) <= 1e-300


def test_no_mechanism_at_all_costs_nothing_under_every_theorem() -> None:
    assert kairouz_delta([], epsilon=0.0) == 0.0
    assert kairouz_epsilon([], delta=0.5) <= SMALLEST


Law = dict[int, mpf]


def response(parity: int, epsilon: float, leak: float) -> Law:
    """(epsilon, leak)-DP, at the boundary: with probability `leak` the answer gives the bit away."""
    p = 1 / (1 + mp.exp(-mpf(epsilon)))
    truth, lie = (1 - mpf(leak)) * p, (1 - mpf(leak)) * (1 - p)
    return {parity: truth, 1 - parity: lie, 2 + parity: mpf(leak)}


def on_a_sample(records: tuple[int, ...], rate: float, epsilon: float, leak: float) -> Law:
    """The law of the response to the parity of a Poisson sample, summed over every sample."""
    law: Law = {}
    for kept in itertools.product((False, True), repeat=len(records)):
        weight = mp.fprod(mpf(rate) if keep else 1 - mpf(rate) for keep in kept)
        parity = sum(itertools.compress(records, kept)) % 2
        for answer, mass in response(parity, epsilon, leak).items():
            law[answer] = law.get(answer, mpf(0)) + weight * mass
    return law


def profile(one: Law, other: Law, epsilon: float) -> mpf:
    return mp.fsum(max(mpf(0), mass - mp.exp(mpf(epsilon)) * other.get(answer, mpf(0))) for answer, mass in one.items())


@pytest.mark.parametrize("rate", [1e-6, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 6.0])
@pytest.mark.parametrize("leak", [0.0, 1e-3])
def test_no_pair_of_neighbours_does_worse_than_the_theorem(rate: float, epsilon: float, leak: float) -> None:
    inner = PureDP(epsilon=epsilon) if leak == 0.0 else ApproxDP(epsilon=epsilon, delta=leak)
    bound = amplified(inner, rate=rate)
    allowed = mpf(bound.delta) if isinstance(bound, ApproxDP) else mpf(0)
    for others in ((), (0,), (1,), (1, 0), (1, 1)):
        without, with_one = (on_a_sample(records, rate, epsilon, leak) for records in (others, (*others, 1)))
        for one, other in ((without, with_one), (with_one, without)):
            assert profile(one, other, bound.epsilon) <= allowed * (1 + mpf(10) ** -40) + mpf(10) ** -45


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 6.0])
@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_some_pair_does_as_badly(rate: float, epsilon: float) -> None:
    bound = amplified(PureDP(epsilon=epsilon), rate=rate).epsilon
    without, with_one = on_a_sample((), rate, epsilon, 0.0), on_a_sample((1,), rate, epsilon, 0.0)
    assert profile(with_one, without, bound * (1 - 1e-9)) > 0


@pytest.mark.parametrize("epsilon", [1e-300, 1e-12, 0.1, 5.0, 699.9, 700.0, 719.0, 745.0, 1e4])
@pytest.mark.parametrize("rate", [1e-300, 1e-297, 1e-30, 1e-6, 0.3, 1 - 2.0**-53, 1.0])
def test_the_formula_is_rounded_up(epsilon: float, rate: float) -> None:
    with mp.workdps(5000 if epsilon >= 1e3 else 700):
        exact = mp.log1p(mpf(rate) * mp.expm1(mpf(epsilon)))
    reported = mpf(amplified(PureDP(epsilon=epsilon), rate=rate).epsilon)
    assert exact <= reported * (1 + mpf(10) ** -40)
    # the claim for epsilon itself holds too; above 700 the difference of two large numbers is rounded
    assert reported <= min(mpf(epsilon), exact * (1 + mpf(1e-14)) + (mpf(1e-14) * epsilon if epsilon >= 700 else mpf(1e-320)))


def test_a_grid_of_large_losses_is_rounded_up() -> None:
    for epsilon in np.linspace(700.0, 745.0, 46):
        for rate in np.geomspace(1e-300, 1e-290, 5):
            exact = mp.log1p(mpf(float(rate)) * mp.expm1(mpf(float(epsilon))))
            assert mpf(amplified(PureDP(epsilon=float(epsilon)), rate=float(rate)).epsilon) >= exact


def test_one_sample_of_several_releases_is_priced_from_their_sum() -> None:
    inner = Repeat(event=ApproxEvent(epsilon=0.5, delta=1e-4), times=3)
    loss = amplified(ApproxDP(epsilon=1.5, delta=3e-4), rate=0.25)
    guarantee = account(Subsample(rate=0.25, event=inner), "pure")
    assert isinstance(loss, ApproxDP)
    assert guarantee.epsilon(delta=loss.delta * (1 + 1e-12)) == pytest.approx(loss.epsilon, rel=1e-14)


def test_a_sample_of_a_sample_is_one_sample() -> None:
    nested = Subsample(rate=0.5, event=Subsample(rate=0.2, event=PureEvent(epsilon=1.0)))
    flat = Subsample(rate=0.1, event=PureEvent(epsilon=1.0))
    assert account(nested, "pure").epsilon(delta=0.0) == pytest.approx(account(flat, "pure").epsilon(delta=0.0), rel=1e-14)


def test_replacing_a_record_is_refused() -> None:
    with pytest.raises(UnpricedEventError):
        account(Subsample(rate=0.1, event=PureEvent(epsilon=1.0)), "pure", neighbours=Neighbours.REPLACE_ONE)


SETTINGS = examples(80)


@SETTINGS
@given(epsilon=log_uniform(1e-2, 2.0), count=st.integers(1, 60))
def test_optimal_composition_profile_is_convex_and_decreasing(epsilon, count):
    def profile(target):
        return optimal_delta(epsilon, count, target=target)

    profile_is_convex_and_decreasing(profile, largest=min(epsilon * count, 20.0), tolerance=1e-9)
    profile_falls_no_faster_than_the_odds(profile, largest=min(epsilon * count, 20.0))
