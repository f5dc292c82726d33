"""The profile of one Laplace release repeated, in closed form, with a bound on its rounding (docs/proofs/pld.md, theorem 7).

    delta(epsilon) = 2^(1-k) sum over j of C(k,j) e^(-jx - v_j) sum over n of K_jn v_j^n / n!,  v_j = ((k-2j)x - epsilon)/2 > 0

with integers K_jn of both signs. In the tail few j count and little cancels; elsewhere the stated error grows, and the caller
takes another route.
"""

from __future__ import annotations

import math
from itertools import accumulate

import numpy as np

from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array, asfloat

MOST_REPEATS = 200
"""Beyond, the integers get long, and so much cancels that a lattice is as good."""

_LONGEST_LOSS = 200.0
"""A total loss up to which the series in v_0, at most half of it, is short."""

_UNDERFLOW = 1e-200
"""More than all that products lose where they fall below the normal floats: 2^-1022 times coefficients below 2^MOST_REPEATS."""


def repeated_laplace(ratio: float, count: int) -> RepeatedLaplace | None:
    """The profile of `count` releases of this ratio; None where the closed form is of no use."""
    if count > MOST_REPEATS or not 0.0 < ratio * count <= _LONGEST_LOSS:
        return None
    return RepeatedLaplace(ratio=ratio, count=count)


class RepeatedLaplace:
    """Called with epsilons, it gives values of the profile and bounds on their errors."""

    def __init__(self, *, ratio: float, count: int) -> None:
        self.ratio, self.count = ratio, count
        self._columns = np.arange(1.0, count + 65.0 + math.ceil(ratio * count))
        # j = 0: sums of binomials, and 2^(k-1) from n = k on; every term is positive
        self._shares = np.ones(self._columns.size)
        below = accumulate(math.comb(count - 1, i) for i in range(count - 1))
        self._shares[: count - 1] = [math.ldexp(float(total), 1 - count) for total in below]
        self._coefficients: list[Array] = []
        self._row = [math.comb(count - 2, i) for i in range(count - 1)] if count > 1 else []

    def __call__(self, epsilons: Array) -> tuple[Array, Array]:
        """Values, and bounds on their errors."""
        found = [self._at(float(epsilon)) for epsilon in epsilons]
        return asfloat([value for value, _ in found]), asfloat([error for _, error in found])

    def _at(self, epsilon: float) -> tuple[float, float]:
        if epsilon <= -self.ratio * self.count:  # below the smallest loss, where one release more or less changes nothing
            value = max(0.0, -math.expm1(epsilon))
            return value, 8.0 * UNIT_ROUNDOFF * max(1.0, self.ratio * self.count)
        halves = self._halves(epsilon)
        if not halves:
            return 0.0, 0.0
        powers = self._shares * np.cumprod(halves[0] / self._columns)
        value = size = float(powers.sum()) * math.exp(-halves[0])
        if len(halves) > 1:
            signed = self._jumps(asfloat(halves[1:]))
            value, size = value + float(signed.sum()), size + float(np.abs(signed).sum())
        # a coefficient, three roundings a power (v, the quotient, the product), an exponential, and sums by halves
        relative = UNIT_ROUNDOFF * (3.0 * self._columns.size + 4.0 * self.ratio * self.count + 128.0)
        return min(1.0, max(0.0, value)), relative * size * 1.01 + _UNDERFLOW

    def _halves(self, epsilon: float) -> list[float]:
        """All v_j > 0, each rounded once: their terms cancel, and powers pass on what they are off by."""
        over, under = self.ratio.as_integer_ratio()
        taken, parts = epsilon.as_integer_ratio()
        whole = max(under, parts)  # both are powers of two
        over, taken = over * (whole // under), taken * (whole // parts)
        found: list[float] = []
        for j in range(self.count):
            left = (self.count - 2 * j) * over - taken
            if left <= 0:
                break
            found.append(left / (2 * whole))
        return found

    def _jumps(self, halves: Array) -> Array:
        """The terms of j >= 1: a row for each, n from 1 to k - 1."""
        while len(self._coefficients) < halves.size:
            self._extend()
        table = np.array(self._coefficients[: halves.size])
        powers = np.cumprod(halves[:, None] / self._columns[: self.count - 1], axis=1)
        falls = np.exp(-halves - self.ratio * np.arange(1.0, halves.size + 1.0))
        return asfloat(table * powers * falls[:, None])

    def _extend(self) -> None:
        """The next row: C(k,j) times the coefficients of (1+s)^(k-j-1) (1-s)^(j-1), exact until they become floats."""
        if self._coefficients:
            self._row = _turned(self._row)
        scale = math.comb(self.count, len(self._coefficients) + 1)
        self._coefficients.append(asfloat([math.ldexp(float(scale * entry), 1 - self.count) for entry in self._row]))


def _turned(row: list[int]) -> list[int]:
    """The polynomial over (1 + s), which divides it, times (1 - s)."""
    quotient: list[int] = []
    for entry in row[:-1]:
        quotient.append(entry - (quotient[-1] if quotient else 0))
    return [here - before for here, before in zip([*quotient, 0], [0, *quotient], strict=True)]
