"""Composing loss directions: which route prices a composition, and certified bounds on its profile.

Routes, cheapest first: closed form (Gaussians alone; identical pure losses), contour (moments are known and fall along the
contour), lattice (any profile), Chernoff (what no other holds). Each gives a lower and an upper bound; `routes` says where
each holds, docs/proofs/pld.md has the error analysis.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from dpkit.accountants.pld.lattice_reader import lattice_reader
from dpkit.accountants.pld.moments import (
    RealMoments,
    Terms,
    alias_bound,
    alias_period,
    complex_log_moment,
    lattice_tilt,
    log_kernel_peak,
    real_moments,
    saddle_at_delta,
)
from dpkit.accountants.pld.pure_contour import pure_contour_reader
from dpkit.accountants.pld.where_bounds_hold import (
    CLOSE,
    LARGEST_LOSS,
    WIDE,
    ErrorTerms,
    Reader,
    contour_holds,
    lattice_holds,
    scaled,
)
from dpkit.numerics.rounding import UNIT_ROUNDOFF, exp_up
from dpkit.numerics.special import Array, asfloat
from dpkit.privacy.loss_pairs import LossDirection

_SINGLES = 64
"""How many single releases are looked at for a lower bound where nothing better is known."""


def reader(terms: Terms, *, delta: float, width: float) -> Reader:
    """Bounds on the profile near the epsilon of this delta: by the contour, a lattice, or Chernoff, each in its domain."""
    tail = _tail(terms, delta)
    moments, tilt, epsilon = tuned(tuple(terms), delta)
    if not math.isfinite(epsilon):
        return _chernoff(terms, moments, delta=delta)
    bound = _chernoff_at(moments, tilt)
    period = alias_period(moments, tilt=tilt, epsilon=epsilon, delta=delta)
    found = pure_contour_reader(terms, moments, tilt=tilt, period=period, epsilon=epsilon)
    if found is None:
        found = contour_reader(terms, moments, tilt=tilt, period=period, epsilon=epsilon)
    if found is None and lattice_holds(terms, tail):
        steep = tilt
        tilt, period = lattice_tilt(moments, saddle=steep, epsilon=epsilon, delta=delta)
        # beyond, weights e^(tilt loss) would overflow; a smaller tilt is as valid
        steepest = LARGEST_LOSS / max(1e-12, max(d.reach(tail)[1] - d.reach(tail)[0] for d, _ in terms))
        if tilt > steepest:
            tilt, period = steepest, alias_period(moments, tilt=steepest, epsilon=epsilon, delta=delta)
        # dots add a variance of at most step^2/4 a release, which moves epsilon by half (saddle + 1) times that
        step = math.sqrt(4.2 * width / ((steep + 1.0) * max(1, sum(count for _, count in terms))))
        found = lattice_reader(terms, tilt=tilt, period=period, epsilon=epsilon, tail=tail, wanted=step, width=width)
    elif found is None:
        found = contour_reader(terms, moments, tilt=tilt, period=period, epsilon=epsilon, wide=True)
    if found is None:
        return _chernoff(terms, moments, delta=delta)
    return replace(found, upper=_at_most(found.upper, bound))


def _at_most(
    upper: Callable[[float], tuple[float, ErrorTerms]], bound: Callable[[float], float]
) -> Callable[..., tuple[float, ErrorTerms]]:
    """Far from what a route was tuned for its rounding takes over, and a Chernoff bound is smaller."""

    def smaller(at: float) -> tuple[float, ErrorTerms]:
        value, errors = upper(at)
        other = bound(at)
        return (value, errors) if value <= other else (other, (("a Chernoff bound, not the sum", 0.0),))

    return smaller


@lru_cache(maxsize=8)
def tuned(terms: tuple[tuple[LossDirection, int], ...], delta: float) -> tuple[RealMoments, float, float]:
    """Moments, tilt and the epsilon they give: the same for a first, wide look and for the close one after it."""
    moments = real_moments(terms, tail=_tail(terms, delta))
    return (moments, *saddle_at_delta(moments, delta))


def _tail(terms: Terms, delta: float) -> float:
    """What each release may have beyond a lattice."""
    return delta * 1e-13 / max(1, sum(count for _, count in terms))


def _chernoff(terms: Terms, moments: RealMoments, *, delta: float) -> Reader:
    """For losses beyond what e^loss can hold: the Chernoff bound; from below, the largest profile of a single release."""
    tilt, epsilon = saddle_at_delta(moments, delta, relative=1e-3)
    bound = _chernoff_at(moments, tilt)
    largest = sorted((direction for direction, _ in terms), key=lambda d: -d.reach(0.5 * delta)[1])[:_SINGLES]

    def lower(at: float) -> float:
        profiles = [direction.profile(np.array([at])) for direction in largest]
        found = [float(value[0] - error[0]) for value, error in profiles]
        return max((value for value in (*found, _cantelli(terms, at)) if math.isfinite(value)), default=0.0)

    return Reader(
        upper=lambda at: (bound(at), ()),
        lower=lower,
        route="chernoff",
        start=epsilon,
        tilt=tilt,
        note="beyond what a lattice can hold: a Chernoff bound, and one release from below",
    )


_AWAY = 10.0
"""A loss so far above epsilon counts fully, but for e^-10."""


def _cantelli(terms: Terms, at: float) -> float:
    """A bound on delta from below: the total loss is seldom far below its mean (Cantelli's inequality)."""
    mean = variance = 0.0
    for direction, count in terms:
        known = direction.mean_and_variance()
        if known is None:
            return 0.0
        mean, variance = mean + count * known[0], variance + count * known[1]
    gap = mean * (1.0 - 4.0 * len(terms) * UNIT_ROUNDOFF) - at - _AWAY
    variance *= 1.0 + 4.0 * len(terms) * UNIT_ROUNDOFF
    if not (gap > 0.0 and math.isfinite(gap) and math.isfinite(variance)):
        return 0.0
    return -math.expm1(-_AWAY) / (1.0 + variance / gap / gap) * (1.0 - 1e-12)


def _chernoff_at(moments: RealMoments, tilt: float) -> Callable[[float], float]:
    """The Chernoff bound on delta at one tilt, rounded up; any tilt is valid."""
    moment = float(moments(np.array([tilt]))[0])
    shape = float(log_kernel_peak(np.array([tilt]))[0])

    def bound(at: float) -> float:
        if not math.isfinite(moment):
            return 1.0
        exponent = moment - tilt * at + shape
        exponent += 1e-9 + 1e-13 * (abs(moment) + tilt * abs(at) + abs(shape))
        return min(1.0, exp_up(exponent)) if exponent < 0.0 else 1.0

    return bound


Complex = np.typing.NDArray[np.complex128]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ContourSum:
    """Values of ln M on the upper half of the contour, ready to be read at any epsilon.

    `errors` bounds the absolute error of each ln M, at most 1/2 at the first node, which stands on the real axis; `left_out`
    bounds the sum of |M(z)/M(tilt)| |1/(z(z+1))| 2/period over the nodes beyond the last.
    """

    tilt: float
    period: float
    log_moments: Complex
    errors: Array
    left_out: float

    @property
    def heights(self) -> Array:
        """Im z at the nodes."""
        return asfloat(2.0 * math.pi / self.period * np.arange(self.log_moments.size))

    def scaled_delta(self, epsilon: float) -> tuple[float, float, float]:
        """(value, error, log_scale): delta plus aliases is value * e^log_scale, up to error * e^log_scale."""
        z = self.tilt + 1j * self.heights
        log_scale = float(self.log_moments[0].real) - self.tilt * epsilon
        exponent = self.log_moments - z * epsilon - log_scale
        kernel = 1.0 / (z * (z + 1.0))
        kernel[1:] *= 2.0
        terms = np.exp(exponent) * kernel
        value = float(np.sum(terms.real)) / self.period
        # phases: the exponent's imaginary part is rounded relatively to its own size
        size = abs(epsilon) * (self.tilt + self.heights) + np.abs(self.log_moments) + abs(log_scale)
        blur = np.expm1(np.minimum(self.errors + 8.0 * UNIT_ROUNDOFF * (1.0 + size), 700.0)) + 1e-15
        # |M(z)| is at most M(tilt), however little is known of M(z) itself
        on_axis = math.exp(float(self.errors[0]))
        off = np.minimum(np.abs(terms) * blur, np.abs(terms) + on_axis * np.abs(kernel))
        rounding = 16.0 * UNIT_ROUNDOFF * math.log2(max(2, z.size)) * float(np.sum(np.abs(terms)))
        return value, (float(np.sum(off)) + rounding) / self.period + on_axis * self.left_out, log_scale


def kernel_beyond(height: float, period: float) -> float:
    """The sum of (2/period)/y^2 over the nodes y >= height: at most (2/T)(1/height^2 + T/(2 pi height))."""
    return 2.0 / period / height * (1.0 / height + period / (2.0 * math.pi)) + 1e-300  # it must not underflow


_MOST_NODES = 1 << 15
"""A reading looks at every node some fifty times: more would take longer than a few seconds."""

_WIDE_NODES = 1 << 14
"""Where moments do not fall for good, they have fallen near the real axis by then, and more nodes gain little."""

_CONTOUR_WORK = 40_000_000
"""Nodes times distinct mechanisms that a contour may cost; above, the lattice is tried."""

_REACHES = 8
"""How many heights are tried as the end of where moments are known to fall."""


def contour_reader(
    terms: Terms, moments: RealMoments, *, tilt: float, period: float, epsilon: float, wide: bool = False
) -> Reader | None:
    """A reader by the contour; None outside its domain, or where it would leave out too much or cost too much.

    With `wide`, up to a tenth may be left out: it is bounded, and added.
    """
    if not (math.isfinite(period) and 0.0 < tilt < math.inf):
        return None
    first = complex_log_moment(terms, np.array([tilt], dtype=np.complex128))
    if first is None or not np.isfinite(first[0][0]) or not contour_holds(float(first[1][0])):
        return None
    most = min(_WIDE_NODES if wide else _MOST_NODES, _CONTOUR_WORK // len(terms))
    size, left_out = _contour_size(terms, tilt=tilt, period=period, most=most)
    if not left_out * (1.0 + tilt * period) < (WIDE if wide else CLOSE):
        return None
    nodes = np.asarray(tilt + 2.0j * math.pi / period * np.arange(size), dtype=np.complex128)
    found = complex_log_moment(terms, nodes)
    if found is None or not np.all(np.isfinite(found[0])):
        return None
    spent = ContourSum(tilt=tilt, period=period, log_moments=found[0], errors=found[1], left_out=left_out)

    def upper(at: float) -> tuple[float, ErrorTerms]:
        value, error, log_scale = spent.scaled_delta(at)
        bound = scaled(max(value, 0.0) + error, log_scale, size=tilt * abs(at))
        return bound, (("rounding and truncation", error / max(value, 1e-300)),)

    def lower(at: float) -> float:
        value, error, log_scale = spent.scaled_delta(at)
        alias = alias_bound(moments, tilt=tilt, epsilon=at, period=period)
        return scaled(value - error, log_scale, size=tilt * abs(at), up=False) - alias * (1.0 + 1e-9)

    return Reader(upper=upper, lower=lower, route="contour", start=epsilon, tilt=tilt, note=f"{size} nodes")


def _contour_size(terms: Terms, *, tilt: float, period: float, most: int) -> tuple[int, float]:
    """Enough nodes for what is left out to be below rounding, or for more not to help; and a bound on what is left out."""
    falls = _Falls(terms, tilt)
    goal = math.exp(-30.0) / (1.0 + tilt * period)
    found: list[tuple[int, float]] = []
    size = 64
    while not found or (size <= most and found[-1][1] > goal):
        found.append((size, falls.left_out(size, period)))
        size *= 2
    enough = max(goal, 4.0 * min(left for _, left in found))
    return next((size, left) for size, left in found if left <= enough)


class _Falls:
    """How the moments of a composition fall along a contour (docs/proofs/pld.md, theorem 2 and lemma 10)."""

    def __init__(self, terms: Terms, tilt: float) -> None:
        self.terms, self.tilt = terms, tilt
        falls = [(direction.fall(tilt), count) for direction, count in terms]
        self.reaches = np.array([fall.reach for fall, _ in falls])
        self.rates = np.array([fall.rate * count for fall, count in falls])
        self.periodic = np.array([fall.periodic and fall.rate > 0.0 for fall, _ in falls])
        usable = np.unique(self.reaches[self.rates > 0.0])
        self.ends = usable[np.unique(np.linspace(0, usable.size - 1, _REACHES).astype(int))] if usable.size else usable

    def left_out(self, size: int, period: float) -> float:
        """A bound on the sum of (2/T)|M(z)/M(tilt)|/y^2 over the nodes from this one on."""
        height = 2.0 * math.pi / period * size
        found = math.exp(max(self._log_decay(height), -745.0)) * kernel_beyond(height, period)
        for end in self.ends[self.ends > height].tolist():
            rate = float(np.sum(self.rates[self.reaches >= end])) * (1.0 - 1e-9)
            near = math.exp(max(-rate * height * height, -745.0)) * kernel_beyond(height, period)
            found = min(found, near + (self._far(end, period) if math.isfinite(end) else 0.0))
        return found

    def _far(self, end: float, period: float) -> float:
        """The nodes beyond: by how far moments have fallen for good, or by how seldom a periodic one comes back."""
        found = math.exp(max(self._log_decay(end), -745.0)) * kernel_beyond(end, period)
        with np.errstate(all="ignore"):
            # near the n-th return, 2n reaches up, the moduli are at most e^(-rate d^2), and 1/y^2 <= 1/((2n - 1) reach)^2
            within = 1.0 + np.sqrt(math.pi / self.rates) * period / (2.0 * math.pi)
            returns = 2.0 / period * within * math.pi**2 / 8.0 / self.reaches**2
        seldom = returns[self.periodic & (self.reaches <= end)]
        return min(found, float(np.min(seldom, initial=math.inf)) * (1.0 + 1e-9) + 1e-300)

    def _log_decay(self, height: float) -> float:
        return sum(count * direction.log_decay(self.tilt, height) for direction, count in self.terms)
