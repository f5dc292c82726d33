"""Rényi divergences at 60 digits, and the orders and losses at which curves are held against them."""

import numpy as np
from mpmath import mp, mpf

from dpkit import RenyiCurve

mp.dps = 60
EXCESSES = np.array([2.0**-52, 1e-12, 1e-8, 1e-4, 1e-3, 0.1, 0.5, 1.0, 2.7, 10.0, 137.0, 1e4, 1e6, 1e9, 1e15])
ORDERS = 1.0 + EXCESSES
LOSSES = [1e-12, 1e-8, 1e-4, 1e-3, 0.01, 0.15, 0.5, 0.999, 1.0, 1.001, 2.0, 5.0, 20.0, 50.0, 700.0, 1e3, 1e6]
ROUNDING = 2.0**-45


def laplace(ratio: float, order: float) -> mpf:
    with mp.workdps(120):
        x, a = mpf(ratio), mpf(order)
        return mp.log(a / (2 * a - 1) * mp.exp((a - 1) * x) + (a - 1) / (2 * a - 1) * mp.exp(-a * x)) / (a - 1)


def assert_just_above(curve: RenyiCurve, exact: list[mpf], *, relative: float = ROUNDING) -> None:
    for order, reported, truth in zip(ORDERS, curve.at(ORDERS), exact, strict=True):
        assert truth <= mpf(float(reported)) <= truth * (1 + mpf(relative)) + mpf(1e-300), (curve, order)
