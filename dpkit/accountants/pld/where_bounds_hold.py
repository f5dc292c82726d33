"""What every route of `pld` gives, and its domain: where its error bound holds. Nothing is read by a route outside its domain.

| route | domain | stated by |
|---|---|---|
| one Gaussian | any mu; epsilon is infinite where it overflows | `gaussian_epsilon`, `gaussian_delta` |
| binomial | one pure loss, at most `MOST_RELEASES` times, with at most `MOST_FLIPS` flips that count | `binomial_holds` |
| one release, one Laplace release repeated | a profile whose own error is at most `SMALL_ERROR` of delta | `profile_holds` |
| contour of one period | copies of one pure loss, more than the binomial takes; moments as below | `pure_contour_reader` |
| contour | log moments known, off by at most `MOMENT_ERROR` on the real axis; the nodes left out bounded | `contour_holds` |
| smoothed contour | the same, however moments fall; the width is what is asked for, or what the work allows | `contour_holds` |
| lattice | at most `MOST_RELEASES`, losses below `LARGEST_LOSS`, spread above `SMALLEST_SPREAD` | `lattice_holds` |
| contour over atoms | as a lattice, by fewer mechanisms; where none of the others is near | `few_large_holds` |
| Chernoff | everywhere: any tilt is valid, and the moments it reads are rounded up | |

What no other route holds is bounded by Chernoff; where that says nothing, by the largest total loss, which may be infinite.
docs/proofs/pld.md has the error analysis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from dpkit.numerics.rounding import SMALLEST, UNIT_ROUNDOFF, exp_up
from dpkit.privacy.compositions import flips_that_count
from dpkit.privacy.loss_pairs import LossDirection, LossPair, PurePair
from dpkit.values import dataclass

MOST_RELEASES = 10**9
"""With more, a rounding error a release would be all that is left of a lattice."""

SMALLEST_SPREAD = 1e-5
"""Losses that spread less are beyond a lattice's rounding."""

LARGEST_LOSS = 600.0
"""e to this can still be multiplied by probabilities."""

SMALL_ERROR = 1e-9
"""A profile in closed form is taken where its error is at most this, relatively; elsewhere the releases are composed."""

MOST_FLIPS = 100_000
"""Where more flips count, equal pure losses are summed along a contour: the exact sum would take a second."""

MOMENT_ERROR = 0.5
"""How far a log moment on the real axis may be off: everything on a contour is relative to it."""

CLOSE = 1e-8
"""What a contour may leave out, relatively to delta, to be taken before a lattice is tried."""


def binomial_holds(terms: Sequence[tuple[LossPair, int]]) -> bool:
    """Whether these are identical pure losses, of which few enough flips count for the exact sum."""
    pair, count = terms[0]
    if len(terms) != 1 or not isinstance(pair, PurePair) or count > MOST_RELEASES:
        return False
    return flips_that_count(pair.epsilon, count) <= MOST_FLIPS


def profile_holds(count: int, relative_error: float) -> bool:
    """Whether the profile of `count` copies is taken as it is: that of one release always, others where they are near."""
    return count == 1 or relative_error <= SMALL_ERROR


def contour_holds(error_on_axis: float) -> bool:
    """Whether the first node is known well enough for the others to be relative to it."""
    return error_on_axis <= MOMENT_ERROR


def lattice_holds(terms: Sequence[tuple[LossDirection, int]], tail: float) -> bool:
    """Whether every e^loss is a number, no step would vanish beside 1, and rounding errors do not add up to everything."""
    if sum(count for _, count in terms) > MOST_RELEASES:
        return False
    for direction, _ in terms:
        low, high = direction.reach(tail)
        if not (max(abs(low), abs(high)) < LARGEST_LOSS and SMALLEST_SPREAD < high - low < math.inf):
            return False
    return True


ErrorTerms = tuple[tuple[str, float], ...]
"""Names and sizes of what was added to an upper bound, relative to it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reader:
    """Bounds on delta(epsilon) near one target: an upper sum, and a lower one that is built only when it is asked for.

    `finer`, where there is one, gives a closer reader of the same; None where that would cost too much. It is asked where more
    than `worth` of delta is added, and where the bounds are more than `spare` apart.
    """

    upper: Callable[[float], tuple[float, ErrorTerms]]
    lower: Callable[[float], float]
    route: str
    start: float
    tilt: float
    note: str = ""
    finer: Callable[[], Reader | None] | None = None
    worth: float = 0.0
    spare: float = 0.0


_FINEST = 1e-9
"""No width below it is worked for."""


def wanted_width(width: float, epsilon: float) -> float:
    """The width to work for: relative below an epsilon of 1."""
    return max(_FINEST, width * min(1.0, epsilon))


def scaled(value: float, log_scale: float, *, size: float, up: bool = True) -> float:
    """value * e^log_scale, rounded to its safe side, without overflow; a delta, so at most 1.

    `size` is the largest number that was cancelled in forming log_scale.
    """
    if value <= 0.0:
        return 0.0
    margin = 16.0 * UNIT_ROUNDOFF * (1.0 + abs(math.log(value)) + abs(log_scale) + size)
    exponent = min(math.log(value) + log_scale, 1.0)
    if up:
        return min(1.0, exp_up(exponent + margin))
    return min(1.0, max(0.0, math.exp(exponent) * max(0.0, 1.0 - margin) - 2.0 * SMALLEST))
