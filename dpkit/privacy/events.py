"""What happened, apart from what it costs: leaves are open (plugins add theirs), the combinators are closed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import Field, fields, is_dataclass, replace
from fractions import Fraction
from functools import partial
from typing import ClassVar

from dpkit.errors import InvalidValueError
from dpkit.numerics.rounding import round_up
from dpkit.privacy.checks import (
    checked,
    finite_number,
    instance_of,
    nonnegative,
    or_none,
    probability,
    probability_below_one,
    tuple_of,
    whole_number,
)
from dpkit.values import dataclass

MOST_REPETITIONS = 10**100
"""No event is priced more often than this: beyond, counts would overflow a float."""


class Event:
    """Something that was, or will be, released, described without data.

    Subclass it as a frozen dataclass whose fields all compare, since equal events are priced once. Leaves are open; the
    combinators are closed, because pricing knows each of them. A rule speaks of exactly one class of events.

    `cheaper_below` names fields in which events of this class are ordered: where such a field is smaller and all others are
    equal, the release costs no more, whatever rule prices it. A plan then covers it (`covers`). The conformance kit tries it.
    """

    __slots__ = ()
    _closed: ClassVar[bool] = False
    cheaper_below: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        for base in cls.__mro__[1:]:
            if base.__dict__.get("_closed", False):
                raise TypeError(f"{base.__name__} is a closed combinator: {cls.__name__} cannot extend it; subclass Event.")

    def states_absence(self) -> bool:
        """Whether this leaf says how far a record's contribution may be from that of an absent one."""
        return False

    def under_add_remove(self) -> Event:
        """This leaf where a record comes or goes: another one where it says that this moves it farther."""
        return self

    def __repr__(self) -> str:
        """As it is written; what may be left unsaid and is, is left out."""
        stated: list[tuple[str, object]]
        stated = [(part.name, getattr(self, part.name)) for part in fields(self)] if is_dataclass(self) else []
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in stated if value is not None)})"

    def covers(self, other: Event) -> bool:
        """Whether a plan with this event has room for the other one: equal, or cheaper by the order that the class declares."""
        if self == other:
            return True
        if type(self) is not type(other):
            return False
        ordered = self.cheaper_below
        names: Iterable[str] = getattr(type(self), "__dataclass_fields__", ())
        return bool(ordered) and all(
            getattr(other, name) <= getattr(self, name) if name in ordered else getattr(other, name) == getattr(self, name)
            for name in names
        )


_EVENT = partial(instance_of, kind=Event, allowed="an Event")
_EVENTS = partial(tuple_of, kind=Event, allowed="a sequence of Events")


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(epsilon=nonnegative)
class PureEvent(Event):
    """A release of which only this is known: it is epsilon-DP."""

    epsilon: float


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(epsilon=nonnegative, delta=probability_below_one)
class ApproxEvent(Event):
    """A release of which only this is known: it is (epsilon, delta)-DP."""

    epsilon: float
    delta: float


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(rho=nonnegative)
class ZCDPEvent(Event):
    """A release of which only this is known: it is rho-zCDP."""

    rho: float


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(event=_EVENT, times=whole_number)
class Repeat(Event):
    """The same event, `times` times, each with fresh randomness; 0 times is nothing."""

    _closed: ClassVar[bool] = True

    event: Event
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(events=_EVENTS)
class Compose(Event):
    """All of these events on the same records, each free to depend on the outputs before it."""

    _closed: ClassVar[bool] = True

    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(events=_EVENTS)
class Parallel(Event):
    """These events on disjoint records: the partition is declared, not computed from the data.

    Under replace-one a record may leave one cell and enter another, so each cell's event must be measured at a distance that
    also covers a record joining or leaving that cell (for a count 1, not 0).
    """

    _closed: ClassVar[bool] = True

    events: tuple[Event, ...]


