"""The route by a contour: compositions whose moments are known, by a sum over few nodes, as they are or smoothed.

docs/proofs/pld.md: theorems 1 and 2, lemma 10; theorem 12 where losses have atoms that no lattice holds.
"""

from __future__ import annotations

import math
from dataclasses import field, replace
from functools import partial

import numpy as np

from dpkit.accountants.pld.moments import NO_CARE, RealMoments, Terms, alias_bound, alias_period, complex_log_moment, tolerated
from dpkit.accountants.pld.where_bounds_hold import CLOSE, ErrorTerms, Reader, contour_holds, scaled, wanted_width
from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array, Complex, asfloat, distinct
from dpkit.privacy.gaussian_dp import GaussianDirection
from dpkit.privacy.loss_pairs import LossDirection
from dpkit.values import dataclass

_MOST_NODES = 1 << 15
"""A reading looks at every node some fifty times: more would take longer than a few seconds."""

_SMOOTHED_NODES = 1 << 18
"""Nodes that are looked at where a law of few mechanisms is smoothed; those that count are kept."""

_CONTOUR_WORK = 40_000_000
"""Nodes times distinct mechanisms that a contour may cost."""

_FEWEST = 1 << 16
"""What it may cost where distinct mechanisms are many."""

_SMOOTHED_WORK = 12_000_000
"""What it may cost where a law is smoothed, which can be done more coarsely."""

_REACHES = 8
"""How many heights are tried as the end of where moments are known to fall."""

_BLOCKS = (9, 65, 513, 4097)
"""After these numbers of mechanisms, nodes whose moments have fallen far enough are given up: others only make them smaller."""

_FALLEN = 34.0
"""By how much, in logarithms, what is given up has fallen below what is summed."""

_FINER = (6.0, 2.0)
"""By what the noise is made smaller where an atom asks for it, or by how much it can be."""


_LEFT = 40.0
"""How small, in logarithms, what a close reader leaves out is beside what is summed."""

_SPARED = 1e-5
"""No width below it is worth a close reader, which may take a second."""

_STEEPEST = 2.0
"""A tilt of so much over the width is steep enough: next to the largest loss saddles have no limit."""

_COARSEST = 0.1
"""A width of a smoothed law that is too large to be of use."""

