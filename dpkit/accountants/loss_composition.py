"""Composing loss directions: which route prices a composition, and certified bounds on its profile.

Routes, cheapest first: closed form (Gaussians alone; identical pure losses), contour (moments are known and fall along the
contour), lattice (any profile). Each gives a lower and an upper bound; docs/proofs/pld.md has the error analysis.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpkit.accountants.loss_moments import (
    RealMoments,
    Terms,
    alias_bound,
    alias_period,
    complex_log_moment,
    real_moments,
    saddle_at_delta,
)
from dpkit.core.loss_pairs import LossDirection
from dpkit.numerics.contour import ContourSum
from dpkit.numerics.loss_lattice import LatticeLaw, LatticeSum, log_moments, lower_masses, upper_masses
from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array, asfloat

ErrorTerms = tuple[tuple[str, float], ...]
"""Names and sizes of what was added to an upper bound, relative to it."""

_MOST_RELEASES = 10**9
"""With more, a rounding error a release would be all that is left of a lattice."""

_SMALLEST_SPREAD = 1e-5
"""Losses that spread less are beyond a lattice's rounding."""

_LARGEST_LOSS = 600.0
"""e to this can still be multiplied by probabilities."""

_CONTOUR_WORK = 40_000_000
"""Nodes times distinct mechanisms that a contour may cost; above, the lattice is tried."""

_LATTICE_SIZE = 1 << 21
"""The longest transform: 16 MB of floats, and a few times that in passing."""

_ALIGNMENTS = 20_000
"""So many steps are tried for the one on which the atoms of the losses lie best."""

