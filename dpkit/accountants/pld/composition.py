"""Composing loss directions: which route prices a composition, and certified bounds on its profile.

Routes, cheapest first: closed form (Gaussians alone; identical pure losses), contour (moments are known and fall along the
contour), lattice (any profile), Chernoff (what no other holds). Each gives a lower and an upper bound; `routes` says where
each holds, docs/proofs/pld.md has the error analysis.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np

from dpkit.accountants.pld.contour import contour_reader, smoothed_reader
from dpkit.accountants.pld.few_large import few_large_holds, few_large_reader
from dpkit.accountants.pld.large_losses import find_cut
from dpkit.accountants.pld.lattice_reader import lattice_reader
from dpkit.accountants.pld.moments import (
    DIGITS,
    RealMoments,
    Terms,
    alias_period,
    chernoff_epsilons,
    complex_log_moment,
    lattice_tilt,
    log_kernel_peak,
    real_moments,
    rough_moments,
    saddle_at_delta,
    shortest_period,
    tolerated,
)
from dpkit.accountants.pld.pure_contour import pure_contour_reader
from dpkit.accountants.pld.where_bounds_hold import (
    LARGEST_LOSS,
    ErrorTerms,
    Reader,
    lattice_holds,
    wanted_width,
)
from dpkit.numerics.rounding import UNIT_ROUNDOFF, exp_up
from dpkit.numerics.special import asfloat
from dpkit.privacy.loss_pairs import LossDirection

_SINGLES = 64
"""How many single releases are looked at for a lower bound where nothing better is known."""

_BLURRED = 1e-2
"""A part of delta that rounding must not be, where a lattice can be read instead."""

_HALVINGS = 20
"""How often the place is halved at which a reader is looked at for rounding."""

_FEW_TERMS = 4
"""Of more mechanisms than this no second route is tried."""

_HUGE, _RELATIVE = 1e4, 3e-7
"""Of an epsilon above it a contour may leave out what this part of it allows, where it cannot do with less."""

_FAR_OFF = 0.5
"""Where delta is reached below this part of Chernoff's epsilon a contour is laid anew."""

_MANY_DIGITS = 24.0
"""So far above delta, in logarithms, may be what is summed there: moments along a contour are known that well."""

_SPARE = 40.0
"""An interval of so many widths is not worth the last of the other readers."""

_SOME_RELEASES, _RARELY, _LARGE = 8, 0.01, 0.125
"""Of fewer releases atoms are tried only where losses of this part of the largest are so rare: else lattices cost far less."""

_LONG_LATTICE, _MANY_RELEASES = 2.0**21, 64
"""Of so many releases, and a lattice of more points than this, atoms are tried first."""

_WIDE_CUT, _FINE = 100.0, 5e-7
"""An interval that is expected to be this many widths wide, and no finer width, is worth another reader."""

_LONG = 2.0
"""A period that is longer than needed below by this factor is worth a look at other tilts."""