_COSTLY = Reader(upper=lambda _: (1.0, ()), lower=lambda _: 0.0, route="none", start=0.0, tilt=1.0)
"""Stands for a reader that would cost too much."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ContourSum:
    """Values of ln M at nodes on the upper half of the contour, ready to be read at any epsilon.

    The first node stands on the real axis. `errors` bounds the absolute error of each ln M, at most 1/2 at the first node;
    `left_out` bounds the sum of |M(z)/M(tilt)| (|1/(z(z+1))| + dent) 2/period over the nodes that are not here. `dent` is c of
    theorem 12, which is taken off for a lower bound; 0 where nothing was smoothed.
    """

    tilt: float
    period: float
    heights: Array
    log_moments: Complex
    errors: Array
    left_out: float
    dent: float = 0.0
    _cache: dict[bool, tuple[Complex, Complex, Array, Array]] = field(default_factory=dict, repr=False)

    def scaled_delta(self, epsilon: float, *, below: bool = False) -> tuple[float, float, float]:
        """(value, error, log_scale): delta plus aliases is value * e^log_scale, up to error * e^log_scale."""
        z, kernel, moduli, sizes = self._prepared(below=below)
        log_scale = float(self.log_moments[0].real) - self.tilt * epsilon
        terms = np.exp(self.log_moments - z * epsilon - log_scale) * kernel
        value = float(np.sum(terms.real)) / self.period
        # phases: the exponent's imaginary part is rounded relatively to its own size
        size = abs(epsilon) * (self.tilt + self.heights) + sizes + abs(log_scale)
        blur = np.expm1(np.minimum(self.errors + 8.0 * UNIT_ROUNDOFF * (1.0 + size), 700.0)) + 1e-15
        # |M(z)| is at most M(tilt), however little is known of M(z) itself
        on_axis = math.exp(float(self.errors[0]))
        modulus = np.abs(terms)
        off = np.minimum(modulus * blur, modulus + on_axis * moduli)
        rounding = 16.0 * UNIT_ROUNDOFF * math.log2(max(2, z.size)) * float(np.sum(modulus))
        return value, (float(np.sum(off)) + rounding) / self.period + on_axis * self.left_out, log_scale

    def _prepared(self, *, below: bool) -> tuple[Complex, Complex, Array, Array]:
        """Nodes, kernels, their moduli, and the moduli of the log moments: what no epsilon changes."""
        if below not in self._cache:
            z = np.asarray(self.tilt + 1j * self.heights, dtype=np.complex128)
            kernel = 1.0 / (z * (z + 1.0)) - (self.dent if below else 0.0)
            kernel[1:] *= 2.0
            self._cache[below] = (z, kernel, np.abs(kernel), np.abs(self.log_moments))
        return self._cache[below]

    def reader(self, moments: RealMoments, *, start: float, note: str) -> Reader:
        """Bounds on delta: the sum from above; from below, less its aliases."""

        def upper(at: float) -> tuple[float, ErrorTerms]:
            value, error, log_scale = self.scaled_delta(at)
            bound = scaled(max(value, 0.0) + error, log_scale, size=self.tilt * abs(at))
            return bound, (("rounding and truncation", error / max(value, 1e-300)),)

        def lower(at: float) -> float:
            value, error, log_scale = self.scaled_delta(at, below=True)
            alias = alias_bound(moments, tilt=self.tilt, epsilon=at, period=self.period)
            return scaled(value - error, log_scale, size=self.tilt * abs(at), up=False) - alias * (1.0 + 1e-9)

        return Reader(upper=upper, lower=lower, route="contour", start=start, tilt=self.tilt, note=note)


def _can_be_closer(terms: Terms) -> bool:
    """Whether some moment is known more closely than it is first given."""
    plain = LossDirection.close_log_moment.__func__  # type: ignore[attr-defined]
    return any(type(direction).close_log_moment.__func__ is not plain for direction, _ in terms)  # type: ignore[attr-defined]


def kernel_beyond(height: float, period: float) -> float:
    """The sum of (2/period)/y^2 over the nodes y >= height: at most (2/T)(1/height^2 + T/(2 pi height))."""
    return 2.0 / period / height * (1.0 / height + period / (2.0 * math.pi)) + 1e-300  # it must not underflow


def contour_reader(
    terms: Terms, moments: RealMoments, *, tilt: float, period: float, epsilon: float, width: float, close: bool = False
) -> Reader | None:
    """A reader by the contour; None outside its domain, or where it would leave out too much or cost too much.

    For a larger width more may be left out: a part of delta moves epsilon by that part over the tilt. With `close` nothing is
    spared: where large losses are rare, what is read may be far smaller than what is summed.
    """
    if not (math.isfinite(period) and 0.0 < tilt < math.inf):
        return None
    most = min(_MOST_NODES, _CONTOUR_WORK // len(terms))
    spared = tolerated(width, tilt)
    least = math.exp(-_LEFT) if close else math.exp(-30.0) if width < NO_CARE else 0.1 * spared
    size, left_out = _contour_size(terms, tilt=tilt, period=period, most=most, least=least)
    if not left_out * (1.0 + tilt) * (1.0 + tilt * period) < max(CLOSE, spared):
        return None
    heights = asfloat(2.0 * math.pi / period * np.arange(size))
    found = complex_log_moment(terms, np.asarray(tilt + 1j * heights, dtype=np.complex128), close=close)
    if found is None or not np.all(np.isfinite(found[0])) or not contour_holds(float(found[1][0])):
        return None
    spent = ContourSum(
        tilt=tilt, period=period, heights=heights, log_moments=found[0], errors=asfloat(found[1]), left_out=left_out
    )
    reader = spent.reader(moments, start=epsilon, note=f"{size} nodes")
    if close or not _can_be_closer(terms):
        return reader
    closer = partial(
        contour_reader, terms, moments, tilt=tilt, period=period, epsilon=epsilon, width=min(width, 5e-7), close=True
    )
    return replace(reader, finer=closer, worth=tilt * max(width, _SPARED))


def _on_axis(terms: Terms, *, tilt: float, period: float) -> bool:
    """Whether the moment on the real axis is known well enough: everything on a contour is relative to it."""
    if not (math.isfinite(period) and 0.0 < tilt < math.inf):
        return False
    first = complex_log_moment(terms, np.array([tilt], dtype=np.complex128))
    return first is not None and bool(np.isfinite(first[0][0])) and contour_holds(float(first[1][0]))


def smoothed_reader(
    terms: Terms,
    moments: RealMoments,
    *,
    tilt: float,
    epsilon: float,
    delta: float,
    width: float,
    patient: bool = False,
    close: bool = False,
) -> Reader | None:
    """A reader of the law smoothed by a little Gaussian noise, which needs nothing of how moments fall (theorem 12).

    The noise is as large as the width allows, or as the work does; None outside the domain of contours, and where moments are
    not known as high up as that needs: a lattice may be nearer than the larger noise that a `patient` caller takes. Next to an
    atom less noise may be needed: the reader knows a finer one.
    """
    wanted = wanted_width(width, epsilon)
    tilt = min(tilt, _STEEPEST / wanted)
    mu = math.sqrt(0.8 * wanted / (tilt + 1.0))
    while mu * mu * (tilt + 1.0) < _COARSEST:
        found = _smoothed(terms, moments, mu, tilt=tilt, epsilon=epsilon, delta=delta, close=close)
        if found is None and not patient:
            return None
        if found is not None and found is not _COSTLY:
            return found
        mu *= 2.0
    return None


def _smoothed(
    terms: Terms, moments: RealMoments, mu: float, *, tilt: float, epsilon: float, delta: float, close: bool = False
) -> Reader | None:
    """The law smoothed by this mu: None outside the domain, `_COSTLY` where it would cost too much."""
    spread = 0.5 * mu * mu * (1.0 + 8.0 * UNIT_ROUNDOFF)

    def smoothed(tilts: Array) -> Array:
        return asfloat(moments(tilts) + spread * tilts * (tilts + 1.0))

    def finer() -> Reader | None:
        for times in _FINER if close or not _can_be_closer(terms) else (1.0,):  # first without rounding, then with less noise
            found = _smoothed(terms, moments, mu / times, tilt=tilt, epsilon=epsilon, delta=delta, close=True)
            if found is not None and found is not _COSTLY:
                return found
        return None

    period = alias_period(smoothed, tilt=tilt, epsilon=epsilon, delta=delta)
    noisy = [(GaussianDirection(mu=mu), 1), *terms]
    if not _on_axis(noisy, tilt=tilt, period=period):
        return None
    size, fallen = _smoothed_size(mu, tilt=tilt, period=period)
    if size > min(_SMOOTHED_NODES, 2 * _SMOOTHED_NODES // len(noisy) + _FEWEST):
        return _COSTLY
    if complex_log_moment(noisy, np.array([complex(tilt, 2.0 * math.pi / period * size)])) is None:
        return None
    spent = _smoothed_sum(noisy, mu, tilt=tilt, period=period, size=size, fallen=fallen, close=close)
    if spent is None:
        return _COSTLY
    found = spent.reader(smoothed, start=epsilon, note=f"smoothed by {mu:.2g}, {spent.heights.size} nodes")
    return replace(found, finer=finer)


def _smoothed_size(mu: float, *, tilt: float, period: float) -> tuple[int, float]:
    """Up to which node the noise has not fallen far enough, and how far that is, in logarithms."""
    fallen = _FALLEN + math.log1p(tilt) + math.log1p(tilt * period)
    return math.ceil(math.sqrt(2.0 * fallen) / mu * period / (2.0 * math.pi)) + 2, fallen


def _smoothed_sum(
    terms: Terms, mu: float, *, tilt: float, period: float, size: int, fallen: float, close: bool
) -> ContourSum | None:
    """The nodes that count, found block by block of mechanisms; None where too many would be left for all of them.

    The first of the terms is the noise that smooths.
    """
    dent = mu * mu * math.exp(mu * mu / 8.0) * (1.0 + 1e-12)
    heights = asfloat(2.0 * math.pi / period * np.arange(size))
    total, errors = np.zeros(size, dtype=np.complex128), np.zeros(size)
    # beyond the last node by the noise alone, where both kernels are below 1/y^2 + dent
    last = 2.0 * math.pi / period * size
    gone = math.exp(max(-0.5 * (mu * last) * (mu * last) * (1.0 - 1e-12), -745.0))
    left_out = gone * (kernel_beyond(last, period) + dent * (2.0 / period + 1.0 / (math.pi * mu * mu * last)))
    mixed = [terms[0], *(term for start in range(16) for term in terms[1 + start :: 16])]
    start = 0
    for end in (*(block for block in _BLOCKS if block < len(mixed)), len(mixed)):
        if heights.size * (end - start) > _SMOOTHED_WORK:
            return None
        z = np.asarray(tilt + 1j * heights, dtype=np.complex128)
        found = complex_log_moment(mixed[start:end], z, close=close)
        if found is None or not np.all(np.isfinite(found[0])):
            return None
        total, errors, start = total + found[0], errors + found[1], end
        logs = total.real - total[0].real + errors + errors[0]
        kept = logs > -fallen
        kept[0] = True
        moduli = np.exp(np.maximum(logs[~kept], -745.0))
        left_out += 2.0 / period * float(np.sum(moduli * (1.0 / heights[~kept] ** 2 + dent))) * (1.0 + 1e-9)
        heights, total, errors = asfloat(heights[kept]), total[kept], asfloat(errors[kept])
    return ContourSum(tilt=tilt, period=period, heights=heights, log_moments=total, errors=errors, left_out=left_out, dent=dent)


def _contour_size(terms: Terms, *, tilt: float, period: float, most: int, least: float) -> tuple[int, float]:
    """Enough nodes for what is left out to be below `least`, or for more not to help; and a bound on what is left out."""
    falls = _Falls(terms, tilt)
    goal = least / (1.0 + tilt * period) / (1.0 + tilt)
    found: list[tuple[int, float]] = []
    size = 64
    while not found or (size <= most and found[-1][1] > goal):
        found.append((size, falls.left_out(size, period)))
        size *= 2
    enough = max(goal, 4.0 * min(left for _, left in found))
    size, left = next((size, left) for size, left in found if left <= enough)
    if np.any(falls.rates == 0.0):  # moments by quadrature, whose work grows with the square of the nodes
        low = size // 2
        while size > 64 and size - low > size // 16:
            middle = (low + size) // 2
            fewer = falls.left_out(middle, period)
            low, size, left = (low, middle, fewer) if fewer <= enough else (middle, size, left)
    return size, left


class _Falls:
    """How the moments of a composition fall along a contour (docs/proofs/pld.md, theorem 2 and lemma 10)."""

    def __init__(self, terms: Terms, tilt: float) -> None:
        self.terms, self.tilt = terms, tilt
        falls = [(direction.fall(tilt), count) for direction, count in terms]
        self.reaches = np.array([fall.reach for fall, _ in falls])
        self.rates = np.array([fall.rate * count for fall, count in falls])
        self.periodic = np.array([fall.periodic and fall.rate > 0.0 for fall, _ in falls])
        self.recurring = [(fall, count) for fall, count in falls if fall.period > 0.0 and fall.rate > 0.0]
        usable = distinct(self.reaches[self.rates > 0.0])
        self.ends = usable[distinct(np.linspace(0, usable.size - 1, _REACHES).astype(int))] if usable.size else usable

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
        for fall, count in self.recurring:
            if fall.reach <= end:
                near = 2.0 / period * (1.0 + math.sqrt(math.pi / (fall.rate * count)) * period / (2.0 * math.pi))
                near *= math.pi**2 / 2.0 / fall.period**2
                elsewhere = math.exp(max(-fall.middle * count * (1.0 - 1e-9), -745.0)) * kernel_beyond(end, period)
                found = min(found, (near + elsewhere) * (1.0 + 1e-9))
        return min(found, float(np.min(seldom, initial=math.inf)) * (1.0 + 1e-9) + 1e-300)

    def _log_decay(self, height: float) -> float:
        return sum(count * direction.log_decay(self.tilt, height) for direction, count in self.terms)
