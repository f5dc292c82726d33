"""The price of somebody else's run in one call: interval, theorems, other accountants, and what is assumed."""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from dpkit.accounting import account
from dpkit.contracts.accountant import AnyAccountant
from dpkit.contracts.guarantee import Guarantee
from dpkit.contracts.registry import Registry
from dpkit.errors import NoIntervalError, SerialisationError
from dpkit.hooks.manager import default_registry
from dpkit.interchange.dp_events import is_dp_event, read_dp_event, write_dp_event
from dpkit.interchange.foreign_runs import (
    BATCHES,
    POISSON,
    REPLACED,
    SELECTED,
    ForeignRun,
    not_readable,
    of_replaced_records,
)
from dpkit.interchange.histories import read_history, read_jax_privacy, read_opacus, write_jax_privacy, write_opacus
from dpkit.numerics.rounding import format_down, format_up, in_full, percent_up
from dpkit.pricing.event_text import parse_event
from dpkit.pricing.explain import Explanation
from dpkit.pricing.serialise import dump, parse, strict_json
from dpkit.privacy.checks import probability_below_one
from dpkit.privacy.events import Event, FixedBatch, RandomAllocation, RepeatAndSelect, ShuffledEpochs, Subsample
from dpkit.privacy.neighbours import Neighbours
from dpkit.values import dataclass

FORMS = ("dpkit", "dp-accounting", "opacus", "jax-privacy")
_LARGEST_FILE = 50_000_000


def read(source: object, *, steps: int | None = None, registry: Registry | None = None) -> ForeignRun:
    """A run in any form that is known: an event, a DpEvent, a history or an accountant of Opacus, parameters of jax_privacy, a
    text as `parse_event` reads it, JSON of any of these, or a file of JSON.
    """
    known = default_registry() if registry is None else registry
    if isinstance(source, ForeignRun):
        return source
    if isinstance(source, Event):
        return ForeignRun(event=source, origin="dpkit")
    if isinstance(source, Path) or (isinstance(source, str) and source.endswith(".json")):
        return _document(strict_json(_text(Path(source))), steps, known)
    if isinstance(source, str):
        stripped = source.lstrip()
        if stripped[:1] in "{[" and stripped:
            return _document(strict_json(source), steps, known)
        return ForeignRun(event=parse_event(source, registry=known), origin="text")
    return _document(source, steps, known)


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise SerialisationError(reason=f"{path.name} is larger than {_LARGEST_FILE} bytes.")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = f"{path.name!r} cannot be read ({type(error).__name__})."
        raise SerialisationError(reason=reason, fix="Check the path, or write the event as text.") from None


def _document(source: object, steps: int | None, registry: Registry) -> ForeignRun:
    if isinstance(source, Mapping) and "dpkit" in source and "value" in source:
        import json

        value = parse(json.dumps(source), registry=registry)
        if not isinstance(value, Event):
            raise not_readable("dpkit", type(value).__name__, "an event")
        return ForeignRun(event=value, origin="dpkit")
    if is_dp_event(source):
        return read_dp_event(source)
    if isinstance(source, Mapping):
        return read_opacus(source) if "history" in source else read_jax_privacy(source, steps=steps)
    if isinstance(source, Sequence) and not isinstance(source, str | bytes):
        triple = len(source) == 3 and all(isinstance(part, numbers.Real) for part in source)
        return read_history([source] if triple else source)
    if hasattr(source, "noise_multipliers") and hasattr(source, "num_samples"):
        return read_jax_privacy(source, steps=steps)
    if hasattr(source, "history") or hasattr(source, "accountant"):
        return read_opacus(source)
    raise not_readable("run", type(source).__name__, "an event, a DpEvent, a history, what jax_privacy is told, a text or JSON")


def write(event: Event, form: str = "dp-accounting") -> Any:
    """The event in another package's form: `dp-accounting`, `opacus`, `jax-privacy`, or `dpkit` for its JSON."""
    writers = {"dpkit": dump, "dp-accounting": write_dp_event, "opacus": write_opacus, "jax-privacy": write_jax_privacy}
    name = form.lower().replace("_", "-") if isinstance(form, str) else ""
    if name not in writers:
        raise not_readable("form", form, f"one of {', '.join(FORMS)}")
    if not isinstance(event, Event):
        raise not_readable("event", type(event).__name__, "an event")
    return writers[name](event)


