"""What the mechanisms share: noise of one scale, and all that a third party's own noise needs beside law, density and theorems.

Below it: picking a distance, checking the generator, claims from loss rules, and what accuracy needs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpkit.contracts.factories import MechanismFactory
from dpkit.contracts.parameters import Parameter
from dpkit.errors import InvalidValueError, LossOverflowError
from dpkit.numerics.noise.exact_rounding import NoiseLaw, Tail, exactly_rounded, grid_for
from dpkit.numerics.noise.lazy_uniform import new_context
from dpkit.numerics.noise.noise_inputs import checked_scale, given_array
from dpkit.numerics.noise.randomness import secure_generator, stamped
from dpkit.numerics.rounding import round_up
from dpkit.privacy.claims import Claim, LossRule
from dpkit.privacy.events import Event
from dpkit.privacy.neighbours import Distance, Neighbours
from dpkit.values import dataclass

ASSUMING = ("the random bits are uniform", "the running time is not observed")
"""What every exact release assumes: ChaCha20 is a pseudorandom function, and the rare slow path is not timed."""


MOST_DRAWS = 10**12
"""More would not fit into any memory; numpy's own error for it is of another kind."""


def checked_generator(rng: np.random.Generator | None) -> np.random.Generator | None:
    """The generator given. None stands for a new secure one, which is keyed only once everything else is checked."""
    if rng is not None and not isinstance(rng, np.random.Generator):
        raise InvalidValueError(
            field="rng", found=type(rng).__name__, allowed="a numpy.random.Generator, or None for secure bits", where="release"
        )
    return rng


def generator(rng: np.random.Generator | None) -> np.random.Generator:
    """The generator given, or a new secure one. Call it after the value was checked: bad input draws nothing."""
    given = checked_generator(rng)
    return secure_generator() if given is None else given


def repeated(value: npt.ArrayLike, n: int) -> npt.NDArray[Any]:
    """The value n times along a new first axis, for `release_many`."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 0 <= n <= MOST_DRAWS:
        raise InvalidValueError(field="n", found=n, allowed=f"a whole number from 0 to {MOST_DRAWS:g}", where="release_many")
    array = given_array(value, where="release_many")
    return stamped(np.broadcast_to(array, (int(n), *array.shape)), None, value=value)


def distance_in(at: Distance | Sequence[Distance], *, metrics: Sequence[str], where: str) -> float:
    """The value of the first distance given whose metric the mechanism understands, in the mechanism's order of preference."""
    given = (at,) if isinstance(at, Distance) or not isinstance(at, Iterable) else tuple(at)
    for metric in metrics:
        for distance in given:
            if isinstance(distance, Distance) and distance.metric == metric:
                return distance.value
    found = ", ".join(getattr(distance, "metric", type(distance).__name__) for distance in given) or "nothing"
    raise InvalidValueError(field="at", found=found, allowed="a distance in " + " or ".join(metrics), where=f"{where}.event")


def ratio_up(distance: float, scale: float, *, factor: int | Fraction = 1) -> float:
    """factor * distance / scale, rounded up."""
    ratio = round_up(factor * Fraction(distance) / Fraction(scale))
    if ratio == float("inf"):
        raise LossOverflowError(notion="ratio")
    return ratio


def claims_of(
    event: Event, rules: Sequence[LossRule], *, neighbours: Neighbours, assuming: tuple[str, ...] = ASSUMING
) -> tuple[Claim, ...]:
    """One claim for each rule that speaks of this event: the accountants and the auditor read the same theorems."""
    found = []
    for rule in rules:
        if isinstance(event, rule.event) and neighbours in rule.neighbours:
            loss = rule.bound(event)
            if loss is not None:
                claim = Claim(loss=loss, neighbours=neighbours, because=rule.because, assuming=assuming, status=rule.status)
                found.append(claim)
    return tuple(found)


def summed_over_value(terms: npt.NDArray[np.float64], value_axes: int) -> npt.NDArray[np.float64]:
    """Sum the log densities of independent entries over the axes of the value; the axes before them count outputs.

    An output that is no number is impossible, as no release is.
    """
    terms = np.where(np.isnan(terms), -math.inf, terms)
    axes = tuple(range(terms.ndim - value_axes, terms.ndim))
    return np.asarray(np.sum(terms, axis=axes) if axes else terms, dtype=np.float64)


def whole(value: npt.ArrayLike) -> npt.ArrayLike:
    """The value of a density, with floats that are whole numbers as integers; anything else as it is, to be checked."""
    array = np.asarray(value)
    if array.dtype.kind == "f" and np.all((array == np.rint(array)) & (np.abs(array) <= 2.0**53)):
        return array.astype(np.int64)
    return value


def checked_confidence(confidence: float) -> float:
    """A confidence strictly between 0 and 1."""
    if isinstance(confidence, bool) or not isinstance(confidence, int | float | np.floating) or not 0.0 < confidence < 1.0:
        allowed = "a number strictly between 0 and 1"
        raise InvalidValueError(field="confidence", found=confidence, allowed=allowed, where="accuracy")
    return float(confidence)


def checked_shape(shape: Sequence[int] | int) -> tuple[int, ...]:
    """A shape as a tuple of whole numbers."""
    sizes = (shape,) if not isinstance(shape, Iterable) else tuple(shape)
    for size in sizes:
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
            raise InvalidValueError(field="shape", found=shape, allowed="whole numbers >= 0", where="accuracy")
    return tuple(int(size) for size in sizes)


def entries(shape: Sequence[int] | int) -> int:
    """How many numbers an array of this shape holds; at least one."""
    return max(1, math.prod(checked_shape(shape)))


def log_tail(count: int, confidence: float) -> float:
    """ln of the tail probability that each of `count` independent errors may have: 1 - confidence^(1/count), for any count."""
    rate = -math.log(checked_confidence(confidence))
    log_share = math.log(rate) - math.log(count)  # an integer's logarithm knows no overflow
    # 1 - e^-x is x to within rounding when x is that small
    return log_share if log_share < -40.0 else math.log(-math.expm1(-rate / count))


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
        distance = distance_in(at, metrics=(self.metric, *self.other_metrics), where=type(self).__name__)
        kind: Any = self.rules[0].event
        made: Event = kind(ratio=ratio_up(distance, self.scale))
        return made

    @abstractmethod
    def release(
        self, value: npt.ArrayLike, rng: np.random.Generator | None = None, *, saturate: float | None = None
    ) -> npt.NDArray[Any]:
        """The noisy value, of the same shape. With `saturate`, a public limit, nothing raises on a value."""

    def release_many(self, value: npt.ArrayLike, n: int, rng: np.random.Generator | None = None) -> npt.NDArray[Any]:
        """n independent noisy values along the first axis."""
        return self.release(repeated(value, n), rng)

    def claims(self, at: Distance | Sequence[Distance], neighbours: Neighbours = Neighbours.ADD_REMOVE) -> tuple[Claim, ...]:
        """One claim a rule."""
        return claims_of(self.event(at), self.rules, neighbours=neighbours)


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
        source = checked_generator(rng)
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
        return summed_over_value(self.unit_log_density(z) - math.log(self.scale), center.ndim)

    def accuracy(self, shape: Sequence[int] | int, confidence: float) -> float:
        """The largest absolute error over the shape at this confidence, for independent entries, rounding included."""
        # each side of each entry is beyond t with probability of at most (1 - c^(1/m)) / 2
        tail = math.exp(log_tail(entries(shape), confidence)) / 2.0
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