def reader(terms: Terms, *, delta: float, width: float, at: float | None = None) -> Reader:
    """Bounds on the profile near the epsilon of this delta: by the contour, a lattice, or Chernoff, each in its domain.

    Near the epsilon `at`, where it is given, and `delta` is a bound there.
    """
    tail = _tail(terms, delta)
    moments, tilt, epsilon = tuned(tuple(terms), delta)
    if not math.isfinite(epsilon):
        return _chernoff(terms, moments, delta=delta)
    epsilon = epsilon if at is None else min(at, epsilon)
    bound, steep = _chernoff_at(moments, tilt), tilt
    found, tilt = _by_contour(terms, moments, saddle=tilt, epsilon=epsilon, delta=delta, width=width)
    if found is None and epsilon > _HUGE:
        found, tilt = _by_contour(terms, moments, saddle=steep, epsilon=epsilon, delta=delta, width=_RELATIVE * epsilon)
    if found is not None and found.upper(_FAR_OFF * epsilon)[0] <= delta:
        # what is an alias depends on where delta is reached
        near = _reached(found, delta)
        closer, other = _by_contour(terms, moments, saddle=steep, epsilon=near, delta=delta, width=width, digits=_MANY_DIGITS)
        found, tilt = (found, tilt) if closer is None else (closer, other)
    smoothed = partial(smoothed_reader, terms, moments, tilt=tilt, epsilon=epsilon, delta=delta, width=width)
    apart = partial(_apart, terms, delta=delta, chernoff=epsilon, width=width, at=at)
    lattice = partial(_by_lattice, terms, moments, saddle=steep, epsilon=epsilon, delta=delta, width=width)
    few = partial(few_large_reader, terms, delta=delta, epsilon=epsilon, width=width, tail=tail)
    many = sum(count for _, count in terms)
    atoms = at is None and (many >= _SOME_RELEASES or _are_rare(terms, tail)) and few_large_holds(terms, tail)
    relative = max(width, _RELATIVE * epsilon)
    spare = max(_SPARE * wanted_width(width, epsilon), _RELATIVE * epsilon)
    if found is not None:
        by_quadrature = found.finer is not None
        found = _or_else(found, few, spare=spare) if atoms else found
        if by_quadrature:
            found = _or_else(_or_else(found, apart, spare=spare), partial(smoothed, patient=True, close=True), spare=spare)
    elif not lattice_holds(terms, tail):
        found = smoothed() or (few() if atoms else None)
        found = _or_else(found, few, spare=spare) if found is not None and atoms else found
    else:

        def atoms_or_lattice(other: Callable[[], Reader | None] | None = None) -> Reader:
            points = partial(_points, terms, moments, steep, epsilon=epsilon, delta=delta, width=relative)
            by_atoms = few() if atoms and many >= _MANY_RELEASES and points() > _LONG_LATTICE else None
            on_lattice = partial(lattice, other=other)
            return on_lattice() if by_atoms is None else _or_else(by_atoms, on_lattice, spare=spare)

        other_ways = partial(_smoothed_or_lattice, terms, smoothed, atoms_or_lattice, tilt=tilt, delta=delta)
        found = None if atoms else apart(other=other_ways)
        found = other_ways() if found is None else found
        found = _or_else(_or_else(found, few, spare=spare), apart, spare=spare) if atoms else found
    if found is None:
        return _chernoff(terms, moments, delta=delta)
    return replace(found, upper=_at_most(found.upper, bound))


def _are_rare(terms: Terms, tail: float) -> bool:
    """Whether some release has large losses, and hardly ever one."""
    parts = ((direction, max(0.0, direction.reach(tail)[1])) for direction, _ in terms)
    return any(float(direction.profile(asfloat([_LARGE * high]))[0][0]) < _RARELY for direction, high in parts)


def _by_contour(
    terms: Terms,
    moments: RealMoments,
    *,
    saddle: float,
    epsilon: float,
    delta: float,
    width: float,
    digits: float = DIGITS,
) -> tuple[Reader | None, float]:
    """A reader by a contour, where one holds, and the tilt that was looked at."""
    rough, alias = rough_moments(terms, moments), tolerated(width, saddle)
    tilt, period = saddle, alias_period(rough, tilt=saddle, epsilon=epsilon, delta=delta, alias=alias)
    if not period <= _LONG * shortest_period(tilt=tilt, delta=delta, alias=alias):
        tilt, period = lattice_tilt(rough, saddle=saddle, epsilon=epsilon, delta=delta, alias=alias, digits=digits)
    found = pure_contour_reader(terms, moments, tilt=tilt, period=period, epsilon=epsilon)
    if found is None:
        found = contour_reader(terms, moments, tilt=tilt, period=period, epsilon=epsilon, width=width)
    return found, tilt


def _smoothed_or_lattice(
    terms: Terms,
    smoothed: Callable[..., Reader | None],
    lattice: Callable[..., Reader],
    *,
    tilt: float,
    delta: float,
) -> Reader:
    """A smoothed contour where rounding leaves it its digits, a lattice elsewhere, and each for when the other is not near."""
    found = smoothed()
    if found is not None and not _is_blurred(found, delta):
        return _or_else(found, lattice, spare=_RELATIVE * found.start) if len(terms) <= _FEW_TERMS else found
    known = complex_log_moment(terms, np.array([tilt], dtype=np.complex128)) is not None
    patient = partial(smoothed, patient=True, close=True) if known else None
    blurred = found is not None
    found = lattice(other=patient)
    return replace(found, finer=patient) if blurred else found


