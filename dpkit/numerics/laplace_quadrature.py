"""Integrals over the real line of functions that are smooth between given points and Laplace-like around them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dpkit.numerics.special import Array, asfloat

_REACH = 45
"""Beyond this number of scales from every point, a Laplace density is below the rounding of 1."""
_NODES = 24


def laplace_nodes(points: Array, scale: float) -> tuple[Array, Array]:
    """Nodes and weights: pieces of one scale around every point, each with a Gauss rule that is exact to rounding there."""
    steps = scale * np.arange(-_REACH, _REACH + 1)
    ends = np.unique((np.unique(points)[:, None] + steps).ravel())
    widths = np.diff(ends)
    kept = (widths <= 1.01 * scale) & (widths > 0.0)
    nodes, weights = _rule()
    places = ends[:-1][kept, None] + widths[kept, None] * nodes
    return asfloat(places.ravel()), asfloat((widths[kept, None] * weights).ravel())


def laplace_density(x: Array, scale: float) -> Array:
    """exp(-|x| / scale) / (2 scale)."""
    return asfloat(np.exp(-np.abs(x) / scale) / (2.0 * scale))


def laplace_below(x: Array, scale: float) -> Array:
    """The probability of noise below x."""
    tail = 0.5 * np.exp(-np.abs(x) / scale)
    return asfloat(np.where(x < 0.0, tail, 1.0 - tail))


@lru_cache(maxsize=1)
def _rule() -> tuple[Array, Array]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return asfloat(0.5 * (nodes + 1.0)), asfloat(0.5 * weights)
