"""Integer noise for counts: discrete Laplace and discrete Gaussian, sampled exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from dpkit.errors import InvalidValueError
from dpkit.mechanisms import mechanism_base
from dpkit.mechanisms.discrete_laplace_pair import DiscreteLaplaceCurve, DiscreteLaplacePair, checked_steps
from dpkit.mechanisms.gaussian import gaussian_accuracy
from dpkit.mechanisms.laplace import laplace_combined_accuracy
from dpkit.numerics.noise.discrete_noise import (
    LARGEST_SUM,
    LARGEST_VALUE,
    add_saturating,
    checked_discrete_scale,
    discrete_gaussian,
    discrete_laplace,
)
from dpkit.numerics.noise.noise_inputs import checked_integers
from dpkit.numerics.noise.randomness import secure_generator, stamped
from dpkit.numerics.rounding import round_up
from dpkit.privacy.checks import checked, nonnegative, or_none
from dpkit.privacy.claims import LossRule, always, finite, rule
from dpkit.privacy.events import Event
from dpkit.privacy.losses import ZCDP, PureDP
from dpkit.privacy.neighbours import Distance
from dpkit.values import dataclass

IntArray = npt.NDArray[np.int64]


class Sampler(Protocol):
    """Draws integer noise."""

    def __call__(self, *, scale: float, size: tuple[int, ...], rng: np.random.Generator) -> IntArray: ...


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
@checked(ratio=nonnegative, sensitivity=or_none(checked_steps))
class DiscreteLaplaceEvent(Event):
    """Discrete Laplace noise on integers; `ratio` is the L1 sensitivity over the scale.

    For a sensitivity of 1 the loss is always exactly +-ratio: as bad as any pure release of that epsilon, and worse than
    continuous Laplace noise. So it is priced as pure where nothing else is said. `sensitivity`, a whole number, says by how
    much the whole numbers may move, all entries together: then the price is exact, and less than that of a pure release
    where it is above 1.
    """

    cheaper_below: ClassVar[tuple[str, ...]] = ("ratio",)

    ratio: float
    sensitivity: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(ratio=nonnegative)
class DiscreteGaussianEvent(Event):
    """Discrete Gaussian noise on integers; `ratio` is the L2 sensitivity over the scale."""

    cheaper_below: ClassVar[tuple[str, ...]] = ("ratio",)

    ratio: float


def _steps_of_laplace(event: DiscreteLaplaceEvent) -> DiscreteLaplacePair | None:
    if event.sensitivity is None or event.sensitivity == 1:  # one step is the pure case, and is priced as such
        return None
    return DiscreteLaplacePair(ratio=event.ratio, sensitivity=event.sensitivity)


def _curve_of_laplace(event: DiscreteLaplaceEvent) -> DiscreteLaplaceCurve | None:
    known = _steps_of_laplace(event)
    return None if known is None else DiscreteLaplaceCurve(ratio=known.ratio, sensitivity=known.sensitivity)


RULES: tuple[LossRule, ...] = (
    rule(
        "discrete-laplace-pure",
        DiscreteLaplaceEvent,
        PureDP,
        ("GRS09", "the geometric mechanism, at any integer distance"),
        lambda event: PureDP(epsilon=event.ratio),
        attained=lambda event: event.sensitivity == 1,
    ),
    # attained by one entry that moves by all of it
    rule(
        "discrete-laplace-pair",
        DiscreteLaplaceEvent,
        DiscreteLaplacePair,
        ("dpkit", "docs/proofs/pld.md, Lemma 14"),
        _steps_of_laplace,
        attained=always,
    ),
    rule(
        "discrete-laplace-renyi",
        DiscreteLaplaceEvent,
        DiscreteLaplaceCurve,
        ("dpkit", "docs/proofs/pld.md, Lemmas 13 and 14"),
        _curve_of_laplace,
    ),
    rule(
        "discrete-gaussian-zcdp",
        DiscreteGaussianEvent,
        ZCDP,
        ("CKS20", "Theorem 14"),
        lambda event: ZCDP(rho=finite(round_up(Fraction(event.ratio) ** 2 / 2), notion="rho")),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _IntegerNoise(mechanism_base.ScaleNoise):
    """Integers + integer noise, by a sampler that is exact. Abstract."""

    sampler: ClassVar[Sampler]

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", checked_discrete_scale(self.scale, where=type(self).__name__))

    @property
    def grid(self) -> float:
        """Outputs are whole numbers."""
        return 1.0

    def release(
        self, value: npt.ArrayLike, rng: np.random.Generator | None = None, *, saturate: float | None = None
    ) -> IntArray:
        """The noisy integers, clamped to 2**62. Values above 2**61 raise; with `saturate`, a public limit, they are clamped."""
        mechanism_base.checked_generator(rng)
        where = f"{type(self).__name__}.release"
        integers = checked_integers(value, largest=LARGEST_VALUE, saturate=saturate, where=where)
        source = secure_generator() if rng is None else rng
        noise = self.sampler(scale=self.scale, size=integers.shape, rng=source)
        return stamped(add_saturating(integers, noise), source, value=value)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplace(_IntegerNoise):
    """Integers + integer noise with P(x) proportional to exp(-|x|/scale)."""

    rules: ClassVar[tuple[LossRule, ...]] = RULES[:3]
    metric: ClassVar[str] = "l1"
    sampler: ClassVar[Sampler] = staticmethod(discrete_laplace)

    def event(self, at: Distance | Sequence[Distance], *, whole: bool = False) -> DiscreteLaplaceEvent:
        """A release whose value moves by at most this distance; `whole` has the event state it as its `sensitivity`.

        The distance is then a whole number. Plans and ledgers leave it unsaid, as they did before events could say so.
        """
        distance = mechanism_base.distance_in(at, metrics=(self.metric,), where="DiscreteLaplace")
        ratio = mechanism_base.ratio_up(distance, self.scale)
        if not whole or not distance:
            return DiscreteLaplaceEvent(ratio=ratio)
        if distance != math.floor(distance):
            allowed = "a whole number, as distances of whole numbers are"
            raise InvalidValueError(field="at", found=distance, allowed=allowed, where="DiscreteLaplace.event")
        return DiscreteLaplaceEvent(ratio=ratio, sensitivity=int(distance))

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """ln probability of the output, summed over the entries of the value; minus infinity for what is not whole."""
        distance = np.abs(_steps(output, value))
        normaliser = math.log(math.tanh(0.5 / self.scale))  # (1 - q)/(1 + q), q = exp(-1/scale)
        return mechanism_base.summed_over_value(normaliser - distance / self.scale, np.ndim(value))

    def accuracy(self, shape: Sequence[int] | int, confidence: float) -> float:
        """The largest absolute error over the shape at this confidence."""
        # P(|X| > t) = 2 q^(t+1)/(1+q) must be at most 1 - c^(1/m)
        log_tail = mechanism_base.log_tail(mechanism_base.entries(shape), confidence)
        needed = self.scale * (math.log(2.0) - log_tail - math.log1p(math.exp(-1.0 / self.scale)))
        return float(max(0, math.ceil(needed * (1.0 + 1e-12) - 1.0)))

    def combined_accuracy(self, norm: float, count: int, confidence: float, *, entries: int) -> float:
        """The accuracy of a sum of continuous Laplace noise, without rounding."""
        return laplace_combined_accuracy(self.scale, norm, count, confidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussian(_IntegerNoise):
    """Integers + integer noise with P(x) proportional to exp(-x^2/(2 scale^2))."""

    rules: ClassVar[tuple[LossRule, ...]] = RULES[3:]
    metric: ClassVar[str] = "l2"
    other_metrics: ClassVar[tuple[str, ...]] = ("l1",)  # which bounds it
    sampler: ClassVar[Sampler] = staticmethod(discrete_gaussian)

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """ln probability of the output, summed over the entries of the value; minus infinity for what is not whole."""
        z = _steps(output, value) / self.scale
        return mechanism_base.summed_over_value(-0.5 * z * z - _log_theta(self.scale), np.ndim(value))

    def accuracy(self, shape: Sequence[int] | int, confidence: float) -> float:
        """A bound on the largest absolute error over the shape: the tail is at most that of continuous noise, one step on.

        P(X >= t) <= P(N >= t - 1) (CKS20, Proposition 25).
        """
        return float(math.ceil(gaussian_accuracy(self.scale, mechanism_base.entries(shape), confidence)) + 1)

    def combined_accuracy(self, norm: float, count: int, confidence: float, *, entries: int) -> float:
        """By Chernoff's bound and a sum over combinations: integer Gaussian noise is subgaussian (CKS20, Fact 18)."""
        return self.scale * norm * math.sqrt(2.0 * math.log(2.0 * count / (1.0 - confidence))) * (1.0 + 1e-12)


