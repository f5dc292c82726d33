"""What the mechanisms share: picking a distance, checking the generator, claims from loss rules, and what accuracy needs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dpkit.errors import InvalidValueError, LossOverflowError
from dpkit.numerics.noise.noise_inputs import given_array
from dpkit.numerics.noise.randomness import secure_generator, stamped
from dpkit.numerics.rounding import round_up
from dpkit.privacy.claims import Claim, LossRule
from dpkit.privacy.events import Event
from dpkit.privacy.neighbours import Distance, Neighbours

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


def ratio_up(distance: float, scale: float, *, factor: int = 1) -> float:
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
