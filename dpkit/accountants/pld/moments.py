"""Moments of composed losses on the real axis: where to put the contour, how long its period must be, what aliases add."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from dpkit.numerics.bracketing import minimise
from dpkit.numerics.lattice_laws import LatticeLaw, log_moments, upper_masses
from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array, Complex, asfloat
from dpkit.privacy.loss_pairs import LossDirection, Moments

Terms = Sequence[tuple[LossDirection, int]]
RealMoments = Callable[[Array], Array]
"""Tilts -> ln E[e^(tilt L)] of the whole composition, from above: the error of its evaluation is added."""

ALIAS = 3e-9
"""What an alias may add, relatively to delta."""

NO_CARE = 1e-6
"""From this width on, what is left out or added need not be below rounding."""

_MOST_ADDED = 1e-3
"""More is never added on purpose, however wide an answer may be."""

_STEEPER = np.array([1.2, 1.5, 2.0, 3.0, 5.0, 10.0])
_STEEPER_BOUNDS = np.array([1.05, 1.1, 1.15, 1.2, 1.25, 1.32, 1.4, 1.5, 1.75, 2.0, 3.0, 5.0, 10.0])
"""Multiples of a tilt by which aliases are bounded: where large losses are rare, moments of steeper ones explode."""
STEEPEST_BOUNDS = np.concatenate((_STEEPER_BOUNDS, [20.0, 50.0, 150.0, 500.0]))
"""The same for laws that end, whose moments are cheap."""
_TRIED = np.geomspace(1.0 / 32.0, 8.0, 41)
"""Multiples of the saddle that are tried as tilts of a lattice."""
DIGITS = 10.0
"""How far above delta, in logarithms, what is summed may be: rounding is relative to it."""
_COARSE = 2000
_FARTHEST = 2.0**40
"""A lattice point that is more steps away from 0 would be rounded by what a step is made of."""
_CLOSE_ENOUGH = 0.3
"""The relative width at which the search for a tilt stops: any tilt is valid, and near the best one little depends on it."""


def grouped(terms: Terms) -> list[tuple[type[LossDirection], list[LossDirection], list[int]]]:
    """Terms by class, so that each class can broadcast."""
    classes: dict[type[LossDirection], tuple[list[LossDirection], list[int]]] = {}
    for direction, count in terms:
        directions, counts = classes.setdefault(type(direction), ([], []))
        directions.append(direction)
        counts.append(count)
    return [(kind, directions, counts) for kind, (directions, counts) in classes.items()]


def complex_log_moment(terms: Terms, z: Complex, *, close: bool = False) -> Moments | None:
    """ln E[e^(zL)] of the composition with bounds on its error; None where some part's is not known in closed form.

    `close` asks for errors that are as small as floats allow.
    """
    total, errors = np.zeros(z.shape, dtype=np.complex128), np.zeros(z.shape)
    with np.errstate(all="ignore"):
        for kind, directions, counts in grouped(terms):
            moment = kind.close_log_moment if close else kind.total_log_moment
            part = moment(directions, counts, z)
            if part is None:
                return None
            total, errors = total + part[0], errors + part[1] + 4.0 * UNIT_ROUNDOFF * np.abs(part[0])
    return total, errors


def real_moments(terms: Terms, *, tail: float) -> RealMoments:
    """Log moments for real tilts, rounded up: closed forms where they are known, a coarse lattice (from above) elsewhere."""
    known: list[tuple[LossDirection, int]] = []
    others: list[tuple[LossDirection, int]] = []
    laws: dict[LossDirection, tuple[LatticeLaw, float] | None] = {}
    for kind, directions, counts in grouped(terms):
        members = list(zip(directions, counts, strict=True))
        own = kind.real_log_moment is not LossDirection.real_log_moment
        if not own and complex_log_moment(members, np.ones(1, dtype=np.complex128)) is not None:
            known += members
        else:
            others += members

    def by_law(direction: LossDirection, tilts: Array) -> Array | float:
        if direction not in laws:
            laws[direction] = coarse_law(direction, tail)
        found = laws[direction]  # without one no moment is known to be finite
        return math.inf if found is None else asfloat(log_moments(*found, tilts) + _law_error(*found, tilts))

    def log_moment(tilts: Array) -> Array:
        with np.errstate(all="ignore"):
            closed = complex_log_moment(known, tilts.astype(np.complex128)) if known else None
            total = np.zeros(tilts.shape) if closed is None else asfloat(closed[0].real + closed[1])
            for direction, count in others:
                known_bound = direction.real_log_moment(tilts)
                rounded = by_law(direction, tilts) if known_bound is None else known_bound * (1.0 + 16.0 * UNIT_ROUNDOFF)
                total = total + count * rounded
        return np.where(np.isnan(total), np.inf, total)

    return log_moment


def rough_moments(terms: Terms, certified: RealMoments) -> RealMoments:
    """Log moments to search tilts and periods by, which are valid whatever they are; the certified ones where none are cheaper.

    A period that is too short makes the upper sum larger, and the lower one is less by aliases that are bounded by certified
    moments.
    """
    if any(direction.rough_log_moment(np.ones(1)) is None for direction, _ in terms):
        return certified

    def log_moment(tilts: Array) -> Array:
        total = np.zeros(tilts.shape)
        with np.errstate(all="ignore"):
            for direction, count in terms:
                part = direction.rough_log_moment(tilts)
                total = total + (math.inf if part is None else count * part)
        return np.where(np.isnan(total), np.inf, total)

    return log_moment


def _law_error(law: LatticeLaw, step: float, tilts: Array) -> Array:
    """How far `log_moments` may be off: a sum of this number of positive terms, each an exponential."""
    span = step * (abs(law.first) + law.masses.size)
    return asfloat(UNIT_ROUNDOFF * (64.0 + law.masses.size + 8.0 * tilts * span))


def coarse_law(direction: LossDirection, tail: float) -> tuple[LatticeLaw, float] | None:
    """A law of some two thousand points that dominates the direction, and its step; None where floats hold no such lattice."""
    low, high = direction.reach(tail)
    step = max((high - low) / _COARSE, 1e-12)
    if not max(abs(low), abs(high)) < _FARTHEST * step:
        return None
    first, last = math.floor(low / step), math.ceil(high / step)
    profile, errors = direction.profile(asfloat(np.arange(first - 1, last + 1) * step))
    return upper_masses(profile, errors, first=first, step=step), step


def saddle_at_delta(log_moment: RealMoments, delta: float, *, relative: float = _CLOSE_ENOUGH) -> tuple[float, float]:
    """The tilt at which the Chernoff bound at this delta is smallest, and the epsilon that it gives (CKS20, Prop 12)."""

    def bound(tilts: Array) -> Array:
        return chernoff_epsilons(log_moment, delta, tilts)

    tilt = minimise(bound, low=1e-2, high=1e3, relative=relative, coarse=13, zoom=7)  # any tilt is valid
    return tilt, float(bound(np.array([tilt]))[0])


def chernoff_epsilons(log_moment: RealMoments, delta: float, tilts: Array) -> Array:
    """The epsilon at this delta that the Chernoff bound at each tilt gives."""
    with np.errstate(all="ignore"):
        value = (log_moment(tilts) - math.log(delta) + log_kernel_peak(tilts)) / tilts
    return np.where(np.isnan(value), np.inf, value)


def chernoff_delta(log_moment: RealMoments, epsilon: float) -> float:
    """The Chernoff bound on delta at this epsilon: what a contour is tuned for."""

    def bound(tilts: Array) -> Array:
        with np.errstate(all="ignore"):
            value = log_moment(tilts) - tilts * epsilon + log_kernel_peak(tilts)
        return np.where(np.isnan(value), np.inf, value)

    tilt = minimise(bound, low=1e-2, high=1e3, relative=_CLOSE_ENOUGH, coarse=13, zoom=7)  # any tilt is valid
    return math.exp(max(-690.0, min(0.0, float(bound(np.array([tilt]))[0]))))


def log_kernel_peak(tilts: Array) -> Array:
    """ln of the largest value of e^(-tilt u)(1 - e^-u), which is t ln t - (1+t) ln(1+t).

    Written so that nothing cancels: for a large tilt the two terms agree in all their digits, and a bound must not be moved by
    that.
    """
    return np.asarray(-np.log1p(tilts) - tilts * np.log1p(1.0 / tilts), dtype=np.float64)


def tolerated(width: float, tilt: float) -> float:
    """What may be added to delta, relatively, for this width of epsilon: it moves epsilon by about that over the tilt."""
    return ALIAS if width < NO_CARE else max(ALIAS, min(_MOST_ADDED, 0.01 * width * tilt))


def alias_period(log_moment: RealMoments, *, tilt: float, epsilon: float, delta: float, alias: float = ALIAS) -> float:
    """A period at which aliases are below this part of delta: from below by delta <= 1, from above by Chernoff."""
    wanted = -math.log(delta) - math.log(alias)
    below = shortest_period(tilt=tilt, delta=delta, alias=alias)
    with np.errstate(all="ignore"):
        above = (log_moment(tilt * _STEEPER) - tilt * _STEEPER * epsilon + wanted) / (tilt * (_STEEPER - 1.0))
    return max(below, float(np.min(np.where(np.isfinite(above), above, np.inf))))


def shortest_period(*, tilt: float, delta: float, alias: float = ALIAS) -> float:
    """What the aliases below ask for, of which nothing is known but delta <= 1."""
    return max((-math.log(delta) - math.log(alias)) / tilt, 1e-9)


def lattice_tilt(
    log_moment: RealMoments,
    *,
    saddle: float,
    epsilon: float,
    delta: float,
    alias: float = ALIAS,
    digits: float = DIGITS,
) -> tuple[float, float]:
    """The tilt, and its period, that make the shortest lattice: any tilt is valid. `digits` may be lost, in logarithms.

    Where large losses are rare, almost all that is summed at the saddle are several of them at once, and periods must be long
    to keep these apart. A smaller tilt costs digits, which there are enough of.
    """
    tilts = saddle * _TRIED
    wanted = -math.log(delta) - math.log(alias)
    with np.errstate(all="ignore"):
        bounds = log_moment(tilts) - tilts * epsilon
        steeper = np.subtract.outer(tilts, tilts).T  # [i, j]: tilt j less tilt i
        above = np.where(steeper > 0.0, (bounds[None, :] + wanted) / steeper, np.inf)
        above = np.min(np.where(np.isfinite(above), above, np.inf), axis=1)
        over = np.maximum(bounds + log_kernel_peak(tilts) - math.log(delta), 0.0)
        # what is summed is larger than what is read, and readings begin a tenth of a period on
        below = (wanted + over) / (0.9 * tilts)
        periods = np.maximum(np.maximum(below, above), 1e-9)
        cost = np.where((over < digits) & np.isfinite(periods), periods, np.inf)
    best = int(np.argmin(cost))
    if not math.isfinite(float(cost[best])):
        return saddle, alias_period(log_moment, tilt=saddle, epsilon=epsilon, delta=delta, alias=alias)
    return float(tilts[best]), float(periods[best])


def alias_bound(
    log_moment: RealMoments, *, tilt: float, epsilon: float, period: float, steeper: Array = _STEEPER_BOUNDS
) -> float:
    """An upper bound on all aliases at this epsilon: a geometric sum below, Chernoff at steeper tilts above."""
    below = math.exp(-tilt * period) / -math.expm1(-tilt * period)
    with np.errstate(all="ignore"):
        log_above = log_moment(tilt * steeper) - tilt * steeper * (epsilon + period) + tilt * period
        above = np.exp(np.minimum(log_above, 700.0)) / -np.expm1(-tilt * (steeper - 1.0) * period)
    return below + float(np.min(np.where(np.isfinite(above), above, np.inf)))
