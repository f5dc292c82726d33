"""Noise of one scale: what the built-in ones share, and all that a third party's needs beside its law, density and theorems."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpkit.contracts.factories import MechanismFactory
from dpkit.contracts.parameters import Parameter
from dpkit.mechanisms import releasing
from dpkit.numerics.noise.exact_rounding import NoiseLaw, Tail, exactly_rounded, grid_for
from dpkit.numerics.noise.lazy_uniform import new_context
from dpkit.numerics.noise.noise_inputs import checked_scale
from dpkit.privacy.claims import Claim, LossRule
from dpkit.privacy.events import Event
from dpkit.privacy.neighbours import Distance, Neighbours


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleNoise(ABC):
    """Noise that is proportional to a `scale`. Abstract: a subclass says which noise, by `release`.

    `rules` are the theorems, all about one event class, whose only field is `ratio`: the distance in `metric` over the scale,
    rounded up. Where only a distance in one of `other_metrics` is known, it bounds that in `metric`. The claims of a release
    are these theorems, so auditors try what accountants use.
    """

    scale: float

    rules: ClassVar[tuple[LossRule, ...]]
    metric: ClassVar[str]
    other_metrics: ClassVar[tuple[str, ...]] = ()

    def event(self, at: Distance | Sequence[Distance]) -> Event:
        """A release whose value moves by at most this distance."""
        distance = releasing.distance_in(at, metrics=(self.metric, *self.other_metrics), where=type(self).__name__)
        kind: Any = self.rules[0].event
        made: Event = kind(ratio=releasing.ratio_up(distance, self.scale))
        return made

    @abstractmethod
    def release(
        self, value: npt.ArrayLike, rng: np.random.Generator | None = None, *, saturate: float | None = None
    ) -> npt.NDArray[Any]:
        """The noisy value, of the same shape. With `saturate`, a public limit, nothing raises on a value."""

    def release_many(self, value: npt.ArrayLike, n: int, rng: np.random.Generator | None = None) -> npt.NDArray[Any]:
        """n independent noisy values along the first axis."""
        return self.release(releasing.repeated(value, n), rng)

    def claims(self, at: Distance | Sequence[Distance], neighbours: Neighbours = Neighbours.ADD_REMOVE) -> tuple[Claim, ...]:
        """One claim a rule."""
        return releasing.claims_of(self.event(at), self.rules, neighbours=neighbours)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundedNoise(ScaleNoise):
    """value + scale * Z, an independent Z of the `law` in every entry, exactly rounded to a grid set by the scale. Abstract."""

    law: ClassVar[NoiseLaw]

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", checked_scale(self.scale, where=type(self).__name__))

    @property
    def grid(self) -> float:
        """The spacing of the outputs: a power of two, 2**-20 below the scale."""
        return grid_for(self.scale)

    def release(
        self, value: npt.ArrayLike, rng: np.random.Generator | None = None, *, saturate: float | None = None
    ) -> npt.NDArray[np.float64]:
        """The noisy value, of the same shape.

        NaN, infinities and magnitudes above 2**450 raise before anything is drawn; with `saturate`, a public limit,
        they are clamped (NaN counts as 0) and nothing raises on a value.
        """
        source = releasing.checked_generator(rng)
        return exactly_rounded(value, scale=self.scale, law=self.law, rng=source, saturate=saturate)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdditiveNoise(RoundedNoise):
    """value + scale * Z, an independent Z of the law in every entry, exactly rounded. Abstract: a subclass says which noise.

    It names `law`, that of Z, `rules` and `metric`: the theorems, all about one event class whose only field is `ratio`, the
    distance in `metric` over the scale, rounded up. And it writes the density of Z.
    """

    @abstractmethod
    def unit_log_density(self, z: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """ln of the density of Z, entry by entry: what makes audits far more powerful than samples alone."""

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """ln density of the unrounded output, summed over the entries of the value."""
        center = np.asarray(value, dtype=np.float64)
        z = (np.asarray(output, dtype=np.float64) - center) / self.scale
        return releasing.summed_over_value(self.unit_log_density(z) - math.log(self.scale), center.ndim)

    def accuracy(self, shape: Sequence[int] | int, confidence: float) -> float:
        """The largest absolute error over the shape at this confidence, for independent entries, rounding included."""
        # each side of each entry is beyond t with probability of at most (1 - c^(1/m)) / 2
        tail = math.exp(releasing.log_tail(releasing.entries(shape), confidence)) / 2.0
        sides = (self.law.upper,) if self.law.lower is None else (self.law.upper, self.law.lower)
        return self.scale * max(_beyond(side, tail) for side in sides) * (1.0 + 1e-12) + self.grid / 2.0

    @classmethod
    def factory(
        cls, *, name: str, doc: str, examples: tuple[float, ...] = (1.0, 0.3), deviation: float = 1.0
    ) -> MechanismFactory:
        """The mechanism under its name, with its scale as the declared parameter; `deviation` is that of Z."""
        scale = Parameter(
            name="scale", kind="number", doc="The scale of the noise.", minimum=1e-9, maximum=1e12, examples=examples
        )
        return MechanismFactory(name=name, doc=doc, make=cls, parameters=(scale,), metrics=(cls.metric,), deviation=deviation)


def _beyond(tail: Tail, probability: float) -> float:
    """A number that Z exceeds with at most this probability, and at least 0."""
    if probability >= tail.smallest:
        found = float(tail.quantile(np.array([min(probability, 0.5)]))[0]) + tail.error
        return max(found * (1.0 + 1e-12), found, 0.0)
    # further out the author promises the exact survival alone: go on until it is small enough
    context = new_context()
    limit = context.mpf(probability * (1.0 - 1e-9))
    reached = max(float(tail.quantile(np.array([tail.smallest]))[0]) + tail.error, 1.0)
    while reached < math.inf and tail.survival(context, context.mpf(reached)) >= limit:
        reached *= 1.01
    return reached
