"""`pure`: what its filter admits is the exact sum, and without a delta it reads pure losses alone."""

import math
from fractions import Fraction

import pytest
from pricing.filling import admitted, fill

import dpkit
from dpkit import Compose, GaussianEvent, LaplaceEvent, PureDP, PureEvent, privacy_filter


def test_a_pure_filter_admits_exactly_what_the_sum_allows() -> None:
    step = 0.1
    most = int(Fraction(1) / Fraction(step))
    assert admitted(privacy_filter(PureDP(epsilon=1.0), "pure"), PureEvent(epsilon=step)) == most
    assert Fraction(step) * most <= 1 < Fraction(step) * (most + 1)


def test_a_refused_charge_changes_nothing():
    full, _ = fill(dpkit.privacy_filter(PureDP(epsilon=1.0), "pure"), PureEvent(epsilon=0.25))
    before = full.state
    with pytest.raises(dpkit.BudgetExceededError):
        full.charge(PureEvent(epsilon=0.25))
    assert full.state == before
    assert full.admits(PureEvent(epsilon=0.0))


def test_delta_zero_reads_pure_losses_and_nothing_else():
    assert dpkit.account(LaplaceEvent(ratio=0.5), "pure").epsilon(delta=0.0) == 0.5
    assert dpkit.account(LaplaceEvent(ratio=0.5), "best").epsilon(delta=0.0) == 0.5
    assert dpkit.account(GaussianEvent(ratio=0.5), "gdp").epsilon(delta=0.0) == math.inf
    assert dpkit.account(Compose(events=()), "gdp").epsilon(delta=0.0) == 0.0
