"""A run of somebody else: what happened, as an event, and what had to be assumed to say so."""

from __future__ import annotations

from dataclasses import replace

from dpkit.errors import InvalidValueError
from dpkit.mechanisms.discrete import DiscreteLaplaceEvent
from dpkit.mechanisms.discrete_laplace_pair import MOST_STEPS
from dpkit.mechanisms.gaussian import GaussianEvent
from dpkit.mechanisms.laplace import LaplaceEvent
from dpkit.privacy.events import Compose, Event, Repeat, RepeatAndSelect, Subsample
from dpkit.values import dataclass

CLIPPED = "Each record moves the sum by at most the clipping norm, which the noise multiplier is relative to."
FRESH = "The noise is fresh in every step, and exact: what floats leak is not counted."
POISSON = (
    "Each batch is a Poisson sample: every record is drawn independently with the stated rate, in secret. "
    "A loader that shuffles and cuts does not sample so."
)
REPLACED = "A record that is replaced moves the sum by up to twice the clipping norm, and is priced so."
BATCHES = "Each batch is drawn without replacement, independently of the others, and in secret."
SELECTED = "How often it was repeated is secret, and the best output alone was given, chosen by the outputs themselves."
ALL_STEPS = "Every step is counted and may be seen; what was done besides (tuning, statistics of the data) is not in it."


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignRun:
    """An event read from another package's form; `assumed` is what that form takes for granted."""

    event: Event
    origin: str
    assumed: tuple[str, ...] = ()


def of_replaced_records(event: Event, *, sampled: bool = False) -> Event:
    """The event with the distances of replaced records: twice the clipping norm, to which noise multipliers are relative.

    In a Poisson sample a record's absence counts, too: it is the clipping norm away.
    """
    match event:
        case Repeat() | Subsample() | RepeatAndSelect():
            inner = of_replaced_records(event.event, sampled=sampled or isinstance(event, Subsample))
            return replace(event, event=inner)
        case Compose():
            return replace(event, events=tuple(of_replaced_records(one, sampled=sampled) for one in event.events))
        case GaussianEvent(ratio=ratio):
            return GaussianEvent(ratio=2.0 * ratio, absent=ratio if sampled else None)
        case LaplaceEvent():
            return replace(event, ratio=2.0 * event.ratio)
        case DiscreteLaplaceEvent(ratio=ratio, sensitivity=steps):
            return DiscreteLaplaceEvent(ratio=2.0 * ratio, sensitivity=None if steps is None else min(2 * steps, MOST_STEPS))
        case _:
            return event


def of_norms(event: Event) -> Event:
    """Gaussian steps with the distances of replaced records, by the norm of one record again."""
    match event:
        case Repeat() | Subsample() | RepeatAndSelect():
            return replace(event, event=of_norms(event.event))
        case Compose():
            return replace(event, events=tuple(map(of_norms, event.events)))
        case GaussianEvent(ratio=ratio):
            return GaussianEvent(ratio=0.5 * ratio)
        case _:
            return event


def not_readable(origin: str, found: object, allowed: str, fix: str = "") -> InvalidValueError:
    """The error of a form that cannot be read or written."""
    return InvalidValueError(field=origin, found=found, allowed=allowed, where="interchange", fix=fix)
