"""Laws of lower bounds whose atoms fit no lattice: they stay below, and near."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import loss_laws as laws

from dpkit import Compose, LaplaceEvent, PureEvent, Repeat, account
from dpkit.mechanisms.laplace import LaplacePair
from dpkit.numerics import lattice_laws
from dpkit.privacy.loss_pairs import PurePair
from dpkit.testing.strategies import examples

EXAMPLES = examples(60)


@EXAMPLES
@given(
    epsilon=st.floats(0.05, 3.0),
    step=st.floats(1e-4, 0.02),
    kind=st.sampled_from([lambda x: PurePair(epsilon=x), lambda x: LaplacePair(ratio=x)]),
)
def test_a_lower_law_loses_of_its_mean_what_a_few_steps_cost(epsilon, step, kind):
    # slopes capped at a dent would cost a share of the mass itself, however fine the step
    direction = kind(epsilon).forward()
    first, last = math.floor(-epsilon / step) - 1, math.ceil(epsilon / step) + 1
    middles = (np.arange(first - 1, last + 2) - 0.5) * step
    law = lattice_laws.lower_masses(*direction.profile(middles), direction.slope(middles), first=first, step=step)
    places = (first + np.arange(law.masses.size)) * step
    exact = float(direction.log_moment(np.ones(1, dtype=np.complex128))[0].real)
    assert exact - 6.0 * step <= math.log(float(np.sum(law.masses * np.exp(places)))) <= exact + 1e-12
    for at in (*np.linspace(-epsilon, epsilon, 41).tolist(), -epsilon - step, -10.0):
        value = float(direction.profile(np.array([at]))[0][0])
        below = math.fsum(law.masses * -np.expm1(np.minimum(at - places, 0.0)))
        assert below <= value * (1.0 + 1e-12) + 1e-300


@EXAMPLES
@given(dents=st.lists(st.tuples(st.integers(1, 198), st.floats(0.0, 1e-3)), max_size=5), curved=st.booleans())
def test_the_values_of_a_dented_profile_become_convex_and_only_fall(dents, curved):
    places = np.linspace(-1.0, 1.0, 200)
    points = (1.0 - np.exp(0.5 * (places - 1.0))) if curved else 0.7 * (math.e - np.exp(places)) / math.e
    for place, depth in dents:
        points[place] = max(0.0, points[place] - depth)
    below = lattice_laws._convex_below(points, places)
    assert np.all(below <= points)
    slopes = np.diff(below) / np.diff(np.exp(places))
    assert np.all(np.diff(slopes) >= -2e-7 * np.abs(slopes[:-1]))
    assert below[0] >= points[0] * (1.0 - 1e-6)
    assert np.max(points - below) <= 2.0 * sum(depth for _, depth in dents) + 1e-6


@pytest.mark.parametrize(
    ("epsilons", "width"),
    [((0.5, 0.31234, 0.7771), 1e-4), ((0.1, 0.2111, 0.33333, 0.471, 0.05), 2e-4), ((1.0, 1e-4, 3e-3), 1e-6)],
)
@pytest.mark.parametrize("delta", [0.3, 1e-2, 1e-6])
def test_different_pure_losses_are_enclosed_closely(epsilons, width, delta):
    lower, upper = account(Compose(events=tuple(PureEvent(epsilon=e) for e in epsilons)), "pld").interval(delta=delta)
    tables = [((e, 1.0 / (1.0 + math.exp(-e))), (-e, 1.0 / (1.0 + math.exp(e)))) for e in epsilons]
    exact = laws.enumerated([(table, 1) for table in tables])
    assert exact(upper) <= delta * (1.0 + 1e-12)
    assert lower == 0.0 or exact(lower) >= delta * (1.0 - 1e-12)
    assert upper - lower <= width


def test_fifty_different_losses_are_enclosed_to_a_few_thousandths():
    many = Compose(events=tuple(PureEvent(epsilon=0.01 * (i + 1) ** 1.1) for i in range(50)))
    mixed = Compose(events=(many, Repeat(event=LaplaceEvent(ratio=0.0731), times=30)))
    for event in (many, mixed):
        lower, upper = account(event, "pld").interval(delta=1e-6)
        assert 0.0 < upper - lower < 1e-2


def turn_by_turn(values, at):
    """What stays where every point is looked at in every turn."""
    kept = np.arange(values.size)
    while True:
        slopes = np.diff(values[kept]) / np.diff(at[kept])
        convex = np.concatenate(([True], slopes[1:] > slopes[:-1], [True]))
        if convex.all():
            return kept
        kept = kept[convex]


@pytest.mark.parametrize("seed", range(9))
def test_points_above_chords_are_taken_out_as_if_all_were_looked_at_in_every_turn(seed):
    rng = np.random.default_rng(seed)
    at = np.cumsum(rng.random(60))
    noise = rng.normal(size=60) * 0.01 ** (seed % 3)
    for values in (noise, noise + at**2, np.round(noise, 1)):
        assert np.array_equal(np.flatnonzero(lattice_laws._convex(values, np.log(at))), turn_by_turn(values, at))


def test_a_bound_that_rises_where_nothing_is_left_gives_no_mass_below_zero():
    """Bounds of different width, as of an allocation of many steps far out: a moment of such a law had no logarithm."""
    profile = np.array([0.9, 0.5, 0.1, 1e-9, 2e-6])
    law = lattice_laws.upper_masses(profile, np.zeros(5), first=0, step=1e-6)
    assert np.min(law.masses) >= 0.0
    assert np.all(np.isfinite(lattice_laws.log_moments(law, 1e-6, np.array([1.0, 1e6]))))