def _log_theta(scale: float) -> float:
    """ln sum over integers of exp(-x^2/(2 scale^2)): directly for small scales, by Poisson summation for large ones."""
    if scale < 1.0:
        return math.log(1.0 + 2.0 * math.fsum(math.exp(-0.5 * (x / scale) ** 2) for x in range(1, 60)))
    dual = 1.0 + 2.0 * math.fsum(math.exp(-2.0 * (math.pi * scale * k) ** 2) for k in range(1, 10))
    return math.log(scale * math.sqrt(2.0 * math.pi)) + math.log(dual)


def _steps(output: npt.ArrayLike, value: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """How many whole steps the output is from the value; infinitely many where it is not whole, and so impossible.

    Integers are subtracted as such: float64 merges large ones, and unsigned ones would wrap around.
    """
    where = "log_density"
    answers = np.asarray(output)
    center = checked_integers(mechanism_base.whole(value), largest=LARGEST_VALUE, saturate=None, where=where)
    if answers.dtype.kind in "iu":
        within = checked_integers(answers, largest=LARGEST_SUM, saturate=LARGEST_SUM, where=where)
        return np.asarray(within - center, dtype=np.float64)
    floats = np.asarray(answers, dtype=np.float64)
    return np.where(floats == np.rint(floats), floats - center, math.inf)