def price(
    source: object,
    *,
    delta: float = 1e-6,
    accountant: str | AnyAccountant = "best",
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    steps: int | None = None,
    registry: Registry | None = None,
) -> PricedRun:
    """What a run costs, in any form that `read` takes.

    Noise multipliers of other packages are relative to the norm of one record; under replace-one a record moves the sum by up
    to twice that, and is priced so. An event of dpkit, or a text, has the distances of its relation already.
    """
    probability_below_one(delta, field="delta", where="price")
    run = read(source, steps=steps, registry=registry)
    if neighbours is Neighbours.REPLACE_ONE and run.origin not in ("dpkit", "text"):
        assumed = tuple(dict.fromkeys((*run.assumed, REPLACED)))
        run = ForeignRun(event=of_replaced_records(run.event), origin=run.origin, assumed=assumed)
    return PricedRun(run=run, delta=delta, guarantee=account(run.event, accountant, neighbours, registry))


_TAKEN_FOR_GRANTED: Mapping[type[Event], str] = {
    Subsample: POISSON,
    FixedBatch: BATCHES,
    RandomAllocation: "Each record's steps are drawn at random, independently of all others, and in secret.",
    ShuffledEpochs: "Each epoch shuffles all records anew, in secret; an absent record leaves its place empty.",
    RepeatAndSelect: SELECTED,
}


def _kinds_in(event: Event) -> Iterator[type[Event]]:
    """The classes of an event and of all that it is made of."""
    yield type(event)
    inner: object = getattr(event, "events", None) or getattr(event, "event", ())
    for one in inner if isinstance(inner, tuple) else (inner,):
        if isinstance(one, Event):
            yield from _kinds_in(one)


@dataclass(frozen=True, kw_only=True)
class PricedRun:
    """A run with its price; `str()` of it is for people, `as_json()` for programs."""

    run: ForeignRun
    delta: float
    guarantee: Guarantee

    @cached_property
    def explanation(self) -> Explanation:
        """Which theorem priced which part, and what other accountants say."""
        return self.guarantee.explain(delta=self.delta)

    @property
    def epsilon(self) -> float:
        """The price at delta, an upper bound."""
        return self.explanation.epsilon

    @cached_property
    def interval(self) -> tuple[float, float] | None:
        """[lower, upper] around the exact epsilon; None where pairs are not attained, or the accountant knows no lower end."""
        try:
            return self.guarantee.interval(delta=self.delta)
        except NoIntervalError:
            return None

    @cached_property
    def power(self) -> float:
        """The largest true-positive rate of an attack with 5% false alarms."""
        return self.guarantee.power(0.05)

    @property
    def assumed(self) -> tuple[str, ...]:
        """What had to be assumed."""
        relation = f"Neighbours are {self.guarantee.neighbours}: nothing else is protected."
        kinds = set(_kinds_in(self.run.event))
        usual = [text for kind, text in _TAKEN_FOR_GRANTED.items() if kind in kinds]
        return (relation, *dict.fromkeys((*usual, *self.run.assumed)))

    def __str__(self) -> str:
        head, *rest = str(self.explanation).splitlines()
        lines = [head]
        if self.interval is not None:
            lower, upper = self.interval
            lines.append(f"  certified: between {format_down(lower, digits=10)} and {format_up(upper, digits=10)}")
        lines += rest
        lines.append(
            f"  any attack finds out with probability at most {percent_up(self.power)} at 5% false alarms; "
            f"a guess at even odds is right in at most {percent_up(self.guarantee.posterior(0.5))}"
        )
        lines += ["assumed:", *(f"  - {text}" for text in self.assumed)]
        return "\n".join(lines)

    def as_json(self) -> dict[str, object]:
        """Everything in it."""
        explained = self.explanation
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "interval": None if self.interval is None else list(self.interval),
            "neighbours": str(self.guarantee.neighbours),
            "accountant": explained.accountant,
            "read_by": f"{explained.because}",
            "theorems": [
                {
                    "times": line.times,
                    "event": line.event,
                    "rule": line.rule,
                    "via": line.conversion,
                    "because": [str(citation) for citation in line.because],
                    "share": line.share,
                }
                for line in explained.lines
            ],
            "accountants": {explained.accountant: self.epsilon, **dict(explained.others)},
            "cannot_price": list(explained.refused),
            "power_at_5_percent": self.power,
            "posterior_at_even_odds": self.guarantee.posterior(0.5),
            "origin": self.run.origin,
            "assumed": list(self.assumed),
            "at": f"epsilon {format_up(self.epsilon)} at delta {in_full(self.delta)}",
        }
