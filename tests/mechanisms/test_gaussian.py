"""Gaussian noise: several releases are one."""

import math

import pytest

import dpkit
from dpkit import Compose, GaussianEvent, Repeat, Subsample


def test_a_composition_of_gaussians_inside_a_sample_is_one_gaussian():
    several = Compose(events=(GaussianEvent(ratio=0.3), Repeat(event=GaussianEvent(ratio=0.2), times=4)))
    one = GaussianEvent(ratio=math.sqrt(0.09 + 4 * 0.04))
    left = dpkit.account(Subsample(rate=0.1, event=several), "rdp").epsilon(delta=1e-6)
    right = dpkit.account(Subsample(rate=0.1, event=one), "rdp").epsilon(delta=1e-6)
    assert left == pytest.approx(right, rel=1e-9)
