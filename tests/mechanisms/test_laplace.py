"""Laplace noise: its Rényi curve against 60 digits, its price, and releases of odd values."""

import math

import numpy as np
import pytest
from mpmath import mp, mpf
from privacy.renyi_oracles import LOSSES, ORDERS, assert_just_above, laplace

import dpkit
from dpkit import Laplace
from dpkit.mechanisms.laplace import LaplaceCurve

mp.dps = 60


def laplace_by_quadrature(ratio: float, order: float) -> mpf:
    """E over Lap(x) of (p/q)^(a-1), piece by piece: no closed form."""
    x, a = mpf(ratio), mpf(order)
    moment = mp.quad(
        lambda t: mp.exp(-abs(t)) / 2 * mp.exp((a - 1) * (abs(t - x) - abs(t))), [-mp.inf, 0, x / 2, x, x + 20, mp.inf]
    )
    return mp.log(moment) / (a - 1)


@pytest.mark.parametrize("ratio", LOSSES)
def test_the_curve_of_laplace_noise(ratio: float) -> None:
    assert_just_above(LaplaceCurve(ratio=ratio), [laplace(ratio, order) for order in ORDERS])


@pytest.mark.parametrize("ratio", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("order", [1.01, 2.0, 7.5])
def test_the_laplace_formula_is_the_integral(ratio: float, order: float) -> None:
    assert abs(laplace(ratio, order) / laplace_by_quadrature(ratio, order) - 1) < mpf(10) ** -15


def test_a_ratio_that_is_no_float_is_rounded_up():
    event = Laplace(scale=3.0).event(at=dpkit.l1(1.0))
    assert event.ratio > 1 / 3 or event.ratio == math.nextafter(1 / 3, 1.0)


@pytest.mark.parametrize("value", [[np.float32(1), 2**53 + 1], [True, 1.0, 2**60], [np.bool_(True), 1.5, -(2**70)]])
def test_a_saturating_release_raises_on_no_number(value):
    output = dpkit.Laplace(scale=1.0).release(value, np.random.default_rng(0), saturate=100.0)
    assert np.all(np.abs(np.asarray(output)) < 200.0)
