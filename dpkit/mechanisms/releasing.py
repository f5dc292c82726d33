"""What the mechanisms share: picking a distance, the generator and its stamp, and claims from loss rules."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dpkit.core.claims import Claim
from dpkit.core.distances import Distance
from dpkit.core.events import Event
from dpkit.core.loss_rules import LossRule
from dpkit.core.neighbours import Neighbours
from dpkit.errors import InvalidValueError, LossOverflowError
from dpkit.numerics.rounding import round_up

ASSUMING = ("the random bits are uniform", "the running time is not observed")
"""What every exact release assumes: ChaCha20 is a pseudorandom function, and the rare slow path is not timed."""


class Simulated(np.ndarray[Any, np.dtype[Any]]):
    """An output whose randomness came from outside dpkit: for tests and simulations, never a private release.

    Arithmetic keeps the stamp; taking an entry out, stacking and `np.asarray` lose it, so stamp what is built from such parts.
    """

    simulation = True


def generator(rng: np.random.Generator | None) -> np.random.Generator:
    """The generator given, or a new secure one."""
    from dpkit.numerics.randomness import secure_generator

    if rng is None:
        return secure_generator()
    if not isinstance(rng, np.random.Generator):
        raise InvalidValueError(
            field="rng", found=type(rng).__name__, allowed="a numpy.random.Generator, or None for secure bits", where="release"
        )
    return rng


def stamped(output: npt.NDArray[Any], rng: np.random.Generator) -> npt.NDArray[Any]:
    """The output as it is when its bits are secure; marked as simulated when they are not."""
    from dpkit.numerics.randomness import is_secure

    array = np.asarray(output)
    return array if is_secure(rng) else array.view(Simulated)


def repeated(value: npt.ArrayLike, n: int) -> npt.NDArray[Any]:
    """The value n times along a new first axis, for `release_many`."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
        raise InvalidValueError(field="n", found=n, allowed="a whole number >= 0", where="release_many")
    array = np.asarray(value)
    return np.broadcast_to(array, (int(n), *array.shape))


def distance_in(at: Distance | Sequence[Distance], *, metrics: Sequence[str], where: str) -> float:
    """The value of the first distance given whose metric the mechanism understands, in the mechanism's order of preference."""
    given = (at,) if isinstance(at, Distance) else tuple(at)
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
    """Sum the log densities of independent entries over the axes of the value; the axes before them count outputs."""
    axes = tuple(range(terms.ndim - value_axes, terms.ndim))
    return np.asarray(np.sum(terms, axis=axes) if axes else terms, dtype=np.float64)


def checked_confidence(confidence: float) -> float:
    """A confidence strictly between 0 and 1."""
    if isinstance(confidence, bool) or not isinstance(confidence, int | float | np.floating) or not 0.0 < confidence < 1.0:
        allowed = "a number strictly between 0 and 1"
        raise InvalidValueError(field="confidence", found=confidence, allowed=allowed, where="accuracy")
    return float(confidence)


def entries(shape: Sequence[int] | int) -> int:
    """How many numbers an array of this shape holds; at least one."""
    sizes = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    total = 1
    for size in sizes:
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
            raise InvalidValueError(field="shape", found=shape, allowed="whole numbers >= 0", where="accuracy")
        total *= int(size)
    return max(1, total)
