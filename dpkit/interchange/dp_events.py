"""dp-accounting's DpEvents: objects, their named tuples, and JSON with `class_name`; read without that package.

Each class of DpEvent has one reader, which gives an event or says why none is right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from importlib import import_module
from typing import Any

from dpkit.errors import MissingExtraError
from dpkit.interchange.foreign_runs import (
    ALL_STEPS,
    BATCHES,
    CLIPPED,
    POISSON,
    REPLACED,
    SELECTED,
    ForeignRun,
    not_readable,
    of_replaced_records,
)
from dpkit.mechanisms.discrete import DiscreteLaplaceEvent
from dpkit.mechanisms.discrete_laplace_pair import MOST_STEPS
from dpkit.mechanisms.gaussian import GaussianEvent
from dpkit.mechanisms.laplace import LaplaceEvent
from dpkit.mechanisms.randomized_response import RandomizedResponseEvent
from dpkit.numerics.rounding import outward, round_down, round_up, sqrt_up
from dpkit.pricing.event_text import ratio_of
from dpkit.privacy.events import (
    ApproxEvent,
    Compose,
    Event,
    FixedBatch,
    PureEvent,
    Repeat,
    RepeatAndSelect,
    Subsample,
    ZCDPEvent,
    under_add_remove,
)

ORIGIN = "dp-accounting"
STATED = "A loss that is stated as such holds under the relation that is asked about."
_DEEPEST = 200


def read_dp_event(source: object) -> ForeignRun:
    """The event that a DpEvent describes; `InvalidValueError` where no theorem here covers it, with the reason."""
    found: set[str] = {CLIPPED, ALL_STEPS}
    event = _read(source, found, 0)
    usual = [text for text in (CLIPPED, POISSON, ALL_STEPS) if text in found]
    return ForeignRun(event=event, origin=ORIGIN, assumed=(*usual, *sorted(found.difference(usual))))


def is_dp_event(source: object) -> bool:
    """Whether it looks like a DpEvent, a named tuple of one, or JSON of one, also of a class that nobody knows."""
    named = isinstance(source, Mapping) and "class_name" in source
    return named or _class_name(source).endswith("DpEvent") or _class_name(source) == "ZCDpEvent"


def _class_name(source: object) -> str:
    named = source.get("class_name") if isinstance(source, Mapping) else getattr(source, "class_name", None)
    text = named.decode() if isinstance(named, bytes) else named
    return text if isinstance(text, str) else type(source).__name__


def _field(source: object, name: str) -> Any:
    try:
        return source[name] if isinstance(source, Mapping) else getattr(source, name)
    except (KeyError, AttributeError):
        raise not_readable(_class_name(source), "nothing", f"a field {name!r}") from None


def _read(source: object, assumed: set[str], depth: int) -> Event:
    if depth > _DEEPEST:
        raise not_readable(ORIGIN, "deep nesting", f"at most {_DEEPEST} events in each other")
    name = _class_name(source)
    if name in _REFUSED:
        raise not_readable(name, name, _REFUSED[name])
    if name not in _READERS:
        raise not_readable(ORIGIN, name, f"one of {', '.join(sorted(_READERS))}")
    return _READERS[name](source, lambda inner: _read(inner, assumed, depth + 1), assumed)


Inner = Callable[[object], Event]
Reader = Callable[[object, Inner, set[str]], Event]


def _response(source: object, inner: Inner, assumed: set[str]) -> Event:
    """With probability p a uniform answer among k: odds of (1 - p + p/k) to p/k."""
    p, k = _field(source, "noise_parameter"), _field(source, "num_buckets")
    if not 0.0 < p <= 1.0 or not isinstance(k, int) or k < 2:
        raise not_readable("RandomizedResponseDpEvent", (p, k), "a noise_parameter in (0, 1] and at least 2 buckets")
    odds = float((1 - Fraction(p) + Fraction(p) / k) / (Fraction(p) / k))
    assumed.add("The number of answers is public: a record replaced changes one answer.")
    return RandomizedResponseEvent(epsilon=outward(math.log(odds), magnitude=max(1.0, math.log(odds))), categories=k)


def _discrete_laplace(source: object, inner: Inner, assumed: set[str]) -> Event:
    steps = _field(source, "sensitivity")
    exact = Fraction(_field(source, "noise_parameter")) * Fraction(steps)
    known = isinstance(steps, int) and 1 <= steps <= MOST_STEPS
    return DiscreteLaplaceEvent(ratio=round_up(exact), sensitivity=int(steps) if known else None)


def _poisson(source: object, inner: Inner, assumed: set[str]) -> Event:
    assumed.add(POISSON)
    return Subsample(rate=_field(source, "sampling_probability"), event=inner(_field(source, "event")))


def _tree(source: object, inner: Inner, assumed: set[str]) -> Event:
    """Each record is in one leaf of one tree, and so in at most as many nodes as the tree has levels that come to an end."""
    counts = _field(source, "step_counts")
    steps = max(counts) if isinstance(counts, Iterable) else counts
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise not_readable("SingleEpochTreeAggregationDpEvent", steps, "at least one step")
    height = steps.bit_length()
    assumed.add("Each record occurs in at most one leaf across all trees.")
    return GaussianEvent(ratio=sqrt_up(height * Fraction(ratio_of(_field(source, "noise_multiplier"))) ** 2))


def _mixture(source: object, inner: Inner, assumed: set[str]) -> Event:
    """A mixture of 0 and one sensitivity is a Poisson sample of Gaussian noise."""
    sizes, shares = tuple(_field(source, "sensitivities")), tuple(_field(source, "sampling_probs"))
    moved = [(size, share) for size, share in zip(sizes, shares, strict=True) if size != 0.0 and share != 0.0]
    if len(moved) > 1 or any(size < 0.0 for size, _ in moved):
        raise not_readable("MixtureOfGaussiansDpEvent", sizes, "one sensitivity beside 0: no rule here covers more")
    if not moved:
        return Compose(events=())
    assumed.add(POISSON)
    size, share = moved[0]
    ratio = round_up(Fraction(size) / Fraction(_field(source, "standard_deviation")))
    return Subsample(rate=share, event=GaussianEvent(ratio=ratio))


def _zcdp(source: object, inner: Inner, assumed: set[str]) -> Event:
    if _field(source, "xi"):
        raise not_readable("ZCDpEvent", _field(source, "xi"), "xi = 0: no event here has a constant in its curve")
    assumed.add(STATED)
    return ZCDPEvent(rho=_field(source, "rho"))


def _batch(source: object, inner: Inner, assumed: set[str]) -> Event:
    size, population = _field(source, "sample_size"), _field(source, "source_dataset_size")
    # such batches are priced under replace-one alone, where a record moves the sum by twice its norm
    event = FixedBatch(size=size, population=population, event=of_replaced_records(inner(_field(source, "event"))))
    assumed.add(REPLACED)
    assumed.add(BATCHES)
    return event


def _cut_sample(source: object, inner: Inner, assumed: set[str]) -> Event:
    """A Poisson sample that is cut at random to the largest batch."""
    assumed.add(POISSON)
    assumed.add("A sample that is too large is cut at random and in secret; the data has at most the stated number of records.")
    noise = GaussianEvent(ratio=ratio_of(_field(source, "noise_multiplier")))
    rate, most = _field(source, "sampling_probability"), _field(source, "truncated_batch_size")
    return Subsample(rate=rate, event=noise, at_most=most, population=_field(source, "dataset_size"))


def _selected(source: object, inner: Inner, assumed: set[str]) -> Event:
    """The best of a random number of runs."""
    assumed.add(SELECTED)
    mean, shape = float(_field(source, "mean")), float(_field(source, "shape"))
    return RepeatAndSelect(event=inner(_field(source, "event")), mean=mean, shape=shape)


def _approximate(source: object, inner: Inner, assumed: set[str]) -> Event:
    epsilon, delta = _field(source, "epsilon"), _field(source, "delta")
    assumed.add(STATED)
    return ApproxEvent(epsilon=epsilon, delta=delta) if delta else PureEvent(epsilon=epsilon)


_READERS: Mapping[str, Reader] = {
    "NoOpDpEvent": lambda source, inner, assumed: Compose(events=()),
    "GaussianDpEvent": lambda source, inner, _: GaussianEvent(ratio=ratio_of(_field(source, "noise_multiplier"))),
    "LaplaceDpEvent": lambda source, inner, _: LaplaceEvent(ratio=ratio_of(_field(source, "noise_multiplier"))),
    "DiscreteLaplaceDpEvent": _discrete_laplace,
    "RandomizedResponseDpEvent": _response,
    "EpsilonDeltaDpEvent": _approximate,
    "ZCDpEvent": _zcdp,
    "SelfComposedDpEvent": lambda source, inner, _: Repeat(event=inner(_field(source, "event")), times=_field(source, "count")),
    "ComposedDpEvent": lambda source, inner, _: Compose(events=tuple(inner(one) for one in _field(source, "events"))),
    "PoissonSampledDpEvent": _poisson,
    "SampledWithoutReplacementDpEvent": _batch,
    "SingleEpochTreeAggregationDpEvent": _tree,
    "MixtureOfGaussiansDpEvent": _mixture,
    "TruncatedSubsampledGaussianDpEvent": _cut_sample,
    "RepeatAndSelectDpEvent": _selected,
}

_REFUSED = {
    "NonPrivateDpEvent": "a private event: this one has no guarantee at all",
    "UnsupportedDpEvent": "an event that says what happened",
    "SampledWithReplacementDpEvent": "a Poisson sample: no theorem here covers a record that is drawn several times",
}


def write_dp_event(event: Event) -> Any:
    """The event as a DpEvent that costs no less; `InvalidValueError` where dp-accounting has none."""
    try:
        kinds = import_module("dp_accounting.dp_event")
    except ImportError:
        raise MissingExtraError(package="dp-accounting", purpose="Writing a DpEvent", extra="exchange") from None
    return _written(event, kinds, 0)


def _of_norms(event: Event) -> Event:
    """The Gaussian event of a batch, by the norm of a record: half of what a replaced one moves."""
    if not isinstance(event, GaussianEvent):
        raise not_readable(ORIGIN, type(event).__name__, "Gaussian noise in a fixed batch")
    return GaussianEvent(ratio=0.5 * event.ratio)


def _written_cut(event: Subsample, kinds: Any) -> Any:
    """A Poisson sample that is cut, as the one DpEvent that says so; written without the cut it would cost less."""
    inner, kind = under_add_remove(event.event), getattr(kinds, "TruncatedSubsampledGaussianDpEvent", None)
    if kind is None or not isinstance(inner, GaussianEvent) or inner.ratio == 0.0:
        raise not_readable(ORIGIN, "a Poisson sample that is cut", "Gaussian noise in it, or one that is not cut")
    return kind(
        dataset_size=event.population,
        sampling_probability=event.rate,
        truncated_batch_size=event.at_most,
        noise_multiplier=round_down(1 / Fraction(inner.ratio)),
    )


def _written(event: Event, kinds: Any, depth: int) -> Any:
    if depth > _DEEPEST:
        raise not_readable(ORIGIN, "deep nesting", f"at most {_DEEPEST} events in each other")
    match event:
        case Repeat(event=inner, times=times):
            return kinds.SelfComposedDpEvent(event=_written(inner, kinds, depth + 1), count=times)
        case Compose(events=()):
            return kinds.NoOpDpEvent()
        case Compose(events=inners):
            return kinds.ComposedDpEvent(events=[_written(inner, kinds, depth + 1) for inner in inners])
        case Subsample(at_most=int()):
            return _written_cut(event, kinds)
        case Subsample(rate=rate, event=inner):
            return kinds.PoissonSampledDpEvent(sampling_probability=rate, event=_written(inner, kinds, depth + 1))
        case RepeatAndSelect(event=inner, mean=mean, shape=shape) if shape >= 0.0:
            return kinds.RepeatAndSelectDpEvent(event=_written(inner, kinds, depth + 1), mean=mean, shape=shape)
        case GaussianEvent(ratio=ratio) | LaplaceEvent(ratio=ratio) if ratio == 0.0:
            return kinds.NoOpDpEvent()
        case GaussianEvent() if event.under_add_remove() != event:
            return _written(event.under_add_remove(), kinds, depth + 1)
        case GaussianEvent(ratio=ratio):
            return kinds.GaussianDpEvent(noise_multiplier=round_down(1 / Fraction(ratio)))
        case LaplaceEvent(ratio=ratio):
            return kinds.LaplaceDpEvent(noise_multiplier=round_down(1 / Fraction(ratio)))
        case DiscreteLaplaceEvent(ratio=ratio, sensitivity=steps):
            one = round_up(Fraction(ratio) / (steps or 1))
            return kinds.DiscreteLaplaceDpEvent(noise_parameter=one, sensitivity=steps or 1)
        case ZCDPEvent(rho=rho) if hasattr(kinds, "ZCDpEvent"):
            return kinds.ZCDpEvent(rho=rho)
        case PureEvent(epsilon=epsilon):
            # two answers, the worst of all pure releases; the probability of a uniform answer is rounded down
            p = 2.0 / (1.0 + math.exp(min(epsilon, 700.0))) * (1.0 - 1e-15)
            return kinds.RandomizedResponseDpEvent(noise_parameter=p, num_buckets=2)
        case RandomizedResponseEvent(epsilon=epsilon, categories=k):
            p = k / (k - 1.0 + math.exp(min(epsilon, 700.0))) * (1.0 - 1e-15)
            return kinds.RandomizedResponseDpEvent(noise_parameter=p, num_buckets=k)
        case FixedBatch(size=size, population=population, event=inner):
            noise = _written(_of_norms(inner), kinds, depth + 1)
            return kinds.SampledWithoutReplacementDpEvent(source_dataset_size=population, sample_size=size, event=noise)
        case _:
            allowed = "Gaussian, Laplace, discrete Laplace, pure and zCDP events, samples and compositions of them"
            raise not_readable(ORIGIN, type(event).__name__, allowed)
