"""Exactly rounded noise: value + scale * Z, rounded to a grid as if it had been computed with real numbers.

The ideal mechanism adds a real random variable; rounding its answer to a grid that does not depend on the data is
post-processing, so every claim about the ideal mechanism holds for what is returned here, and no sensitivity grows
(docs/proofs/exactly-rounded-noise.md). Assumptions: the words of the generator are independent and uniform, the law's
declared `error` and `slope` hold, and the running time is not observed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpkit.errors import InvalidValueError
from dpkit.numerics.noise.lazy_uniform import LazyUniform, Precision, Real, enclose_decreasing, last_true, new_context
from dpkit.numerics.noise.noise_inputs import FloatArray, checked_grid, checked_scale, checked_value
from dpkit.numerics.noise.randomness import random_words, secure_generator, stamped
from dpkit.numerics.special import distinct
from dpkit.values import dataclass

GRID_BITS = 20
"""The default grid is this many bits below the leading bit of the scale."""

_BLOCK = 1 << 14  # entries a block: its arrays stay in the second-level cache
_UNIT_ROUNDOFF = 2.0**-53
_WHERE = "exactly_rounded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """The part of a continuous law above its median, as a fast inverse with its margin and as an exact function.

    With S(z) = P(Z > z) and Q its inverse, the author promises:

    - `quantile(p)`, vectorised in float64, is within `error` of Q(p) for every float64 p in [smallest, 1/2] (smaller p
      are tried too, as a hint where to search: any answer will do there);
    - |p Q'(p)| <= `slope` for real p in [smallest / 2, 1/2] (what an unseen bit of p can move);
    - `survival(context, z)` is S(z) with a relative error of at most 2**-(context.prec - GUARD_BITS), for z at or above
      the median; below, any value of at least 1/2 will do. `context` is an mpmath context (`exp`, `expm1`, `log`, `erfc`,
      `sqrt`, `ldexp`, `mpf`, `mag`, `prec`) and z a number of it: compute with these, and not with floats.

    Only speed depends on how small `error` is; correctness depends on its being true.
    """

    quantile: Callable[[FloatArray], FloatArray]
    error: float
    slope: float
    survival: Callable[[Precision, Real], Real]
    smallest: float = 2.0**-21

    def __post_init__(self) -> None:
        for field, allowed, fine in (
            ("error", "a finite number >= 0", 0 <= self.error < math.inf),
            ("slope", "a finite number >= 0", 0 <= self.slope < math.inf),
            ("smallest", "between 2**-40 and 1/4", 2.0**-40 <= self.smallest <= 0.25),
        ):
            if not fine:
                raise InvalidValueError(field=field, found=getattr(self, field), allowed=allowed, where="Tail")


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseLaw:
    """A continuous law at scale one: its tail above the median, and that of -Z (`lower`; the same when symmetric)."""

    name: str
    upper: Tail
    lower: Tail | None = None


def grid_for(scale: float) -> float:
    """Return the default grid of a scale: the power of two 2**-20 below it. It depends on nothing else."""
    return math.ldexp(1.0, math.frexp(checked_scale(scale, where=_WHERE))[1] - 1 - GRID_BITS)


def exactly_rounded(
    value: ArrayLike,
    *,
    scale: float,
    law: NoiseLaw,
    rng: np.random.Generator | None = None,
    grid: float | None = None,
    saturate: float | None = None,
    between: Mapping[int, Fraction] | None = None,
) -> FloatArray:
    """Return value + scale * Z, each entry with its own independent Z, rounded to the nearest multiple of the grid.

    The answer has the shape of `value`. Every entry is the float64 nearest to the exact multiple of the grid (the
    multiple itself below 2**53 grid steps, and always on the grid), so it is a function of that multiple alone.

    Non-finite or overflowing values and wrong types raise before any randomness is drawn. With `saturate`, a public
    limit, nothing raises on a value: magnitudes are clamped to the limit first, and NaN counts as zero. Without a generator
    the bits come from a new secure one; with any that `secure_generator` did not make, the answer is stamped `Simulated`.

    `between` has values that no float64 holds, by their place in the flattened value: they are taken instead of what stands
    there, and rounded by exact arithmetic.
    """
    scale = checked_scale(scale, where=_WHERE)
    grid = grid_for(scale) if grid is None else checked_grid(grid, scale=scale, where=_WHERE)
    values = checked_value(value, saturate=saturate, where=_WHERE)
    steps = StepRounder(law=law, steps_per_scale=scale / grid)
    if rng is not None and (isinstance(rng, type) or not hasattr(rng, "integers")):
        raise InvalidValueError(
            field="rng", found=type(rng).__name__, allowed="a numpy.random.Generator, or None for secure bits", where=_WHERE
        )
    with np.errstate(all="ignore"):  # nothing may be signalled that depends on a value
        source = secure_generator() if rng is None else rng
        noisy = _rounded(values.reshape(-1), steps, grid, source, between or {}).reshape(values.shape)
    return stamped(noisy, rng, value=value)


def _rounded(
    values: FloatArray, steps: StepRounder, grid: float, rng: np.random.Generator, between: Mapping[int, Fraction]
) -> FloatArray:
    total = np.empty(values.size)
    words = np.empty(values.size, dtype=np.uint64)
    undecided: list[NDArray[np.intp]] = []
    for start in range(0, values.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        words[block] = random_words(rng, words[block].size)
        in_steps = values[block] / grid  # exact, but for an underflow below 2**-1074 which the margin covers
        whole = np.rint(in_steps)
        in_steps -= whole
        noise, decided = steps.fast(words[block], in_steps)
        np.add(whole, noise, out=total[block])  # correctly rounded, so a function of the exact integer alone
        if not decided.all():
            undecided.append(np.flatnonzero(~decided) + start)
    if between:
        undecided.append(np.fromiter(between, dtype=np.intp))
    if undecided:
        where = distinct(np.concatenate(undecided))
        exact = [
            between.get(index, Fraction(value)) for index, value in zip(where.tolist(), values[where].tolist(), strict=True)
        ]
        total[where] = _exact_totals(words[where], exact, steps, grid, rng)
    total += 0.0  # minus zero would tell on which side of zero the parts were
    total *= grid
    return total


def _exact_totals(
    words: NDArray[np.uint64], values: Sequence[Fraction], steps: StepRounder, grid: float, rng: np.random.Generator
) -> list[float]:
    centres = (value / Fraction(grid) for value in values)
    # An answer beyond 2**1000 is clamped: that acts on the exact integer, so it is post-processing.
    most = int(min(Fraction(2) ** 1000, Fraction(2) ** 1000 / Fraction(grid)))
    return [float(min(max(total, -most), most)) for total in steps.exact(words, centres, rng)]


class StepRounder:
    """Rounds `offset + steps_per_scale * Z` to an integer, Z being drawn by a 64-bit word."""

    def __init__(self, *, law: NoiseLaw, steps_per_scale: float) -> None:
        self._upper = law.upper
        self._lower = law.upper if law.lower is None else law.lower
        self._steps_per_scale = steps_per_scale
        self._limit = 0.5 - max(_margin(tail, steps_per_scale) for tail in (self._upper, self._lower))
        self._smallest = max(self._upper.smallest, self._lower.smallest)

    def fast(self, words: NDArray[np.uint64], offset: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Return the rounded noise in float64, and where it is proved to be right (proof, theorem 2)."""
        signed = words.view(np.int64).astype(np.float64)
        tail = np.abs(signed)
        tail *= 2.0**-64
        decided = tail >= self._smallest
        np.maximum(tail, self._smallest, out=tail)
        moved = np.multiply(self._quantile(tail, signed), np.copysign(self._steps_per_scale, signed), dtype=np.float64)
        moved += offset
        noise = np.rint(moved)
        moved -= noise
        np.abs(moved, out=moved)
        decided &= moved <= self._limit
        return noise, decided

    def _quantile(self, tail: FloatArray, signed: FloatArray) -> FloatArray:
        if self._lower is self._upper:
            return self._upper.quantile(tail)
        below = np.signbit(signed)
        quantile = np.empty_like(tail)
        quantile[below] = self._lower.quantile(tail[below])
        quantile[~below] = self._upper.quantile(tail[~below])
        return quantile

    def exact(self, words: NDArray[np.uint64], centres: Iterable[Fraction], rng: np.random.Generator) -> Iterator[int]:
        """Yield centre + noise, rounded, by comparisons of a lazy uniform with exact tail probabilities."""
        context = new_context()
        for word, centre in zip(words.view(np.int64).tolist(), centres, strict=True):
            yield self._exact_one(word, centre, rng, context)

    def _exact_one(self, word: int, centre: Fraction, rng: np.random.Generator, context: Precision) -> int:
        # By symmetry of rounding, the lower side of a law is the upper side of the law of -Z, at minus the value.
        sign, tail, leading = (1, self._upper, word) if word >= 0 else (-1, self._lower, ~word)
        centre *= sign
        scale = Fraction(self._steps_per_scale)
        uniform = LazyUniform(leading=leading, bits=64, rng=rng, context=context)

        def reaches(integer: int) -> bool:
            boundary = (integer - Fraction(1, 2) - centre) / scale
            return uniform.is_below(enclose_decreasing(tail.survival, boundary))

        guess = float(tail.quantile(np.array([max(leading, 1) * 2.0**-64]))[0])
        start = round(centre + scale * Fraction(guess)) if math.isfinite(guess) else round(centre)
        return sign * last_true(reaches, start)


