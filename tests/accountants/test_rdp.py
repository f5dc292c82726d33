"""`rdp`: its filter counts at one order that is fixed in advance, and no slack is lost inside a curve."""

import math
from fractions import Fraction

import pytest
from pricing.filling import admitted, fill

import dpkit
from dpkit import RDP, ApproxDP, GaussianEvent, privacy_filter
from dpkit.privacy.losses import MaxCurve, MinCurve, SumCurve


def test_a_renyi_filter_counts_at_its_one_order() -> None:
    opened = privacy_filter(RDP(orders=(8.0,), epsilons=(2.0,)), "rdp")
    count = admitted(opened, GaussianEvent(ratio=0.01))
    assert count * 8 * Fraction(0.01) ** 2 / 2 <= 2
    assert (count + 2) * 8 * Fraction(0.01) ** 2 / 2 > 2


TARGET = ApproxDP(epsilon=1.0, delta=1e-6)


def test_the_renyi_filter_reads_at_one_order_fixed_in_advance():
    fixed = dpkit.privacy_filter(TARGET, "rdp", order=30.0)
    assert fixed.theorem.limit.orders == (30.0,)
    chosen = dpkit.privacy_filter(TARGET, "rdp")
    _, best = fill(chosen, GaussianEvent(ratio=0.01))
    _, other = fill(fixed, GaussianEvent(ratio=0.01))
    assert best >= other > 0
    stated = dpkit.privacy_filter(RDP(orders=(8.0,), epsilons=(1.0,)), "rdp")
    assert stated.admits(GaussianEvent(ratio=0.49))
    assert not stated.admits(GaussianEvent(ratio=0.51))


def test_a_slack_is_never_lost_inside_a_curve():
    approximate = RDP(orders=(2.0, 10.0), epsilons=(0.1, 0.2), delta=0.5)
    accountant = dpkit.default_registry().accountant("rdp")
    assert accountant.epsilon(accountant.state_of(approximate), delta=1e-6) == math.inf
    assert accountant.epsilon(accountant.lift(approximate), delta=1e-6) == math.inf
    for kind in (SumCurve, MinCurve, MaxCurve):
        with pytest.raises(dpkit.InvalidValueError, match="slack"):
            kind(terms=((approximate, 1),)) if kind is SumCurve else kind(curves=(approximate,))
