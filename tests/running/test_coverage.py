"""A plan covers what it counted and cheaper noise of the same kind, and nothing of which it cannot know that it is cheaper."""

from dataclasses import dataclass

import pytest

import dpkit
from dpkit.errors import PlanExceededError
from dpkit.running.coverage import PlanCoverage, covers


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignEvent(dpkit.Event):
    """A plugin's event, in which a smaller ratio may well cost more."""

    ratio: float


def test_less_of_a_built_in_noise_s_ratio_is_cheaper():
    assert covers(dpkit.GaussianEvent(ratio=1.0), dpkit.GaussianEvent(ratio=0.5))
    assert not covers(dpkit.GaussianEvent(ratio=0.5), dpkit.GaussianEvent(ratio=1.0))
    assert not covers(dpkit.LaplaceEvent(ratio=1.0), dpkit.GaussianEvent(ratio=0.5))


def test_a_plugin_s_event_must_be_the_one_that_was_planned():
    assert covers(ForeignEvent(ratio=1.0), ForeignEvent(ratio=1.0))
    assert not covers(ForeignEvent(ratio=1.0), ForeignEvent(ratio=0.5))


def test_a_refused_charge_takes_nothing():
    plan = PlanCoverage(dpkit.Repeat(event=dpkit.GaussianEvent(ratio=1.0), times=2), run="r")
    with pytest.raises(PlanExceededError):
        plan.take(dpkit.Repeat(event=dpkit.GaussianEvent(ratio=1.0), times=3))
    plan.take(dpkit.Repeat(event=dpkit.GaussianEvent(ratio=1.0), times=2))
    with pytest.raises(PlanExceededError):
        plan.take(dpkit.GaussianEvent(ratio=0.1))
