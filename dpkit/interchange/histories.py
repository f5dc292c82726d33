"""Histories of training runs: Opacus' (noise multiplier, rate, steps), and what jax_privacy is told."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpkit.interchange.foreign_runs import ALL_STEPS, BATCHES, CLIPPED, FRESH, POISSON, REPLACED, ForeignRun, not_readable
from dpkit.mechanisms.gaussian import GaussianEvent
from dpkit.numerics.rounding import round_down, round_up
from dpkit.pricing.event_text import ratio_of
from dpkit.privacy.events import Compose, Event, FixedBatch, Repeat, Subsample, flatten, under_add_remove

Segment = tuple[float, float, int]
"""A noise multiplier, a sampling rate, and the number of steps taken with both."""

_SEGMENT = "(noise multiplier, rate, steps), with a multiplier > 0, a rate in [0, 1] and a whole number of steps"


def training_event(noise_multiplier: object, rate: object, steps: object) -> Event:
    """`steps` steps of Gaussian noise on Poisson samples."""
    if isinstance(steps, bool) or not isinstance(steps, numbers.Integral) or steps < 0:
        raise not_readable("steps", steps, _SEGMENT)
    if isinstance(rate, bool) or not isinstance(rate, numbers.Real) or not 0.0 <= float(rate) <= 1.0:
        raise not_readable("rate", rate, _SEGMENT)
    if not isinstance(noise_multiplier, numbers.Real):
        raise not_readable("noise multiplier", noise_multiplier, _SEGMENT)
    noise = GaussianEvent(ratio=ratio_of(float(noise_multiplier)))
    step: Event = noise if rate == 1.0 else Subsample(rate=float(rate), event=noise)
    return Repeat(event=step, times=int(steps))


def read_history(history: Sequence[Sequence[object]], *, origin: str = "a history") -> ForeignRun:
    """A list of (noise multiplier, rate, steps)."""
    parts = []
    for segment in history:
        if isinstance(segment, str) or not isinstance(segment, Sequence) or len(segment) != 3:
            raise not_readable(origin, segment, _SEGMENT)
        parts.append(training_event(*segment))
    return ForeignRun(event=Compose(events=tuple(parts)), origin=origin, assumed=(CLIPPED, POISSON, FRESH, ALL_STEPS))


def read_opacus(source: object) -> ForeignRun:
    """An accountant of Opacus, its `state_dict()`, a `PrivacyEngine`, or its history."""
    holder = getattr(source, "accountant", source)
    history = holder.get("history") if isinstance(holder, Mapping) else getattr(holder, "history", holder)
    if isinstance(history, str) or not isinstance(history, Sequence):
        raise not_readable("Opacus", type(source).__name__, "an accountant, its state_dict(), or a list of " + _SEGMENT)
    return read_history(history, origin="Opacus")


def write_opacus(event: Event) -> list[Segment]:
    """The history that Opacus would hold of this event: Gaussian noise, sampled or not, and nothing else."""
    history: list[Segment] = []
    for part, times in flatten(under_add_remove(event)).items():
        if isinstance(part, Subsample) and part.at_most is not None:
            raise not_readable("Opacus", "a Poisson sample that is cut", "one that is not: a cut one costs more")
        inner = part.event if isinstance(part, Subsample) else part
        rate = part.rate if isinstance(part, Subsample) else 1.0
        if not isinstance(inner, GaussianEvent) or inner.ratio == 0.0:
            raise not_readable("Opacus", type(inner).__name__, "Gaussian noise, sampled or not")
        history.append((round_down(1 / Fraction(inner.ratio)), rate, times))
    return history


_NOISE = ("noise_multiplier", "noise_multipliers")
_RATE = ("sampling_prob", "sampling_probability", "sample_rate", "rate")
_STEPS = ("iterations", "num_updates", "num_steps", "steps")
_SIZE = ("num_samples", "num_examples", "dataset_size")


def read_jax_privacy(source: object, *, steps: int | None = None) -> ForeignRun:
    """What jax_privacy is told of a run: `DpParams` with the number of updates as `steps`, or the arguments of `dpsgd_event`
    or `fixed_dpsgd_event`.

    Either as an object or as a mapping. A noise multiplier may be a list of (first step, multiplier), and a batch size one of
    (first step, size), as there. Batches of a fixed size are events of records that are replaced.
    """
    told = _Told(source, steps)
    total, bands, fixed = told.steps(), told.bands(), told.fixed()
    noises, batches = told.schedule(_NOISE), told.rates(bands)
    changes = sorted({first for first, _ in (*noises, *batches) if first < total})
    parts = []
    for first, after in zip(changes, [*changes[1:], total], strict=True):
        noise, rate = _at(noises, first), _at(batches, first)
        run = training_event(noise, rate, -(-(after - first) // bands))
        parts.append(told.batches(run, rate) if fixed else told.cut(run, bands))
    assumed = [CLIPPED, *([BATCHES, REPLACED] if fixed else [POISSON]), FRESH, ALL_STEPS]
    if told.truncated():
        assumed.append(
            "A sample that is too large is cut at random and in secret; `num_samples` is the most records there are."
        )
    if bands > 1:
        assumed.append(f"Records are cut into {bands} fixed groups, one of which each step samples from (arXiv 2306.08153).")
    return ForeignRun(event=Compose(events=tuple(parts)), origin="jax_privacy", assumed=tuple(assumed))


def write_jax_privacy(event: Event) -> list[dict[str, float | int]]:
    """The arguments of `jax_privacy.accounting.dpsgd_event`, one mapping for each kind of step."""
    return [
        {"noise_multiplier": noise, "iterations": steps, "sampling_prob": rate} for noise, rate, steps in write_opacus(event)
    ]


class _Told:
    """Fields of an object or of a mapping, by any of their names."""

    def __init__(self, source: object, steps: int | None) -> None:
        self._source, self._steps = source, steps
        users = self.get(("examples_per_user",))
        if users not in (None, 1):
            why = "price the privacy unit of one example, or bound what a user contributes"
            raise not_readable("jax_privacy", f"examples_per_user = {users}", why)
        if self.get(("is_finite_guarantee",)) not in (None, True):
            raise not_readable(
                "jax_privacy", "is_finite_guarantee = False", "a run that has a guarantee: this one says it has none"
            )

    def fixed(self) -> bool:
        """Whether its batches have a fixed size; `dataset_size` and `batch_size` are what `fixed_dpsgd_event` takes."""
        method = getattr(self.get(("sampling_method",)), "name", self.get(("sampling_method",)))
        if method not in (None, "POISSON", "FIXED_BATCH_SIZE"):
            raise not_readable("jax_privacy", f"sampling_method {method}", "POISSON or FIXED_BATCH_SIZE")
        if self.get(("replace",)):
            why = "batches without replacement: no theorem here covers a record that is drawn several times"
            raise not_readable("jax_privacy", "replace = True", why)
        named = all(self.get((name,)) is not None for name in ("dataset_size", "batch_size")) and self.get(_RATE) is None
        if method != "FIXED_BATCH_SIZE" and (method == "POISSON" or not named):
            return False
        if self.get(_RATE) is not None or self.truncated() is not None or self.bands() > 1:
            raise not_readable(
                "jax_privacy", "a fixed batch", "a batch size and a number of samples, and no rate, bands or cut"
            )
        return True

    def batches(self, run: Event, rate: float) -> Event:
        """The same steps on batches of a fixed size, in which a replaced record moves the sum by twice its norm."""
        size = int(self.get(_SIZE))
        assert isinstance(run, Repeat)
        noise = run.event.event if isinstance(run.event, Subsample) else run.event
        assert isinstance(noise, GaussianEvent)
        drawn = min(size, math.ceil(Fraction(rate) * size - Fraction(1, 1000)))  # rates are rounded up by less than that
        return replace(run, event=FixedBatch(size=drawn, population=size, event=GaussianEvent(ratio=2.0 * noise.ratio)))

    def get(self, names: Sequence[str]) -> Any:
        for name in names:
            found = self._source.get(name) if isinstance(self._source, Mapping) else getattr(self._source, name, None)
            if found is not None:
                return found
        return None

    def steps(self) -> int:
        found = self._steps if self._steps is not None else self.get(_STEPS)
        if isinstance(found, bool) or not isinstance(found, numbers.Integral) or found < 0:
            raise not_readable("jax_privacy", found, "the number of steps", fix="Give it: steps=1000.")
        return int(found)

    def bands(self) -> int:
        found = self.get(("cycle_length", "num_bands"))
        if found is None:
            return 1
        if isinstance(found, bool) or not isinstance(found, numbers.Integral) or found < 1:
            raise not_readable("jax_privacy", found, "a number of bands of at least 1")
        return int(found)

    def truncated(self) -> int | None:
        found = self.get(("truncated_batch_size",))
        if found is not None and (isinstance(found, bool) or not isinstance(found, numbers.Integral) or found < 1):
            raise not_readable("jax_privacy", found, "a truncated batch size of at least 1, or none")
        return None if found is None else int(found)

    def cut(self, steps: Event, bands: int) -> Event:
        """The steps with samples that are cut, where the run says so."""
        most, size = self.truncated(), self.get(_SIZE)
        if most is None or not isinstance(steps, Repeat):
            return steps
        if isinstance(size, bool) or not isinstance(size, numbers.Integral) or bands > 1:
            raise not_readable("jax_privacy", "truncated batches", "the number of samples beside them, and no bands")
        # at a rate of 1, too, a record that comes takes the place of another one
        step = steps.event if isinstance(steps.event, Subsample) else Subsample(rate=1.0, event=steps.event)
        return replace(steps, event=replace(step, at_most=most, population=int(size)))

    def schedule(self, names: Sequence[str]) -> list[tuple[int, Any]]:
        found = self.get(names)
        if found is None:
            raise not_readable("jax_privacy", "nothing", f"{names[0]}")
        pairs: list[tuple[int, Any]] = [(0, _plain(found))]
        if not isinstance(pairs[0][1], numbers.Real):
            try:
                pairs = sorted(((int(first), _plain(value)) for first, value in found), key=lambda pair: pair[0])
            except (TypeError, ValueError):
                raise not_readable(
                    "jax_privacy", found, f"{names[0]}: a number, or pairs of a first step and a number"
                ) from None
        if not pairs or pairs[0][0] != 0:
            raise not_readable("jax_privacy", pairs[:3], f"{names[0]} from step 0 on")
        return pairs

    def rates(self, bands: int) -> list[tuple[int, Any]]:
        if self.get(_RATE) is not None:
            return self.schedule(_RATE)
        size = self.get(_SIZE)
        if isinstance(size, bool) or not isinstance(size, numbers.Integral) or int(size) < bands:
            raise not_readable("jax_privacy", size, "a sampling rate, or a batch size and a number of samples")
        batches = self.schedule(("batch_sizes", "batch_size"))
        # a schedule may scale a batch to half a record
        return [(first, round_up(Fraction(_finite(batch)) / (int(size) // bands))) for first, batch in batches]


def _plain(value: Any) -> Any:
    """A number, of an array that holds one."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


def _finite(batch: object) -> float:
    if isinstance(batch, bool) or not isinstance(batch, numbers.Real) or not 0.0 <= float(batch) < math.inf:
        raise not_readable("jax_privacy", batch, "a batch size")
    return float(batch)


def _at(schedule: Sequence[tuple[int, Any]], step: int) -> Any:
    return [value for first, value in schedule if first <= step][-1]
