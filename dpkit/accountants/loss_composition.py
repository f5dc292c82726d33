"""Composing loss directions: which route prices a composition, and certified bounds on its profile.

Routes, cheapest first: closed form (Gaussians alone; identical pure losses), contour (moments are known and fall along the
contour), lattice (any profile). Each gives a lower and an upper bound; docs/proofs/pld.md has the error analysis.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from dpkit.accountants.loss_moments import (
    RealMoments,
    Terms,
    alias_bound,
    alias_period,
    complex_log_moment,
    log_kernel_peak,
    real_moments,
    saddle_at_delta,
)
from dpkit.accountants.loss_on_lattice import lattice_reader
from dpkit.accountants.loss_reader import ErrorTerms, Reader, scaled
from dpkit.core.loss_pairs import LossDirection
from dpkit.numerics.contour import ContourSum
from dpkit.numerics.rounding import UNIT_ROUNDOFF

_MOST_RELEASES = 10**9
"""With more, a rounding error a release would be all that is left of a lattice."""

_SMALLEST_SPREAD = 1e-5
"""Losses that spread less are beyond a lattice's rounding."""

_LARGEST_LOSS = 600.0
"""e to this can still be multiplied by probabilities."""

_SINGLES = 64
"""So many single releases are looked at for a lower bound where nothing better is known."""

_MOST_NODES = 1 << 22
"""More would not fit into the memory that is promised, with what is computed from them."""

_CONTOUR_WORK = 40_000_000
"""Nodes times distinct mechanisms that a contour may cost; above, the lattice is tried."""


def reader(terms: Terms, *, delta: float, width: float) -> Reader:
    """Bounds on the profile near the epsilon of this delta, by the contour where it can be certified, else by a lattice."""
    releases = sum(count for _, count in terms)
    tail = delta * 1e-13 / max(1, releases)
    moments, tilt, epsilon = tuned(tuple(terms), delta, tail)
    if not math.isfinite(epsilon):
        return _chernoff(terms, moments, delta=delta)
    period = alias_period(moments, tilt=tilt, epsilon=epsilon, delta=delta)
    found = _contour(terms, moments, tilt=tilt, period=period, epsilon=epsilon)
    if found is not None:
        return found
    if releases > _MOST_RELEASES or not all(_lattice_holds(d, tail) for d, _ in terms):
        return _chernoff(terms, moments, delta=delta)
    bound = _chernoff_at(moments, tilt)
    # beyond, weights e^(tilt loss) would overflow; a smaller tilt is as valid
    tilt = min(tilt, _LARGEST_LOSS / max(1e-12, max(d.reach(tail)[1] - d.reach(tail)[0] for d, _ in terms)))
    period = alias_period(moments, tilt=tilt, epsilon=epsilon, delta=delta)
    lattice = lattice_reader(terms, moments, tilt=tilt, period=period, epsilon=epsilon, tail=tail, width=width)

    def upper(at: float) -> tuple[float, ErrorTerms]:
        """Far from what a lattice was tuned for its rounding takes over, and a Chernoff bound is smaller."""
        value, errors = lattice.upper(at)
        other = bound(at)
        return (value, errors) if value <= other else (other, (("a Chernoff bound, not the lattice", 0.0),))

    return replace(lattice, upper=upper)


@lru_cache(maxsize=8)
def tuned(terms: tuple[tuple[LossDirection, int], ...], delta: float, tail: float) -> tuple[RealMoments, float, float]:
    """Moments, tilt and the epsilon they give: the same for a first, wide look and for the close one after it."""
    moments = real_moments(terms, tail=tail)
    return (moments, *saddle_at_delta(moments, delta))


def _lattice_holds(direction: LossDirection, tail: float) -> bool:
    """Whether e^loss is a number, and the losses are not so small that a step would vanish beside 1."""
    low, high = direction.reach(tail)
    return max(abs(low), abs(high)) < _LARGEST_LOSS and high - low > _SMALLEST_SPREAD


