"""Weighted moments as one query: the sum over rows of w w', w = sqrt(s/cap) (x, balance * y), every entry a product of factors.

With S the diagonal of weights, the blocks of the matrix are X'SX, balance * X'Sy and balance^2 * y'Sy, over the weight cap.
It is symmetric and positive semidefinite to the bit, and a record moves it by one rank-one matrix.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from dpkit import Citation, Distance, Neighbours, Preparation, Query, frobenius, l1, l2, rank_one
from dpkit.authoring import Steps, dataclass, in_full, round_up, sqrt_up, whole_steps
from dpkit_irls.rows import kernels
from dpkit_irls.rows.dummies import Levels, widened
from dpkit_irls.rows.fixed_point import (
    GRID,
    LARGEST_STEP,
    Array,
    cut,
    finite,
    fixed_point,
    in_unit_ball,
    products_by_run,
    squares_by_run,
)
from dpkit_irls.rows.prepared_query import prepared_query
from dpkit_irls.wishart.wishart import swap

SOURCE = Citation(key="PW16", locator="eq. 3; with exact constants: docs/proofs/irls.md")

FREEDOM = 1_280
"""Degrees of freedom of Wishart noise beyond the matrix's rows. By the exact profile more is less noise at every budget, and
slower to price; from here on there are 4% to gain (docs/regression-measured.md)."""


@dataclass(frozen=True, kw_only=True)  # without slots: `preparation` is made once a scaling, and is no field
class Scaling:
    """How a row becomes x with norm at most 1 and y with magnitude at most 1, from public bounds. The target comes last.

    `entries` names the entries of x where they are not the features themselves: `levels` says which features are categories.
    """

    columns: tuple[str, ...]
    x_bound: float
    y_bound: float
    intercept: bool
    entries: tuple[str, ...] = ()
    levels: Levels = ()

    @cached_property
    def preparation(self) -> Preparation:
        """What the queries of this scaling share: the same object for all of them."""
        return Preparation(rows=self.prepared, width=self.width + 1)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the entries of x, without the intercept."""
        return self.entries or self.columns[:-1]

    @property
    def width(self) -> int:
        """Entries of x, the intercept's included."""
        return len(self.names) + self.intercept

    def scaled(self, block: Array) -> tuple[Array, Array]:
        """Rows in the unit ball and targets in [-1, 1], on the grid."""
        x = in_unit_ball(widened(block[:, :-1], self.levels) / self.x_bound)
        if self.intercept:
            x = in_unit_ball(np.column_stack([x, np.ones(x.shape[0])]) * math.sqrt(0.5))
        return x, cut(np.clip(block[:, -1] / self.y_bound, -1.0, 1.0))

    def prepared(self, block: Array) -> Array:
        """The same as one array, y last, each column contiguous."""
        x, y = self.scaled(block)
        found = np.empty((self.width + 1, block.shape[0]))
        found[:-1], found[-1] = x.T, y
        return found.T

    def coefficients(self, theta: Array) -> tuple[Array, float]:
        """Released coefficients in the units of the columns, and the intercept."""
        slopes, constant = np.asarray(theta, dtype=np.float64), 0.0
        if self.intercept:
            slopes, constant = slopes[:-1] * math.sqrt(0.5), float(slopes[-1]) * math.sqrt(0.5) * self.y_bound
        return slopes * (self.y_bound / self.x_bound), constant

    def theta_of(self, start: Sequence[float]) -> tuple[float, ...]:
        """The inverse of `coefficients`: from the units of the columns, the intercept last; zeros where nothing is given."""
        if not start:
            return (0.0,) * self.width
        slope, constant = self.x_bound / self.y_bound, 1.0 / self.y_bound
        if not self.intercept:
            return tuple(value * slope for value in start)
        root = math.sqrt(2.0)
        return (*(value * slope * root for value in start[:-1]), start[-1] * constant * root)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """s = min(cap, |r|^(p-2)) for the residuals of released coefficients; `roots` gives sqrt(s / cap), at most 1."""

    theta: tuple[float, ...]
    cap: float
    p: float = 1.0

    def roots(self, prepared: Array) -> Array:
        """Of each prepared row; the product with theta is exact."""
        direction, scale = self.fixed
        found = direction @ prepared.T[:-1]
        found *= scale
        np.subtract(prepared[:, -1], found, out=found)
        np.abs(found, out=found)
        return self._root(found)

    @property
    def fixed(self) -> tuple[Array, float]:
        """Theta in 20 bits, and what it is to be scaled by."""
        return fixed_point(np.array(self.theta))

    def _root(self, residuals: Array) -> Array:
        """Written over the residuals."""
        if self.p == 2.0:
            residuals[:] = 1.0
        elif self.p == 1.0:
            np.maximum(residuals, 1.0 / self.cap, out=residuals)
            np.divide(1.0, residuals, out=residuals)
        else:  # one call of the C library a row: vectorised powers may differ by a row's place
            # where the weight reaches the cap; near p = 2 that is beyond what a float holds, and the cap is taken below
            least = math.exp(min(max(-math.log(self.cap) / (2.0 - self.p), -700.0), 700.0))
            residuals[:] = [math.pow(max(r, least), self.p - 2.0) for r in residuals.tolist()]
        residuals /= self.cap
        np.minimum(residuals, 1.0, out=residuals)
        return np.sqrt(residuals, out=residuals)


