"""The white box: the declared privacy loss as a column, and claims that fall by it."""

import math

import numpy as np

import dpkit
from dpkit.auditing.falsifiers.white_box import LogRatio


def test_a_loss_is_the_difference_of_two_densities_and_always_a_number():
    logs = {0: np.array([0.0, -1.0, -math.inf, -math.inf]), 1: np.array([-0.5, -1.0, 0.0, -math.inf])}
    column = LogRatio(lambda outputs, side: logs[side])
    assert column.scores(np.zeros((4, 1)))[:, 0].tolist() == [0.5, 0.0, -1e9, 0.0]


def test_half_of_the_noise_falls_by_its_declared_loss():
    mechanism, claim = dpkit.Laplace(scale=0.5), dpkit.PureDP(epsilon=1.0)
    options = {"falsifiers": ("white box",), "samples": 20_000, "rng": 1, "floating_point": False}
    assert any(one.refuted for one in dpkit.audit(mechanism, claim, (0.0, 1.0), **options))
    assert not any(one.refuted for one in dpkit.audit(dpkit.Laplace(scale=1.0), claim, (0.0, 1.0), **options))