_LATTICE_WORK = 1 << 26
"""Distinct mechanisms times transform length: half a gigabyte of transforms."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reader:
    """Bounds on delta(epsilon) near one target: an upper sum, and a lower one that is built only when it is asked for."""

    upper: Callable[[float], tuple[float, ErrorTerms]]
    lower: Callable[[float], float]
    route: str
    start: float
    tilt: float
    note: str = ""


def reader(terms: Terms, *, delta: float, width: float) -> Reader:
    """Bounds on the profile near the epsilon of this delta, by the contour where it can be certified, else by a lattice."""
    releases = sum(count for _, count in terms)
    tail = delta * 1e-13 / max(1, releases)
    moments, tilt, epsilon = tuned(tuple(terms), delta, tail)
    if not math.isfinite(epsilon):
        return _chernoff(moments, delta=delta)
    period = alias_period(moments, tilt=tilt, epsilon=epsilon, delta=delta)
    found = _contour(terms, moments, tilt=tilt, period=period, epsilon=epsilon)
    if found is None and (releases > _MOST_RELEASES or not all(_lattice_holds(d, tail) for d, _ in terms)):
        return _chernoff(moments, delta=delta)
    if found is None:
        # beyond, weights e^(tilt loss) would overflow; a smaller tilt is as valid
        tilt = min(tilt, _LARGEST_LOSS / max(1e-12, max(d.reach(tail)[1] - d.reach(tail)[0] for d, _ in terms)))
        period = alias_period(moments, tilt=tilt, epsilon=epsilon, delta=delta)
    return (
        found
        if found is not None
        else _lattice(terms, moments, tilt=tilt, period=period, epsilon=epsilon, tail=tail, width=width)
    )


@lru_cache(maxsize=8)
def tuned(terms: tuple[tuple[LossDirection, int], ...], delta: float, tail: float) -> tuple[RealMoments, float, float]:
    """Moments, tilt and the epsilon they give: the same for a first, wide look and for the close one after it."""
    moments = real_moments(terms, tail=tail)
    return (moments, *saddle_at_delta(moments, delta))


def _lattice_holds(direction: LossDirection, tail: float) -> bool:
    """Whether e^loss is a number, and the losses are not so small that a step would vanish beside 1."""
    low, high = direction.reach(tail)
    return max(abs(low), abs(high)) < _LARGEST_LOSS and high - low > _SMALLEST_SPREAD


def _chernoff(moments: RealMoments, *, delta: float) -> Reader:
    """For losses beyond what e^loss can hold: the Chernoff bound, with no lower one."""
    tilt, epsilon = saddle_at_delta(moments, delta, relative=1e-3)

    moment = float(moments(np.array([tilt]))[0])
    shape = tilt * math.log(tilt) - (1.0 + tilt) * math.log1p(tilt)

    def upper(at: float) -> tuple[float, ErrorTerms]:
        exponent = moment - tilt * at + shape
        exponent += 1e-9 + 1e-13 * (abs(moment) + tilt * at + abs(shape))
        return (math.exp(exponent) if exponent < 0.0 else 1.0), ()

    return Reader(
        upper=upper,
        lower=lambda at: 0.0,
        route="chernoff",
        start=epsilon,
        tilt=tilt,
        note="beyond what a lattice can hold: a Chernoff bound",
    )


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
        return _scaled(value + error, log_scale, size=tilt * abs(at)), (
            ("rounding and truncation", error / max(value, 1e-300)),
        )

    def lower(at: float) -> float:
        value, error, log_scale = spent.scaled_delta(at)
        alias = alias_bound(moments, tilt=tilt, epsilon=at, period=period)
        return _scaled(value - error, log_scale, size=tilt * abs(at), up=False) - alias * (1.0 + 1e-9)

    return Reader(upper=upper, lower=lower, route="contour", start=epsilon, tilt=tilt, note=f"{size} nodes")


def _total_log_decay(terms: Terms, tilt: float, height: float) -> float:
    return sum(count * direction.log_decay(tilt, height) for direction, count in terms)


def _contour_size(terms: Terms, *, tilt: float, period: float) -> int | None:
    """So many nodes that what is left out is below rounding; None when that is too many."""
    most = _CONTOUR_WORK // len(terms)
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


def _lattice(
    terms: Terms, moments: RealMoments, *, tilt: float, period: float, epsilon: float, tail: float, width: float
) -> Reader:
    """A reader on a lattice as fine as the width asks for, or as the work allows; then the note says so."""
    releases = sum(count for _, count in terms)
    # dots add a variance of at most step^2/4 a release, which moves epsilon by half (tilt + 1) times that
    wanted = math.sqrt(4.2 * width / ((tilt + 1.0) * max(1, releases)))
    most = max(1024, min(_LATTICE_SIZE, _LATTICE_WORK // len(terms)))
    reaches = [direction.reach(tail) for direction, _ in terms]
    widest = max(high - low for low, high in reaches)
    step = _aligned(max(wanted, period / most, widest / _LATTICE_SIZE), terms)
    size = _fast_length(math.ceil(period / step))
    note = f"step {step:.3g}, {size} points"
    if step > wanted * 1.001:
        note += (
            f"; the width asked for would take {period / wanted:.2g} points, more than are allowed, so the interval is wider"
        )
    return _lattice_bounds(terms, reaches, step=step, tilt=tilt, size=size, start=epsilon, note=note)


def _lattice_bounds(
    terms: Terms, reaches: list[tuple[float, float]], *, step: float, tilt: float, size: int, start: float, note: str
) -> Reader:
    laws = [(_upper_law(direction, reach, step), n) for (direction, n), reach in zip(terms, reaches, strict=True)]
    spent = LatticeSum(laws, step=step, tilt=tilt, size=size, near=start)
    lost = sum(count * _beyond(direction, law, step) for (direction, count), (law, _) in zip(terms, laws, strict=True))
    del laws
    cache: list[tuple[LatticeSum, RealMoments]] = []

    def upper(at: float) -> tuple[float, ErrorTerms]:
        value, error, log_scale = spent.scaled_delta(at)
        bound = _scaled(value + error, log_scale + spent.log_error, size=tilt * abs(at)) + lost
        sizes = (("rounding", error / max(value, 1e-300) + spent.log_error), ("truncated tail", lost / max(bound, 1e-300)))
        return bound, sizes

    def lower(at: float) -> float:
        if not cache:
            below = [(_lower_law(direction, reach, step), n) for (direction, n), reach in zip(terms, reaches, strict=True)]
            # where the lattice is too coarse for a release, leaving that release out is the better lower bound
            below = [
                (law, n) for law, n in below if np.any(law.masses) and float(log_moments(law, step, np.array([tilt]))[0]) > 0.0
            ]
            if not below:
                return 0.0
            steeper: dict[float, float] = {}

            def log_moment(tilts: Array) -> Array:
                for one in tilts.tolist():
                    if one not in steeper:
                        steeper[one] = sum(n * float(log_moments(law, step, np.array([one]))[0]) for law, n in below)
                return np.array([steeper[one] for one in tilts.tolist()])

            cache.append((LatticeSum(below, step=step, tilt=tilt, size=size, near=start), log_moment))
        total, below_moments = cache[0]
        value, error, log_scale = total.scaled_delta(at)
        alias = alias_bound(below_moments, tilt=tilt, epsilon=at, period=size * step)
        return _scaled(value - error, log_scale - total.log_error, size=tilt * abs(at), up=False) - alias * (1.0 + 1e-9)

    return Reader(upper=upper, lower=lower, route="lattice", start=start, tilt=tilt, note=note)


def _upper_law(direction: LossDirection, reach: tuple[float, float], step: float) -> LatticeLaw:
    first, last = math.floor(reach[0] / step), math.ceil(reach[1] / step)
    profile, errors = direction.profile(asfloat(np.arange(first - 1, last + 1) * step))
    return upper_masses(profile, errors, first=first, step=step)


def _lower_law(direction: LossDirection, reach: tuple[float, float], step: float) -> LatticeLaw:
    first, last = math.floor(reach[0] / step) - 1, math.ceil(reach[1] / step) + 1
    middles = asfloat((np.arange(first - 1, last + 2) - 0.5) * step)
    profile, errors = direction.profile(middles)
    top = direction.top()
    nearest = round(top / step) if math.isfinite(top) else 0
    on_lattice = nearest > 0 and abs(nearest * step - top) <= 8.0 * UNIT_ROUNDOFF * top
    slopes = direction.slope(middles)
    if not on_lattice:
        return lower_masses(profile, errors, slopes, first=first, step=step)
    atom = float(direction.slope(asfloat([top * (1.0 - 2.0**-50)]))[0])
    return lower_masses(profile, errors, slopes, first=first, step=step, top=nearest, atom=atom)


def _beyond(direction: LossDirection, law: LatticeLaw, step: float) -> float:
    """What the profile still is at the last point: the mass that may lie above it."""
    last = (law.first + law.masses.size - 1) * step
    if direction.top() <= last:
        return 0.0
    value, error = direction.profile(np.array([last]))
    return float(value[0] + error[0]) if value[0] > 0.0 else 0.0


def _aligned(step: float, terms: Terms) -> float:
    """The step, a little smaller, so that atoms of the losses lie on lattice points, or hardly above.

    The heaviest atom is put on the lattice exactly; among the steps that do so, the one that serves the others best. An atom
    between points costs the lower bound what it lies above the lower one.
    """
    atoms = [(atom, count) for direction, count in terms for atom in direction.atoms() if atom > step]
    if not atoms:
        return step
    heaviest = max(atoms, key=lambda item: item[0] * item[1])[0]
    fewest = math.ceil(heaviest / step)
    parts = np.arange(fewest, fewest + min(_ALIGNMENTS, max(1, fewest // 4)))
    wasted = np.zeros(parts.size)
    for atom, count in atoms[:64]:
        position = atom / heaviest * parts
        wasted += count * (position - np.floor(position + 1e-9)) / parts
    return heaviest / float(parts[int(np.argmin(wasted))])


def _fast_length(size: int) -> int:
    from scipy.fft import next_fast_len

    length = int(next_fast_len(max(16, size), real=True))
    while length % 2:
        length = int(next_fast_len(length + 1, real=True))
    return length


def _scaled(value: float, log_scale: float, *, size: float, up: bool = True) -> float:
    """value * e^log_scale, rounded to its safe side, without overflow; a delta, so at most 1.

    `size` is the largest number that was cancelled in forming log_scale.
    """
    if value <= 0.0:
        return 0.0
    margin = 16.0 * UNIT_ROUNDOFF * (1.0 + abs(math.log(value)) + abs(log_scale) + size)
    scaled = math.exp(min(math.log(value) + log_scale, 1.0)) * (1.0 + margin if up else max(0.0, 1.0 - margin))
    return min(scaled, 1.0)