_PARTS = partial(whole_number, minimum=1)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
@checked(rate=probability, event=_EVENT, at_most=or_none(whole_number), population=or_none(_PARTS))
class Subsample(Event):
    """The event on a Poisson sample: each record is kept with probability `rate`, independently, and in secret.

    With `at_most` and `population` a larger sample is cut, at random and in secret, to this number of records; there are at
    most `population` records, under either neighbour. Under replace-one the event inside must say how far a record may be
    from an absent one.
    """

    _closed: ClassVar[bool] = True

    rate: float
    event: Event
    at_most: int | None = None
    population: int | None = None

    def __post_init__(self) -> None:
        if (self.at_most is None) != (self.population is None):
            allowed = "both or neither of at_most and population: how often a sample is cut depends on both"
            raise InvalidValueError(field="population", found=self.population, allowed=allowed, where="Subsample")


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(size=whole_number, population=_PARTS, event=_EVENT)
class FixedBatch(Event):
    """The event on a batch of `size` records, drawn without replacement from `population` records, anew, and in secret.

    Under replace-one: the population has a public size there, and `ratio` is how far a replaced record moves the sum.
    """

    _closed: ClassVar[bool] = True

    size: int
    population: int
    event: Event

    def __post_init__(self) -> None:
        if self.size > self.population:
            allowed = f"at most the population, {self.population}"
            raise InvalidValueError(field="size", found=self.size, allowed=allowed, where="FixedBatch")


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(event=_EVENT, steps=_PARTS, participations=whole_number)
class RandomAllocation(Event):
    """The event `steps` times, each record taking part in `participations` of them.

    Which ones is drawn uniformly, for each record independently of all others, and in secret (balls and bins at 1). Under
    replace-one the event inside must say how far a record may be from an absent one.
    """

    _closed: ClassVar[bool] = True

    event: Event
    steps: int
    participations: int = 1

    def __post_init__(self) -> None:
        if self.participations > self.steps:
            allowed = f"at most the number of steps, {self.steps}"
            raise InvalidValueError(
                field="participations", found=self.participations, allowed=allowed, where="RandomAllocation"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(event=_EVENT, batches=_PARTS, epochs=whole_number)
class ShuffledEpochs(Event):
    """The event once a batch: each epoch shuffles all records anew, in secret, and cuts them into `batches` batches.

    Under add-remove the place of an absent record stays empty, so that no other record moves; a loader that closes the gap
    is priced under replace-one. There the event inside must say how far a record may be from an absent one.
    """

    _closed: ClassVar[bool] = True

    event: Event
    batches: int
    epochs: int = 1


_MEAN = partial(finite_number, minimum=1.0, below=1e6)


def _shape(value: object, *, field: str, where: str) -> float:
    """A shape above -1; infinity stands for the Poisson law."""
    return math.inf if value == math.inf else finite_number(value, field=field, where=where, minimum=-1.0, strict=True)


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(event=_EVENT, mean=_MEAN, shape=_shape)
class RepeatAndSelect(Event):
    """The event a random number of times, of which the best one's output alone is given: private tuning.

    How often is secret and drawn from a truncated negative binomial law with this mean and shape: 1 is the geometric law, 0 the
    logarithmic one; infinity is the Poisson law, under which it may be never, and nothing is given. Which output is the best
    depends on the outputs alone. `dpkit.repetitions` draws the number.
    """

    _closed: ClassVar[bool] = True

    event: Event
    mean: float
    shape: float = 1.0


Sampling = Subsample | FixedBatch | RandomAllocation | ShuffledEpochs
"""The combinators in which a record takes part by chance."""

Nesting = Sampling | RepeatAndSelect
"""The combinators of one event that is priced by itself."""


def without_trivial_sampling(event: Sampling) -> Event:
    """An equal event that samples less: nothing where no record takes part, the event itself where every one always does.

    Nested Poisson samples are one sample.
    """
    if not flatten(event.event):
        return _NOTHING
    if isinstance(event, FixedBatch):
        return _NOTHING if event.size == 0 else event.event if event.size == event.population else event
    if isinstance(event, RandomAllocation):
        every = event.participations == event.steps
        plain = Repeat(event=event.event, times=event.steps) if every else event
        return _NOTHING if event.participations == 0 else plain
    if isinstance(event, ShuffledEpochs):
        return event.event if event.batches == 1 else event
    return _one_sample(event)


_NOTHING = Parallel(events=())


def _one_sample(event: Subsample) -> Event:
    rate, inner = event.rate, event.event
    if event.at_most is not None and event.population is not None:
        if rate == 0.0 or event.at_most == 0:
            return _NOTHING
        return event if event.at_most < event.population else Subsample(rate=rate, event=inner)
    while isinstance(inner, Subsample) and inner.at_most is None:
        # two secret coin flips are one: rounding up keeps the rate on the safe side
        rate, inner = min(1.0, round_up(Fraction(rate) * Fraction(inner.rate))), inner.event
    if rate == 0.0:
        return _NOTHING
    return inner if rate == 1.0 else Subsample(rate=rate, event=inner)


def states_absence(event: Event) -> bool:
    """Whether every leaf of this event says how far a record may be from an absent one."""
    for leaf in flatten(event):
        if isinstance(leaf, Parallel):
            if not all(map(states_absence, leaf.events)):
                return False
        elif isinstance(leaf, Nesting):
            if not states_absence(leaf.event):
                return False
        elif not leaf.states_absence():
            return False
    return True


def under_add_remove(event: Event) -> Event:
    """This event where a record comes or goes: each leaf that states how far that moves it is measured at no less than that."""
    if isinstance(event, Parallel):
        cells = tuple(map(under_add_remove, event.events))
        return event if cells == event.events else Parallel(events=cells)
    if isinstance(event, Nesting):
        inner = under_add_remove(event.event)
        return event if inner is event.event else replace(event, event=inner)
    if not isinstance(event, Repeat | Compose):
        return event.under_add_remove()
    counts = flatten(event)
    moved = [under_add_remove(leaf) for leaf in counts]
    if all(one is leaf for one, leaf in zip(moved, counts, strict=True)):
        return event
    return Compose(events=tuple(Repeat(event=one, times=n) for one, n in zip(moved, counts.values(), strict=True)))


def needs_public_size(event: Event) -> bool:
    """Whether some batch of this event is cut from a population whose size is the same under both neighbours."""
    for leaf in flatten(event):
        if isinstance(leaf, FixedBatch | ShuffledEpochs):
            return True
        if any(map(needs_public_size, leaf.events if isinstance(leaf, Parallel) else ())):
            return True
        if isinstance(leaf, Nesting) and needs_public_size(leaf.event):
            return True
    return False


def as_event(event_or_events: Event | Iterable[Event]) -> Event:
    """An event as it is; several as their composition."""
    if isinstance(event_or_events, Event):
        return event_or_events
    events = _EVENTS(event_or_events, field="events", where="account")
    return Compose(events=tuple(event for event in events if isinstance(event, Event)))


def flatten(event: Event) -> dict[Event, int]:
    """The multiset that `Repeat`, `Compose` and epochs describe: the one place where a count is multiplied out.

    What remains are leaves, `Parallel` and samplings (one epoch each), with how often each happens. Iterative, so that a
    deeply nested tree cannot exhaust the stack.
    """
    counts: dict[Event, int] = {}
    pending = [(event, 1)]
    while pending:
        current, times = pending.pop()
        if times > MOST_REPETITIONS:
            raise InvalidValueError(field="times", found=times, allowed=f"at most {MOST_REPETITIONS:g} in all", where="Repeat")
        if isinstance(current, Repeat):
            if current.times:
                pending.append((current.event, times * current.times))
        elif isinstance(current, Compose):
            pending.extend((inner, times) for inner in reversed(current.events))
        elif isinstance(current, ShuffledEpochs) and current.epochs != 1:
            if current.epochs:
                pending.append((replace(current, epochs=1), times * current.epochs))
        else:
            _check_leaf(type(current))
            counts[current] = counts.get(current, 0) + times
    return counts


def _check_leaf(kind: type[Event]) -> None:
    """Equal events are priced once, so an event must be what its fields say and nothing more."""
    parameters = getattr(kind, "__dataclass_params__", None)
    parts: dict[str, Field[object]] = getattr(kind, "__dataclass_fields__", {})
    if parameters is None or not (parameters.frozen and parameters.eq and all(part.compare for part in parts.values())):
        allowed = "a frozen dataclass whose fields all compare"
        raise InvalidValueError(field="event", found=kind.__name__, allowed=allowed, where="flatten")