@functools.lru_cache(maxsize=256)
def _margin(tail: Tail, steps_per_scale: float) -> float:
    """Bound, in grid steps, how far the float64 evaluation can be from the real one (proof, theorem 2).

    The word shows a tail probability p up to one unit of 2**-64 and one rounding to float64; then the law's own error,
    a product and a sum are rounded. Every term is taken at least a quarter too large, to pay for computing it here.
    """
    ends = np.asarray(tail.quantile(np.array([tail.smallest, 0.5])))
    if ends.shape != (2,) or not np.isfinite(ends).all():
        raise InvalidValueError(
            field="quantile",
            found=f"shape {ends.shape}",
            allowed="elementwise and finite on [smallest, 1/2]",
            where="Tail",
        )
    largest = float(np.abs(ends).max()) + 2 * tail.error
    unseen = tail.slope * (2.0**-51 + 2.0**-63 / tail.smallest)
    rounding = (2 * steps_per_scale * largest + 1) * _UNIT_ROUNDOFF
    return 1.25 * (steps_per_scale * (tail.error + unseen) + rounding) + 2 * _UNIT_ROUNDOFF


def _laplace_quantile(tail: FloatArray) -> FloatArray:
    doubled = tail * 2.0
    np.log(doubled, out=doubled)
    return np.negative(doubled, out=doubled)


