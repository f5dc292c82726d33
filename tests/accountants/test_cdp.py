"""`cdp`: mean-concentrated DP is calibrated by its own equation."""

import math

import pytest

import dpkit
from dpkit import LaplaceEvent, MeanCDP, Repeat


def laplace(times):
    return lambda scale: Repeat(event=LaplaceEvent(ratio=1.0 / scale), times=times)


@pytest.mark.parametrize("iterations", [1, 5, 10, 20])
def test_mean_concentration_solves_its_own_equation_and_not_the_taylor_bound(iterations):
    mean = 0.9
    scale = dpkit.calibrate(laplace(iterations), MeanCDP(mu=mean, tau=100.0), "cdp")
    each = 1.0 / scale
    assert iterations * each * math.expm1(each) / 2.0 == pytest.approx(mean, rel=1e-9)
    assert iterations * each * math.expm1(each) / 2.0 <= mean
    assert each < math.sqrt(2.0 * mean / iterations)
