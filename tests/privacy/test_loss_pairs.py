"""Dominating pairs: their profiles are convex, their directions mirror each other, their moments are as stated."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import loss_laws as laws
from laws.pair_strategies import EXAMPLES, pairs, places

from dpkit.mechanisms.laplace import LaplacePair
from dpkit.privacy.loss_pairs import PurePair, SymmetricPair


@pytest.mark.parametrize(
    "pair",
    [
        *(PurePair(epsilon=epsilon) for epsilon in (3e-5, 0.7, 4.0, 11.9)),
        *(LaplacePair(ratio=ratio) for ratio in (2e-4, 1.1, 4.0, 11.9, 13.0)),
    ],
)
def test_log_moments_are_within_their_stated_errors(pair):
    direction, count = pair.forward(), 10**6
    near = [1e-9, 1e-7 + 3e-7j, 0.05 + 0.04j, 0.07, 0.01 + 0.2j]
    nodes = np.array([0.3, 2.0 + 1.0j, 5.0 + 40.0j, 80.0 + 900.0j, 1e3 + 3e3j, *near])
    values, errors = type(direction).total_log_moment((direction,), (count,), nodes)
    context = mpmath.mp.clone()
    context.dps = 60
    x = context.mpf(pair.strength)
    for z, value, error in zip(nodes, values, errors, strict=True):
        w = context.mpc(complex(z))
        if isinstance(pair, PurePair):
            moment = context.cosh((w + 0.5) * x) / context.cosh(x / 2)
        else:
            moment = ((1 + w) * context.exp(w * x) + w * context.exp(-(1 + w) * x)) / (1 + 2 * w)
        gap = count * context.log(moment) - context.mpc(complex(value))
        turns = context.nint(gap.imag / (2 * context.pi * count)) * 2 * context.pi * count  # the branch of one logarithm
        assert abs(context.mpc(gap.real, gap.imag - turns)) <= error


@pytest.mark.parametrize(
    "pair",
    [PurePair(epsilon=0.02), LaplacePair(ratio=0.02), LaplacePair(ratio=3.0), LaplacePair(ratio=9.0), PurePair(epsilon=2.0)],
)
@pytest.mark.parametrize("tilt", [1e-6, 0.1, 3.0, 50.0])
def test_moments_fall_as_they_are_said_to(pair, tilt):
    direction = pair.forward()
    fall = direction.fall(tilt)
    heights = np.linspace(0.0, 7.0 * fall.reach or 7.0, 4001)
    on_axis = direction.log_moment(np.array([tilt + 0.0j]))[0].real
    seen = direction.log_moment(tilt + 1j * heights).real - on_axis
    period = 2.0 * fall.reach or 2.0
    distance = np.abs(heights - period * np.round(heights / period)) if fall.periodic else heights
    held = np.ones_like(heights, dtype=bool) if fall.periodic else heights <= fall.reach
    assert np.all(seen[held] <= -fall.rate * distance[held] ** 2 + 1e-12)
    for height in heights[1:4000:400].tolist():
        assert np.max(seen[heights >= height]) <= direction.log_decay(tilt, height) + 1e-12


@pytest.mark.parametrize("ratio", [0.01, 1.0, 3.0, 5.0, 10.0])
def test_moments_of_laplace_noise_have_fallen_for_good_where_they_stop_falling_like_a_gaussian(ratio):
    direction = LaplacePair(ratio=ratio).forward()
    assert direction.log_decay(1e-5, direction.fall(1e-5).reach) < -1e-3


@EXAMPLES
@given(pair=pairs(), seed=st.integers(0, 2**32))
def test_profiles_are_convex_and_directions_mirror_each_other(pair, seed):
    for direction in filter(None, (pair.forward(), pair.backward())):
        laws.profile_is_convex(direction, places(direction, seed))
    if not isinstance(pair, SymmetricPair):
        laws.directions_mirror_each_other(pair, places(pair.forward(), seed))