def _by_lattice(
    terms: Terms,
    moments: RealMoments,
    *,
    saddle: float,
    epsilon: float,
    delta: float,
    width: float,
    other: Callable[[], Reader | None] | None = None,
) -> Reader:
    """A reader on a lattice that is as fine as the width asks for, or the work allows."""
    tail = _tail(terms, delta)
    tilt, period, step = _lattice_plan(terms, moments, saddle, epsilon=epsilon, delta=delta, width=width)
    return lattice_reader(terms, tilt=tilt, period=period, epsilon=epsilon, tail=tail, wanted=step, width=width, other=other)


def _lattice_plan(
    terms: Terms, moments: RealMoments, saddle: float, *, epsilon: float, delta: float, width: float
) -> tuple[float, float, float]:
    """The tilt and the period of a lattice, and the step that the width asks for."""
    tail = _tail(terms, delta)
    tilt, period = lattice_tilt(moments, saddle=saddle, epsilon=epsilon, delta=delta)
    # beyond, weights e^(tilt loss) would overflow; a smaller tilt is as valid
    steepest = LARGEST_LOSS / max(1e-12, max(d.reach(tail)[1] - d.reach(tail)[0] for d, _ in terms))
    if tilt > steepest:
        tilt, period = steepest, alias_period(moments, tilt=steepest, epsilon=epsilon, delta=delta)
    # dots add a variance of at most step^2/4 a release, which moves epsilon by half (saddle + 1) times that
    step = math.sqrt(4.2 * width / ((saddle + 1.0) * max(1, sum(count for _, count in terms))))
    return tilt, period, step


def _points(terms: Terms, moments: RealMoments, saddle: float, *, epsilon: float, delta: float, width: float) -> float:
    """How many points a lattice of the step that is asked for would have, in one period or in one law."""
    tail = _tail(terms, delta)
    _, period, step = _lattice_plan(terms, moments, saddle, epsilon=epsilon, delta=delta, width=width)
    return max(period, *(d.reach(tail)[1] - d.reach(tail)[0] for d, _ in terms)) / step


def _apart(
    terms: Terms,
    *,
    delta: float,
    chernoff: float,
    width: float,
    at: float | None,
    other: Callable[[], Reader | None] | None = None,
) -> Reader | None:
    """A reader on a lattice of the case that no loss is large, and the others in closed form; None where that is no way.

    `other` gives another reader, which is asked where this one is wide.
    """
    tail = _tail(terms, delta)
    unfit = any(direction.above() is not direction or direction.atoms() for direction, _ in terms)
    if unfit or len(terms) > _FEW_TERMS or not lattice_holds(terms, tail):
        return None
    cut = find_cut(terms, delta=delta, chernoff=chernoff, tail=tail, width=width, at=at)
    if cut is not None and at is not None:  # now that delta is known better
        cut = find_cut(terms, delta=cut.delta, chernoff=chernoff, tail=_tail(terms, cut.delta), width=width, at=at)
    if cut is None:
        return None
    found = lattice_reader(
        terms, tilt=cut.tilt, period=cut.period, epsilon=cut.epsilon, tail=tail, wanted=cut.step, width=width, cut=cut
    )
    return replace(found, finer=other if cut.wide > _WIDE_CUT * max(width, _FINE) else None)


def _or_else(found: Reader, other: Callable[[], Reader | None], *, spare: float = 0.0) -> Reader:
    """A reader that knows another one, for when its own finer ones come to an end; it is not asked within `spare`."""

    def finer() -> Reader | None:
        nearer = None if found.finer is None else found.finer()
        return other() if nearer is None else _or_else(nearer, other, spare=spare)

    return replace(found, finer=finer, spare=found.spare if found.finer is not None else spare)


def _is_blurred(found: Reader, delta: float) -> bool:
    """Whether rounding is a large part of what a reader says where it says delta: moments of samples at steep tilts are.

    That may be far below where the search for a tilt saw it.
    """
    high = _reached(found, delta)
    return any(found.upper(at)[0] < 2.0 * delta and found.upper(at)[1][0][1] > _BLURRED for at in (high, 0.98 * high))


def _reached(found: Reader, delta: float) -> float:
    """About where a reader's upper delta is this one."""
    low, high = 0.0, found.start
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if found.upper(middle)[0] <= delta else (middle, high)
    return high


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
    tilt, _ = saddle_at_delta(rough_moments(terms, moments), delta)
    return moments, tilt, float(chernoff_epsilons(moments, delta, np.array([tilt]))[0])


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
