"""Wishart noise on a matrix: as published, with k = d+1 degrees of freedom, and repaired by many more of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpkit.auditing.outputs import Sampler
from dpkit.auditing.zoo.entry import Entry
from dpkit.core.losses import ApproxDP, PureDP
from dpkit.numerics.special import Array, asfloat


@dataclass(frozen=True, slots=True, kw_only=True)
class WishartLaw:
    """value + W, W of `freedom` degrees of freedom and scale `scale` times the identity."""

    freedom: int
    scale: float

    def sample(self, value: object, n: int, rng: np.random.Generator) -> Array:
        """n matrices."""
        center = asfloat(np.asarray(value, dtype=np.float64))
        factors = rng.normal(scale=math.sqrt(self.scale), size=(n, self.freedom, center.shape[0]))
        return center + np.swapaxes(factors, 1, 2) @ factors

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> Array:
        """ln of the density, up to a constant that does not depend on output or value; -inf outside the cone."""
        noise = np.asarray(output, dtype=np.float64) - np.asarray(value, dtype=np.float64)
        values = np.linalg.eigvalsh(noise)
        inside = values[..., 0] > 0.0
        logs = np.log(np.where(inside[..., None], values, 1.0)).sum(axis=-1)
        size = noise.shape[-1]
        density = 0.5 * (self.freedom - size - 1) * logs - 0.5 * values.sum(axis=-1) / self.scale
        return asfloat(np.where(inside, density, -np.inf))


def gamma_delta(*, epsilon: float, shift: float, shape: float) -> float:
    """delta(epsilon) of Gamma(shape) against shift + Gamma(shape), the exact profile of the repaired mechanism, truth B."""
    from scipy.special import gammainc

    edge = shift / -math.expm1(-(epsilon + shift) / (shape - 1.0))
    return float(gammainc(shape, edge) - math.exp(epsilon) * gammainc(shape, max(0.0, edge - shift)))


_D = 5
_V = np.array([1.0, 2.0, -1.0, 0.5, 1.5])
_PAIR = (np.zeros((_D, _D)), np.outer(_V, _V) / float(_V @ _V))
_EPSILON = 1.0
_PUBLISHED = WishartLaw(freedom=_D + 1, scale=1.0 / (2.0 * _EPSILON))
_REPAIRED = WishartLaw(freedom=_D + 20, scale=0.5)


def _sampler(law: WishartLaw) -> Sampler:
    return law.sample


def _repaired_claim() -> ApproxDP:
    # tau = c/(2 s2) = 1, a = (k-d+1)/2 = 10.5: delta(1) = 8.3e-3 by full-matrix Monte Carlo as well
    return ApproxDP(epsilon=1.0, delta=gamma_delta(epsilon=1.0, shift=1.0, shape=10.5) * (1.0 + 1e-9))


MATRICES: tuple[Entry, ...] = (
    Entry(
        name="wishart, black box",
        sampler=_sampler(_PUBLISHED),
        claim=PureDP(epsilon=_EPSILON),
        pair=_PAIR,
        truth="broken",
        about="as published; with probability 1 - 1/e the output is impossible under the neighbour",
    ),
    Entry(
        name="wishart, white box",
        sampler=_sampler(_PUBLISHED),
        claim=PureDP(epsilon=_EPSILON),
        pair=_PAIR,
        truth="broken",
        density=_PUBLISHED,
        falsifiers=("white box",),
        about="as published, by its declared density",
    ),
    Entry(
        name="wishart, support",
        sampler=_sampler(_PUBLISHED),
        claim=PureDP(epsilon=_EPSILON),
        pair=_PAIR,
        truth="broken",
        density=_PUBLISHED,
        falsifiers=("support",),
        about="as published, by its first impossible output",
    ),
    Entry(
        name="wishart, repaired",
        sampler=_sampler(_REPAIRED),
        claim=_repaired_claim(),
        pair=_PAIR,
        truth="right",
        about="25 degrees of freedom, at its exact delta",
    ),
)
