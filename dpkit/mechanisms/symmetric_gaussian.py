"""Gaussian noise on symmetric matrices (GOE): as much noise as the Frobenius norm asks for, and the result is symmetric."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dpkit.errors import InvalidValueError
from dpkit.mechanisms import mechanism_base
from dpkit.mechanisms.gaussian import RULES, gaussian_accuracy, lasting_claims
from dpkit.numerics.noise.exact_rounding import GAUSSIAN, HALF_VARIANCE_GAUSSIAN, NoiseLaw, exactly_rounded
from dpkit.numerics.noise.noise_inputs import checked_value
from dpkit.numerics.noise.randomness import secure_generator, stamped
from dpkit.privacy.claims import Claim, LossRule
from dpkit.privacy.neighbours import Distance, Neighbours
from dpkit.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SymmetricGaussian(mechanism_base.RoundedNoise):
    """Noise of standard deviation `scale` on the diagonal and scale/sqrt(2) off it, mirrored.

    Scaling the off-diagonals by sqrt(2) turns the upper triangle into a vector whose L2 norm is the Frobenius norm and whose
    noise is N(0, scale^2) in every entry: the Gaussian mechanism at the Frobenius distance. The irrational factor is part of
    the noise law, so the rounding stays exact. Values are matrices, or arrays of them along leading axes.
    """

    law: ClassVar[NoiseLaw] = GAUSSIAN
    rules: ClassVar[tuple[LossRule, ...]] = RULES
    metric: ClassVar[str] = "frobenius"
    other_metrics: ClassVar[tuple[str, ...]] = ("rank_one",)  # a change by c v v' moves the matrix by c

    def release(
        self, value: npt.ArrayLike, rng: np.random.Generator | None = None, *, saturate: float | None = None
    ) -> npt.NDArray[np.float64]:
        """The noisy matrix. A direct call refuses one that is not symmetric; with `saturate` the symmetric part counts."""
        mechanism_base.checked_generator(rng)
        matrices = checked_value(value, saturate=saturate, where="SymmetricGaussian.release")
        size = _size(matrices.shape)
        if saturate is None and not np.array_equal(matrices, np.swapaxes(matrices, -1, -2)):
            raise InvalidValueError(
                field="value", found="a matrix that is not symmetric", allowed="symmetric matrices", where="SymmetricGaussian"
            )
        source = secure_generator() if rng is None else rng
        output = np.empty(matrices.shape)
        diagonal = np.arange(size)
        rows, columns = np.triu_indices(size, k=1)
        output[..., diagonal, diagonal] = exactly_rounded(
            matrices[..., diagonal, diagonal], scale=self.scale, law=GAUSSIAN, rng=source, grid=self.grid
        )
        above, below = matrices[..., rows, columns], matrices[..., columns, rows]
        upper = exactly_rounded(
            above, scale=self.scale, law=HALF_VARIANCE_GAUSSIAN, rng=source, grid=self.grid, between=_averages(above, below)
        )
        output[..., rows, columns] = upper
        output[..., columns, rows] = upper
        return stamped(output, source, value=value)

    def claims(self, at: Distance | Sequence[Distance], neighbours: Neighbours = Neighbours.ADD_REMOVE) -> tuple[Claim, ...]:
        """Those of Gaussian noise at the Frobenius distance."""
        return lasting_claims(self.event(at), neighbours=neighbours)

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """ln density of the unrounded upper triangle, with respect to Lebesgue measure on its d(d+1)/2 entries.

        An output that is not symmetric is impossible: minus infinity.
        """
        center, answers = np.asarray(value, dtype=np.float64), np.asarray(output, dtype=np.float64)
        size = _size(center.shape)
        possible = np.all(answers == np.swapaxes(answers, -1, -2), axis=(-2, -1))  # NaN is unequal to itself
        gap = answers - center
        diagonal = np.arange(size)
        rows, columns = np.triu_indices(size, k=1)
        squares = np.sum(gap[..., diagonal, diagonal] ** 2, axis=-1) + 2.0 * np.sum(gap[..., rows, columns] ** 2, axis=-1)
        free = size * (size + 1) // 2
        constant = free * math.log(self.scale * math.sqrt(2.0 * math.pi)) - 0.5 * len(rows) * math.log(2.0)
        terms = np.where(possible, -0.5 * squares / self.scale**2 - constant, -math.inf)
        return mechanism_base.summed_over_value(terms, center.ndim - 2)

    def accuracy(self, shape: Sequence[int] | int, confidence: float) -> float:
        """The largest absolute error of an entry at this confidence (off-diagonals, which have less noise, counted alike)."""
        sizes = mechanism_base.checked_shape((shape, shape) if isinstance(shape, int | np.integer) else shape)
        size = _size(sizes)
        free = mechanism_base.entries(sizes[:-2]) * max(1, size * (size + 1) // 2)
        return gaussian_accuracy(self.scale, free, confidence) + self.grid / 2.0


def _averages(above: npt.NDArray[np.float64], below: npt.NDArray[np.float64]) -> dict[int, Fraction]:
    """The exact average of mirrored entries that are unequal, by their place: its distance is at most the Frobenius distance.

    A float64 would round it, and two rounded averages can be sqrt(2) times as far apart as the matrices were.
    """
    unequal = np.flatnonzero(above.reshape(-1) != below.reshape(-1))
    pairs = zip(above.reshape(-1)[unequal].tolist(), below.reshape(-1)[unequal].tolist(), strict=True)
    return {place: (Fraction(one) + Fraction(other)) / 2 for place, (one, other) in zip(unequal.tolist(), pairs, strict=True)}


def _size(shape: Sequence[int]) -> int:
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise InvalidValueError(
            field="value",
            found=f"shape {tuple(shape)}",
            allowed="square matrices in the last two axes",
            where="SymmetricGaussian",
        )
    return int(shape[-1])
