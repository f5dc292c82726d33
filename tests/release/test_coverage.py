"""A plan covers what it counted and cheaper noise of the same kind, and nothing of which it cannot know that it is cheaper."""

from dataclasses import dataclass
from typing import ClassVar

import pytest

import dpkit
from dpkit.errors import PlanExceededError
from dpkit.release.curator import Purse


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignEvent(dpkit.Event):
    """A plugin's event, in which a smaller ratio may well cost more."""

    ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedEvent(dpkit.Event):
    """A plugin's event that declares in which field less is cheaper."""

    cheaper_below: ClassVar[tuple[str, ...]] = ("ratio",)

    ratio: float
    kind: int = 0


def test_less_of_a_built_in_noise_s_ratio_is_cheaper():
    assert dpkit.GaussianEvent(ratio=1.0).covers(dpkit.GaussianEvent(ratio=0.5))
    assert not dpkit.GaussianEvent(ratio=0.5).covers(dpkit.GaussianEvent(ratio=1.0))
    assert not dpkit.LaplaceEvent(ratio=1.0).covers(dpkit.GaussianEvent(ratio=0.5))


def test_a_plugin_s_event_without_an_order_must_be_the_one_that_was_planned():
    assert ForeignEvent(ratio=1.0).covers(ForeignEvent(ratio=1.0))
    assert not ForeignEvent(ratio=1.0).covers(ForeignEvent(ratio=0.5))


def test_a_plugin_s_event_is_covered_by_the_order_that_it_declares():
    planned = OrderedEvent(ratio=1.0)
    assert planned.covers(OrderedEvent(ratio=0.5))
    assert not planned.covers(OrderedEvent(ratio=2.0))
    assert not planned.covers(OrderedEvent(ratio=0.5, kind=1))
    assert not planned.covers(OrderedEvent(ratio=float("nan")))
    plan = Purse(dpkit.Compose(events=(OrderedEvent(ratio=2.0), planned)), run="r")
    plan.charge(OrderedEvent(ratio=0.5), key="one")  # from the cheapest that covers it
    plan.charge(OrderedEvent(ratio=1.5), key="one")


def test_a_refused_charge_takes_nothing():
    plan = Purse(dpkit.Repeat(event=dpkit.GaussianEvent(ratio=1.0), times=2), run="r")
    with pytest.raises(PlanExceededError):
        plan.charge(dpkit.Repeat(event=dpkit.GaussianEvent(ratio=1.0), times=3), key="one")
    plan.charge(dpkit.Repeat(event=dpkit.GaussianEvent(ratio=1.0), times=2), key="one")
    with pytest.raises(PlanExceededError):
        plan.charge(dpkit.GaussianEvent(ratio=0.1), key="one")
