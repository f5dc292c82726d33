"""Events are frozen values; they hide no parameter, and the combinators are closed."""

import dataclasses

from hypothesis import given, settings
from laws.event_strategies import any_events


@settings(max_examples=50, derandomize=True, deadline=None)
@given(value=any_events())
def test_events_are_frozen_and_hashable(value):
    assert hash(value) == hash(dataclasses.replace(value))
    assert not hasattr(value, "__dict__")
