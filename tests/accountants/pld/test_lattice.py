"""Laws of the lattice: its bounds bracket every profile, every small composition, and the contour."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from laws import loss_laws as laws
from laws.pair_strategies import EXAMPLES, logarithmic, pairs, places, tables

from dpkit.accountants.pld import composition as loss_composition
from dpkit.accountants.pld.lattice import LatticeSum
from dpkit.mechanisms.laplace import LaplacePair
from dpkit.mechanisms.subsampled_gaussian import SubsampledGaussianPair
from dpkit.numerics.lattice_laws import LatticeLaw, log_moments, lower_masses, upper_masses
from dpkit.privacy.gaussian_dp import GaussianPair
from dpkit.testing.strategies import examples


def directions():
    def choose(pair, turned):
        return (pair.backward() if turned else None) or pair.forward()

    return st.builds(choose, pairs(), st.booleans())


@EXAMPLES
@example(direction=LaplacePair(ratio=0.7).forward(), delta=1e-3, width=1e-2, seed=1)
@example(direction=LaplacePair(ratio=5.0).forward(), delta=1e-6, width=1e-4, seed=1)
@example(direction=SubsampledGaussianPair(rate=0.9, ratio=3.0).backward(), delta=1e-30, width=1e-2, seed=1)
@example(direction=SubsampledGaussianPair(rate=1e-4, ratio=0.5).backward(), delta=1e-12, width=1.0, seed=1)
@example(direction=GaussianPair(mu=0.3).forward(), delta=1e-30, width=1.0, seed=1)
@given(direction=directions(), delta=logarithmic(1e-30, 0.3), width=logarithmic(1e-6, 1.0), seed=st.integers(0, 2**32))
def test_a_lattice_brackets_the_profile_on_and_off_its_points(direction, delta, width, seed):
    laws.lattice_brackets_the_profile(direction, places(direction, seed), delta=delta, width=width)


@EXAMPLES
@given(direction=directions(), cells=st.integers(3, 300), at=st.floats(0.0, 1.0))
def test_dots_lie_above_and_tangents_below_everywhere(direction, cells, at):
    low, high = direction.reach(1e-12)
    step = (high - low) / cells
    first, last = math.floor(low / step), math.ceil(high / step)
    points = np.arange(first - 1, last + 1) * step
    above = upper_masses(*direction.profile(points), first=first, step=step)
    middles = (np.arange(first - 2, last + 3) - 0.5) * step
    below = lower_masses(*direction.profile(middles), direction.slope(middles), first=first - 1, step=step)
    assert np.all(above.masses >= 0.0)
    assert np.all(below.masses >= 0.0)
    epsilons = np.array([low + at * (high - low), points[1 + int(at * (points.size - 3))], points[-1] - at * step])
    values, errors = direction.profile(epsilons)
    beyond = direction.profile(points[-1:])[0][0]
    for epsilon, value, error in zip(epsilons, values, errors, strict=True):
        allowed = error + 1e-13 * value
        assert _profile_of(above, step, epsilon) + beyond >= value - allowed
        assert _profile_of(below, step, epsilon) <= value + allowed


def _profile_of(law, step, epsilon):
    losses = (law.first + np.arange(law.masses.size)) * step
    return math.fsum(law.masses * -np.expm1(np.minimum(epsilon - losses, 0.0)))


@examples(15)
@given(
    several=st.lists(st.tuples(tables(), st.integers(1, 3)), min_size=1, max_size=2),
    epsilons=st.lists(st.floats(-1.0, 5.0), min_size=4, max_size=4),
    width=logarithmic(1e-6, 0.1),
)
def test_compositions_bracket_what_enumeration_gives(several, epsilons, width):
    laws.composition_brackets_enumeration(several, epsilons, width=width)


@EXAMPLES
@given(
    masses=st.lists(st.floats(0.01, 1.0), min_size=3, max_size=6),
    count=st.integers(1, 4),
    tilt=logarithmic(0.05, 20.0),
    size=st.sampled_from([64, 4096, 16384]),
    at=st.floats(-1.0, 1.0),
)
def test_a_lattice_sum_is_the_convolution_but_for_its_stated_error(masses, count, tilt, size, at):
    # 64 points leave aliases, which only add; many points take the way through suffix sums
    weights = np.array(masses) / sum(masses)
    law, step = LatticeLaw(first=-2, masses=weights), 0.25
    total = LatticeSum([(law, count)], step=step, tilt=tilt, size=size, near=at)
    power = weights
    for _ in range(count - 1):
        power = np.convolve(power, weights)
    exact = _profile_of(LatticeLaw(first=-2 * count, masses=power), step, at)
    value, error, log_scale = total.scaled_delta(at)
    scale = math.exp(log_scale)
    assert (value + error) * scale * math.exp(total.log_error) >= exact * (1.0 - 1e-13)
    span = tilt * size * step
    above = math.exp(-span) / -math.expm1(-span)  # every alias from below, each with a profile of at most 1
    assert (value - error) * scale * math.exp(-total.log_error) <= exact * (1.0 + 1e-12) + above * (1.0 + 1e-9) + 1e-300


def test_log_moments_survive_empty_points_at_the_top():
    law = LatticeLaw(first=0, masses=np.array([0.5, 0.5, *[0.0] * 1000]))
    assert log_moments(law, 1.0, np.array([5.0]))[0] == pytest.approx(5.0 + math.log(0.5 + 0.5 * math.exp(-5.0)), rel=1e-12)


@EXAMPLES
@given(
    several=st.lists(st.tuples(directions(), st.integers(1, 30)), min_size=1, max_size=3),
    delta=logarithmic(1e-20, 0.1),
    width=logarithmic(1e-4, 1e-2),
)
def test_an_interval_narrows_and_a_bound_falls(several, delta, width):
    found = loss_composition.reader(several, delta=delta, width=width)
    centre = max(found.start, 0.1)
    values = [found.upper(centre * share)[0] for share in (0.5, 0.8, 1.0, 1.1)]
    assert all(math.isfinite(value) and value >= 0.0 for value in values)
    assert values == sorted(values, reverse=True)
    assert found.lower(centre) <= found.upper(centre)[0]