def _chernoff(terms: Terms, moments: RealMoments, *, delta: float) -> Reader:
    """For losses beyond what e^loss can hold: the Chernoff bound; from below, the largest profile of a single release."""
    tilt, epsilon = saddle_at_delta(moments, delta, relative=1e-3)
    bound = _chernoff_at(moments, tilt)
    largest = sorted((direction for direction, _ in terms), key=lambda d: -d.reach(0.5 * delta)[1])[:_SINGLES]

    def lower(at: float) -> float:
        profiles = [direction.profile(np.array([at])) for direction in largest]
        found = [float(value[0] - error[0]) for value, error in profiles]
        return max((value for value in found if math.isfinite(value)), default=0.0)

    return Reader(
        upper=lambda at: (bound(at), ()),
        lower=lower,
        route="chernoff",
        start=epsilon,
        tilt=tilt,
        note="beyond what a lattice can hold: a Chernoff bound, and one release from below",
    )


def _chernoff_at(moments: RealMoments, tilt: float) -> Callable[[float], float]:
    """The Chernoff bound on delta at one tilt, rounded up; any tilt is valid."""
    moment = float(moments(np.array([tilt]))[0])
    shape = float(log_kernel_peak(np.array([tilt]))[0])

    def bound(at: float) -> float:
        exponent = moment - tilt * at + shape
        exponent += 1e-9 + 1e-13 * (abs(moment) + tilt * abs(at) + abs(shape))
        return math.exp(exponent) if exponent < 0.0 else 1.0

    return bound


def _contour(terms: Terms, moments: RealMoments, *, tilt: float, period: float, epsilon: float) -> Reader | None:
    """A reader by the contour, or None where a moment is not known, too little falls along it, or it would cost too much."""
    if complex_log_moment(terms, np.ones(1, dtype=np.complex128)) is None:
        return None
    size = _contour_size(terms, tilt=tilt, period=period)
    if size is None:
        return None
    nodes = np.asarray(tilt + 2.0j * math.pi / period * np.arange(size), dtype=np.complex128)
    values = complex_log_moment(terms, nodes)
    if values is None or not np.all(np.isfinite(values)):
        return None
    releases = sum(count for _, count in terms)
    spent = ContourSum(
        tilt=tilt,
        period=period,
        log_moments=values,
        relative=16.0 * UNIT_ROUNDOFF * (releases + len(terms) + float(np.max(np.abs(values.imag))) + abs(values[0].real)),
        log_decay=_total_log_decay(terms, tilt, 2.0 * math.pi / period * size),
    )

    def upper(at: float) -> tuple[float, ErrorTerms]:
        value, error, log_scale = spent.scaled_delta(at)
        return scaled(value + error, log_scale, size=tilt * abs(at)), (("rounding and truncation", error / max(value, 1e-300)),)

    def lower(at: float) -> float:
        value, error, log_scale = spent.scaled_delta(at)
        alias = alias_bound(moments, tilt=tilt, epsilon=at, period=period)
        return scaled(value - error, log_scale, size=tilt * abs(at), up=False) - alias * (1.0 + 1e-9)

    return Reader(upper=upper, lower=lower, route="contour", start=epsilon, tilt=tilt, note=f"{size} nodes")


def _total_log_decay(terms: Terms, tilt: float, height: float) -> float:
    return sum(count * direction.log_decay(tilt, height) for direction, count in terms)


def _contour_size(terms: Terms, *, tilt: float, period: float) -> int | None:
    """So many nodes that what is left out is below rounding; None when that is too many."""
    most = min(_MOST_NODES, _CONTOUR_WORK // len(terms))
    if _total_log_decay(terms, tilt, 2.0 * math.pi / period * most) > -10.0:
        return None  # it never falls far enough
    size = 64
    while size <= most:
        height = 2.0 * math.pi / period * size
        # relative to the value, about 1/(tilt period): left out is e^decay / (pi height)
        if _total_log_decay(terms, tilt, height) - math.log(math.pi * height) + math.log1p(tilt * period) < -30.0:
            return size
        size *= 2
    return None