def _laplace_survival(context: Precision, z: Real) -> Real:
    return context.exp(-z) / 2 if z > 0 else context.ldexp(1, -1)


# -log(2p) lies in [0, 13.9] for p in [2**-21, 1/2], where one unit in the last place is at most 1.8e-15: the margin is
# 56 such units, against the few that any logarithm in use loses. |p Q'(p)| is exactly 1.
LAPLACE = NoiseLaw(name="laplace", upper=Tail(quantile=_laplace_quantile, error=1e-13, slope=1.0, survival=_laplace_survival))
"""Z with P(|Z| > z) = exp(-z)."""


def _gaussian_quantile(tail: FloatArray) -> FloatArray:
    from scipy.special import ndtri

    quantile: FloatArray = ndtri(tail)
    return np.negative(quantile, out=quantile)


def _half_variance_quantile(tail: FloatArray) -> FloatArray:
    from scipy.special import ndtri

    quantile: FloatArray = ndtri(tail)
    quantile *= -math.sqrt(0.5)
    return quantile


def _gaussian_survival(context: Precision, z: Real) -> Real:
    return _half_erfc(context, z, 2)


def _half_variance_survival(context: Precision, z: Real) -> Real:
    return _half_erfc(context, z, 1)


def _half_erfc(context: Precision, z: Real, divisor: int) -> Real:
    """Return erfc(z / sqrt(divisor)) / 2; a relative error of the argument is magnified by about 2 z**2."""
    if not z > 0:
        return context.ldexp(1, -1)
    precision = context.prec
    try:
        context.prec = precision + 2 * max(0, context.mag(z)) + 16
        return context.erfc(z / context.sqrt(divisor)) / 2
    finally:
        context.prec = precision


# ndtri(p) lies in [-4.9, 0] for p in [2**-21, 1/2], where one unit in the last place is at most 8.9e-16: the margin is
# over 100 such units. |p Q'(p)| is Mills' ratio, which falls from sqrt(pi / 2) at the median.
GAUSSIAN = NoiseLaw(
    name="gaussian", upper=Tail(quantile=_gaussian_quantile, error=1e-13, slope=1.2534, survival=_gaussian_survival)
)
"""Z ~ N(0, 1)."""

HALF_VARIANCE_GAUSSIAN = NoiseLaw(
    name="half-variance gaussian",
    upper=Tail(quantile=_half_variance_quantile, error=1e-13, slope=0.8863, survival=_half_variance_survival),
)
"""Z ~ N(0, 1/2): the off-diagonal law of symmetric Gaussian noise. The irrational factor is part of the law, so that
the exact path meets it with as many digits as it needs, and the scale stays a float64."""
