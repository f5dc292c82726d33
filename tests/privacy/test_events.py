"""Events are frozen values; they hide no parameter, and the combinators are closed."""

import dataclasses

import pytest
from hypothesis import given
from laws.event_strategies import any_events

import dpkit
from dpkit import (
    Compose,
    Event,
    FixedBatch,
    GaussianEvent,
    InvalidValueError,
    Parallel,
    PureEvent,
    RandomAllocation,
    Repeat,
    ShuffledEpochs,
    Subsample,
    UnpricedEventError,
    from_json,
    to_json,
)
from dpkit.privacy.events import flatten, states_absence, without_trivial_sampling
from dpkit.testing.strategies import examples


@examples(50)
@given(value=any_events())
def test_events_are_frozen_and_hashable(value):
    assert hash(value) == hash(dataclasses.replace(value))
    assert not hasattr(value, "__dict__")


def test_combinators_are_closed_and_rules_speak_of_one_class():
    for combinator in (Repeat, Compose, Parallel, Subsample, FixedBatch, RandomAllocation, ShuffledEpochs):
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


def test_samplings_at_their_ends_are_nothing_or_the_event_itself():
    inner = PureEvent(epsilon=1.0)
    nothing = Parallel(events=())
    assert without_trivial_sampling(FixedBatch(size=0, population=3, event=inner)) == nothing
    assert without_trivial_sampling(FixedBatch(size=3, population=3, event=inner)) == inner
    assert without_trivial_sampling(RandomAllocation(event=inner, steps=4, participations=0)) == nothing
    assert without_trivial_sampling(RandomAllocation(event=inner, steps=4, participations=4)) == Repeat(event=inner, times=4)
    assert without_trivial_sampling(ShuffledEpochs(event=inner, batches=1)) == inner
    assert without_trivial_sampling(Subsample(rate=0.5, event=inner, at_most=0, population=3)) == nothing
    assert without_trivial_sampling(Subsample(rate=0.5, event=inner, at_most=3, population=3)) == Subsample(
        rate=0.5, event=inner
    )
    for event in (
        FixedBatch(size=1, population=3, event=inner),
        RandomAllocation(event=inner, steps=4),
        ShuffledEpochs(event=inner, batches=2),
        Subsample(rate=0.5, event=inner, at_most=1, population=3),
    ):
        assert without_trivial_sampling(event) == event


def test_epochs_are_multiplied_out_with_the_other_counts():
    inner = PureEvent(epsilon=1.0)
    epochs = ShuffledEpochs(event=inner, batches=10, epochs=3)
    assert flatten(Repeat(event=epochs, times=5)) == {ShuffledEpochs(event=inner, batches=10): 15}
    assert flatten(ShuffledEpochs(event=inner, batches=10, epochs=0)) == {}


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda inner: FixedBatch(size=4, population=3, event=inner), "size"),
        (lambda inner: FixedBatch(size=-1, population=3, event=inner), "size"),
        (lambda inner: FixedBatch(size=1.0, population=3, event=inner), "size"),
        (lambda inner: FixedBatch(size=0, population=0, event=inner), "population"),
        (lambda inner: RandomAllocation(event=inner, steps=0), "steps"),
        (lambda inner: RandomAllocation(event=inner, steps=2, participations=3), "participations"),
        (lambda inner: ShuffledEpochs(event=inner, batches=0), "batches"),
        (lambda inner: ShuffledEpochs(event=inner, batches=2, epochs=-1), "epochs"),
        (lambda inner: Subsample(rate=0.1, event=inner, at_most=2), "population"),
        (lambda inner: Subsample(rate=0.1, event=inner, population=2), "population"),
    ],
)
def test_a_sampling_that_is_none_is_refused_by_its_field(make, field):
    with pytest.raises(InvalidValueError) as caught:
        make(PureEvent(epsilon=1.0))
    assert caught.value.field == field


def test_absence_is_stated_by_every_leaf_or_not_at_all():
    told, untold = GaussianEvent(ratio=2.0, absent=1.0), GaussianEvent(ratio=2.0)
    assert states_absence(Compose(events=(told, Repeat(event=told, times=3), Subsample(rate=0.1, event=told))))
    for event in (untold, Compose(events=(told, untold)), Parallel(events=(told, untold)), Subsample(rate=0.1, event=untold)):
        assert not states_absence(event)


def test_what_is_left_unsaid_is_neither_shown_nor_written():
    assert repr(GaussianEvent(ratio=1.0)) == "GaussianEvent(ratio=1.0)"
    assert repr(GaussianEvent(ratio=1.0, absent=0.5)) == "GaussianEvent(ratio=1.0, absent=0.5)"
    assert "absent" not in to_json(GaussianEvent(ratio=1.0))
    for event in (
        GaussianEvent(ratio=1.0),
        Subsample(rate=0.1, event=GaussianEvent(ratio=1.0, absent=0.5), at_most=2, population=9),
        FixedBatch(size=1, population=9, event=GaussianEvent(ratio=1.0)),
        RandomAllocation(event=GaussianEvent(ratio=1.0), steps=9, participations=2),
        ShuffledEpochs(event=GaussianEvent(ratio=1.0), batches=9, epochs=2),
    ):
        assert from_json(to_json(event)) == event
