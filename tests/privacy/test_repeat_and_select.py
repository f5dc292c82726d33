"""The best of a random number of runs: every order of small laws by enumeration never costs more than is claimed."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpkit
from dpkit import GaussianEvent, Neighbours, PureEvent, RepeatAndSelect
from dpkit.privacy.losses import RDP
from dpkit.privacy.repeat_and_select import SelectedCurve, select_pair, select_pure, stopping_rate
from dpkit.testing.strategies import examples

SHAPES = (-0.5, 0.0, 0.5, 1.0, 3.0, math.inf)


def chances(mean, shape, most=4000):
    """P(K = k), k from 0 on, by the definition."""
    if math.isinf(shape):
        logs = [k * math.log(mean) - mean - math.lgamma(k + 1) for k in range(most)]
        return np.exp(logs)
    gamma = stopping_rate(mean, shape)
    logs = [-math.inf]
    for k in range(1, most):
        if shape == 0.0:
            logs.append(k * math.log1p(-gamma) - math.log(k) - math.log(-math.log(gamma)))
        else:
            rising = sum(math.log(abs(i + shape) / (i + 1)) for i in range(k)) if k < 3 else logs[-1]
            if k < 3:
                logs.append(k * math.log1p(-gamma) - math.log(abs(gamma**-shape - 1)) + rising)
            else:
                logs.append(logs[-1] + math.log((k - 1 + shape) / k) + math.log1p(-gamma))
    return np.exp(logs)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mean", [1.3, 4.0])
def test_the_law_of_the_number_has_the_mean_that_was_asked_for(mean, shape):
    law = chances(mean, shape)
    assert math.isclose(law.sum(), 1.0, rel_tol=1e-9)
    assert math.isclose(law @ np.arange(law.size), mean, rel_tol=1e-6)


def best_of(base, law):
    """The law of the best outcome, places being ranks, and (at the end) of none: f(P(<= y)) - f(P(< y)), f(x) = E x^K."""
    below = np.clip(np.concatenate(([0.0], np.cumsum(base))), 0.0, 1.0)
    below[-1] = 1.0
    powers = np.array([float(np.sum(law[1:] * x ** np.arange(1, law.size))) for x in below])
    return np.append(np.diff(powers), law[0])


def profile_of(one, other, odds):
    """The larger of both directions."""
    return max(np.sum(np.maximum(one - odds * other, 0.0)), np.sum(np.maximum(other - odds * one, 0.0)))


def divergence(one, other, order):
    logs = order * np.log(one) + (1.0 - order) * np.log(other)
    return float(np.logaddexp.reduce(logs)) / (order - 1.0)


LAWS = st.lists(st.floats(0.02, 1.0), min_size=3, max_size=4).map(lambda masses: np.array(masses) / sum(masses))


@examples(40)
@given(one=LAWS, other=LAWS, mean=st.sampled_from([1.3, 4.0, 12.0]), shape=st.sampled_from(SHAPES), odds=st.floats(1.0, 40.0))
def test_no_order_of_the_outcomes_loses_more_than_is_claimed(one, other, mean, shape, odds):
    size = min(one.size, other.size)
    one, other = (law[:size] / law[:size].sum() for law in (one, other))
    event, law = RepeatAndSelect(event=GaussianEvent(ratio=1.0), mean=mean, shape=shape), chances(mean, shape, 400)
    top = float(np.max(np.abs(np.log(one / other))))
    epsilons = tuple(np.linspace(0.0, top, 30).tolist()) if top else (0.0,)
    deltas = tuple(profile_of(one, other, math.exp(epsilon)) for epsilon in epsilons)
    pure = select_pure(event, top).epsilon
    pair = select_pair(event, epsilons, deltas)
    orders = 1.0 + np.geomspace(0.05, 100.0, 12)
    table = RDP(
        orders=tuple(orders.tolist()),
        epsilons=tuple(max(0.0, divergence(one, other, a), divergence(other, one, a)) for a in orders),
    )
    curve = SelectedCurve(curve=table, mean=mean, shape=shape, epsilons=epsilons, deltas=deltas)
    bounds = curve.at(orders)
    claimed = 1.0
    if pair is not None:
        value, error = pair.forward().profile(np.array([math.log(odds)]))
        claimed = pair.infinity + (1.0 - pair.infinity) * float(value[0] + error[0])
    for order in itertools.permutations(range(size)):
        first, second = best_of(one[list(order)], law), best_of(other[list(order)], law)
        assert profile_of(first, second, odds) <= claimed + 1e-8
        there = first > 1e-12
        assert np.max(np.abs(np.log(first[there] / second[there]))) <= pure + 1e-5
        for place in (2, 6):
            assert divergence(first[there], second[there], orders[place]) <= bounds[place] + 1e-6


@pytest.mark.parametrize("shape", SHAPES)
def test_one_run_costs_what_the_event_costs_and_more_runs_more(shape):
    def priced(mean):
        return dpkit.account(RepeatAndSelect(event=PureEvent(epsilon=0.5), mean=mean, shape=shape), "pure").epsilon(delta=0.0)

    found = [priced(mean) for mean in (1.0, 1.5, 4.0, 50.0, 1e5)]
    assert found == sorted(found)
    if math.isfinite(shape):
        assert found[0] == 0.5
        assert found[-1] <= (2.0 + shape) * 0.5 * (1.0 + 1e-9)  # LT19 and PS22, Corollary 3


@pytest.mark.parametrize("relation", list(Neighbours))
def test_every_accountant_that_takes_it_reads_an_upper_bound_of_a_tuned_gaussian(relation):
    event = RepeatAndSelect(event=GaussianEvent(ratio=0.5), mean=5.0, shape=1.0)
    # the exact answer for scores that rank outputs from the largest down: f' of normal tails, by quadrature
    places = np.linspace(-9.0, 9.5, 40_001)
    gamma = stopping_rate(5.0, 1.0)
    from scipy.special import ndtr

    def density(mean):
        worse = 1.0 - ndtr(places - mean)
        return np.exp(-0.5 * (places - mean) ** 2) / math.sqrt(2 * math.pi) * gamma / (1.0 - (1.0 - gamma) * worse) ** 2

    one, other = density(0.5), density(0.0)
    step = places[1] - places[0]
    assert math.isclose(one.sum() * step, 1.0, rel_tol=1e-6)
    for name in ("rdp", "pld", "best"):
        guarantee = dpkit.account(event, name, relation)
        for epsilon in (0.0, 0.5, 1.0, 2.0):
            assert guarantee.delta(epsilon=epsilon) >= profile_of(one * step, other * step, math.exp(epsilon)) - 1e-9


@pytest.mark.parametrize("wrong", [{"mean": 0.5}, {"mean": math.nan}, {"mean": 1e7}, {"shape": -1.0}, {"shape": math.nan}])
def test_what_is_no_law_of_repetitions_is_refused(wrong):
    with pytest.raises(dpkit.InvalidValueError):
        RepeatAndSelect(**{"event": PureEvent(epsilon=1.0), "mean": 2.0, **wrong})


def test_what_one_run_gives_away_is_given_away_as_often_as_it_is_run():
    """(epsilon, delta): outcomes of probability delta that only one neighbour has, ranked highest."""
    gamma, delta = stopping_rate(5.0, 1.0), 1e-4
    seen = 1.0 - gamma * (1.0 - delta) / (1.0 - (1.0 - gamma) * (1.0 - delta))
    found = dpkit.account(RepeatAndSelect(event=dpkit.ApproxEvent(epsilon=0.5, delta=delta), mean=5.0), "pld")
    assert seen <= found.delta(epsilon=50.0) <= 1.01 * seen
    assert found.epsilon(delta=1e-3) <= 1.51
