"""What happened, apart from what it costs: leaves are open (plugins add theirs), the four combinators are closed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import Field, dataclass
from functools import partial
from typing import ClassVar

from dpkit.errors import InvalidValueError
from dpkit.privacy.checks import checked, instance_of, nonnegative, probability_below_one, sampling_rate, tuple_of, whole_number

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


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(rate=sampling_rate, event=_EVENT)
class Subsample(Event):
    """The event on a Poisson sample: each record is kept with probability `rate`, independently, and in secret."""

    _closed: ClassVar[bool] = True

    rate: float
    event: Event


def as_event(event_or_events: Event | Iterable[Event]) -> Event:
    """An event as it is; several as their composition."""
    if isinstance(event_or_events, Event):
        return event_or_events
    events = _EVENTS(event_or_events, field="events", where="account")
    return Compose(events=tuple(event for event in events if isinstance(event, Event)))


def flatten(event: Event) -> dict[Event, int]:
    """The multiset that `Repeat` and `Compose` describe: the one place where a count is multiplied out.

    What remains are leaves, `Parallel` and `Subsample`, each with how often it happens. Iterative, so that a deeply
    nested tree cannot exhaust the stack.
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
