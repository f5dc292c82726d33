"""Laws of the contour: it agrees with closed forms and with the lattice, and its errors are stated."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import loss_laws as laws

from dpkit.accountants.pld import composition as loss_composition
from dpkit.accountants.pld.contour import ContourSum, kernel_beyond
from dpkit.mechanisms.laplace import LaplacePair
from dpkit.privacy.gaussian_dp import GaussianDirection
from dpkit.privacy.loss_pairs import PurePair
from dpkit.testing.strategies import examples

EXAMPLES = examples(30)


def logarithmic(low, high):
    return st.floats(math.log(low), math.log(high)).map(math.exp)


def exact_gaussian(mu, at):
    with mp.workdps(40):
        mu, at = mp.mpf(mu), mp.mpf(at)
        return mp.ncdf(-at / mu + mu / 2) - mp.exp(at) * mp.ncdf(-at / mu - mu / 2)


def gaussian_sum(mu, *, tilt, period, size):
    nodes = np.asarray(tilt + 2.0j * math.pi / period * np.arange(size))
    direction = GaussianDirection(mu=mu)
    height = 2.0 * math.pi / period * size
    left_out = math.exp(direction.log_decay(tilt, height)) * kernel_beyond(height, period)
    return ContourSum(
        tilt=tilt,
        period=period,
        heights=nodes.imag,
        log_moments=direction.log_moment(nodes),
        errors=np.full(nodes.size, 1e-14),
        left_out=left_out,
    )


@EXAMPLES
@given(mu=st.floats(0.2, 3.0), tilt=st.floats(0.5, 8.0), size=st.integers(1, 400), at=st.floats(0.0, 6.0))
def test_the_sum_is_an_upper_bound_however_few_nodes_there_are(mu, tilt, size, at):
    value, error, log_scale = gaussian_sum(mu, tilt=tilt, period=25.0, size=size).scaled_delta(at)
    assert (mp.mpf(value) + error) * mp.exp(log_scale) >= exact_gaussian(mu, at)


@pytest.mark.parametrize("period", [1.0, 2.0, 4.0, 8.0])
def test_aliases_are_those_of_the_formula(period):
    mu, tilt, at = 1.0, 2.0, 1.5
    value, error, log_scale = gaussian_sum(mu, tilt=tilt, period=period, size=400).scaled_delta(at)
    with mp.workdps(40):
        aliased = mp.fsum(mp.exp(tilt * n * period) * exact_gaussian(mu, at + n * period) for n in range(-60, 30))
        assert abs(mp.mpf(value) * mp.exp(log_scale) - aliased) <= mp.mpf(error) * mp.exp(log_scale)


@examples(15)
@given(
    mu=logarithmic(0.05, 3.0),
    ratios=st.lists(st.tuples(logarithmic(0.01, 2.0), st.integers(1, 20)), max_size=3),
    epsilons=st.lists(st.tuples(logarithmic(0.01, 1.0), st.integers(1, 20)), max_size=2),
    delta=logarithmic(1e-30, 0.1),
    at=st.floats(0.5, 1.3),
)
def test_contour_and_lattice_bracket_each_other(mu, ratios, epsilons, delta, at):
    terms = [(GaussianDirection(mu=mu), 1)]
    terms += [(LaplacePair(ratio=ratio).forward(), count) for ratio, count in ratios]
    terms += [(PurePair(epsilon=epsilon).forward(), count) for epsilon, count in epsilons]
    found = loss_composition.reader(terms, delta=delta, width=1e-4)
    centre = max(found.start, 0.01)
    laws.routes_bracket_each_other(terms, [at * centre, centre], delta=delta, width=1e-4)


@EXAMPLES
@given(mu=logarithmic(0.01, 20.0), delta=logarithmic(1e-30, 0.3), at=st.floats(0.3, 1.2))
def test_the_route_by_contour_brackets_a_gaussian(mu, delta, at):
    found = loss_composition.reader([(GaussianDirection(mu=mu), 1)], delta=delta, width=1e-6)
    assert found.route == "contour"
    epsilon = at * max(found.start, 0.01)
    exact = exact_gaussian(mu, epsilon)
    assert found.lower(epsilon) <= exact * (1 + mp.mpf(10) ** -15) <= found.upper(epsilon)[0] * (1 + mp.mpf(10) ** -14)


def test_atoms_do_not_fall_along_the_contour_so_it_is_smoothed():
    for pair in (PurePair(epsilon=0.2), LaplacePair(ratio=0.2)):
        assert "smoothed" in loss_composition.reader([(pair.forward(), 10)], delta=1e-6, width=1e-6).note