def weighted_least_squares(cap: float, p: float) -> str:
    """What the moments estimate, in words."""
    weights = f"min({in_full(cap)}, |r|^{in_full(p - 2.0)})"
    return (
        f"Least squares on rows clipped to the bounds, with weights {weights}, where r is the residual over the target's bound."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Factors:
    """sqrt(s/cap) x and balance sqrt(s/cap) y of each prepared row, y last, each cut to whole steps of the grid."""

    weights: Weights
    balance: float = 1.0

    def __call__(self, prepared: Array) -> Array:
        """Of each row."""
        steps = prepared.T * (self.weights.roots(prepared) * LARGEST_STEP)  # by a power of two: rounds as x sqrt(s/cap) does
        np.trunc(steps, out=steps)
        if self.balance != 1.0:
            np.trunc(np.multiply(steps[-1], self.balance, out=steps[-1]), out=steps[-1])
        return steps.T

    def products(self, prepared: Array) -> Steps:
        """The sum of w w' over each run of rows."""
        if self.weights.p == 1.0:
            fast = kernels.moments(prepared.T, *self.weights.fixed, self.weights.cap, self.balance)
            if fast is not None:
                return whole_steps(fast)
        return squares_by_run(self(prepared).T)


def first_moment(scaling: Scaling, weights: Weights) -> Query:
    """X'Sy over the cap, summed. L2 distance 1, or 2 when a record is replaced; L1 sqrt(d) times as much. All are attained."""
    both, width = Factors(weights=weights), scaling.width

    def rows(prepared: Array) -> Array:
        w = finite(both(prepared))
        return np.asarray(w[:, :-1] * w[:, -1:]) * GRID

    def summed(prepared: Array) -> Steps:
        w = both(prepared).T
        return products_by_run(w[-1:], w[:-1])[:, 0]

    def sensitivity(neighbours: Neighbours) -> Sequence[Distance]:
        twice = 2 if neighbours is Neighbours.REPLACE_ONE else 1
        return l2(float(twice)), l1(sqrt_up(Fraction(twice * twice * width)))

    return prepared_query(
        name="first-moment", columns=scaling.columns, preparation=scaling.preparation, rows=rows, summed=summed,
        shape=(width,), sensitivity=sensitivity, because=SOURCE,
    )  # fmt: skip


def second_moment(scaling: Scaling, weights: Weights) -> Query:
    """X'SX over the cap, summed. Trace 1; rank-one 1; Frobenius sqrt(2) when a record is replaced."""
    return _matrix_query("second-moment", scaling, Factors(weights=weights), scaling.width, squared=Fraction(1))


def joint_moments(scaling: Scaling, weights: Weights, *, balance: float = 1.0) -> Query:
    """Both moments and y'Sy in one matrix; a record's vector has a squared norm of at most 1 + balance^2 (a power of two)."""
    factors = Factors(weights=weights, balance=balance)
    return _matrix_query("moments", scaling, factors, scaling.width + 1, squared=1 + Fraction(balance) ** 2)


def joint_triangle(scaling: Scaling, weights: Weights, *, balance: float = 1.0) -> Query:
    """The upper triangle of the same matrix as a vector, for Laplace noise. Under replace-one its distance is not attained."""
    factors, squared = Factors(weights=weights, balance=balance), 1 + Fraction(balance) ** 2
    left, right = np.triu_indices(scaling.width + 1)

    def rows(prepared: Array) -> Array:
        w = finite(factors(prepared))
        return np.asarray(w[:, left] * w[:, right]) * GRID

    def summed(prepared: Array) -> Steps:
        return factors.products(prepared)[:, left, right]

    def sensitivity(neighbours: Neighbours) -> Sequence[Distance]:
        twice = 2 if neighbours is Neighbours.REPLACE_ONE else 1
        # the sum of |w_i w_j| over i <= j is (|w|_1^2 + |w|_2^2) / 2, and |w|_1 is at most sqrt(d) + balance
        mixed = Fraction(sqrt_up(4 * Fraction(balance) ** 2 * scaling.width))
        return (l1(round_up(twice * (scaling.width + mixed + Fraction(balance) ** 2 + squared) / 2)),)

    return prepared_query(
        name="moments-triangle", columns=scaling.columns, preparation=scaling.preparation, rows=rows, summed=summed,
        shape=(left.size,), sensitivity=sensitivity, because=SOURCE,
    )  # fmt: skip


def _matrix_query(name: str, scaling: Scaling, factors: Factors, size: int, *, squared: Fraction) -> Query:
    """The sum of w w', of the first entries of w."""

    def rows(prepared: Array) -> Array:
        w = finite(factors(prepared))[:, :size]
        return np.asarray(w[:, :, None] * w[:, None, :]) * GRID

    def summed(prepared: Array) -> Steps:
        return factors.products(prepared)[:, :size, :size]

    def sensitivity(neighbours: Neighbours) -> Sequence[Distance]:
        most = float(squared)
        trace = Distance(metric="trace", value=most)
        if neighbours is Neighbours.ADD_REMOVE:
            return frobenius(most), rank_one(most), swap(most), trace
        return frobenius(sqrt_up(2 * squared * squared)), swap(most), trace

    return prepared_query(
        name=name, columns=scaling.columns, preparation=scaling.preparation, rows=rows, summed=summed,
        shape=(size, size), sensitivity=sensitivity, because=SOURCE,
    )  # fmt: skip
