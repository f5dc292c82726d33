"""Events are frozen values; they hide no parameter, and the combinators are closed."""

import dataclasses

import pytest
from hypothesis import given, settings
from laws.event_strategies import any_events

import dpkit
from dpkit import Compose, Event, GaussianEvent, Parallel, Repeat, Subsample, UnpricedEventError


@settings(max_examples=50, derandomize=True, deadline=None)
@given(value=any_events())
def test_events_are_frozen_and_hashable(value):
    assert hash(value) == hash(dataclasses.replace(value))
    assert not hasattr(value, "__dict__")


def test_combinators_are_closed_and_rules_speak_of_one_class():
    for combinator in (Repeat, Compose, Parallel, Subsample):
        with pytest.raises(TypeError, match="closed combinator"):
            type("Mine", (combinator,), {})

    @dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
    class ManyGaussians(GaussianEvent):
        count: int

    with pytest.raises(UnpricedEventError):
        dpkit.account(ManyGaussians(ratio=1.0, count=5), "gdp")


def test_an_event_that_hides_a_parameter_is_refused():
    @dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
    class Hiding(Event):
        epsilon: float = dataclasses.field(compare=False)

    @dataclasses.dataclass
    class Mutable(Event):
        epsilon: float

    class Plain(Event):
        pass

    for event in (Hiding(epsilon=1.0), Mutable(epsilon=1.0), Plain()):
        with pytest.raises(dpkit.InvalidValueError, match="frozen dataclass"):
            dpkit.account(event, "pure")
