"""Laws of privacy losses on a lattice that bound a profile from above and from below.

From values of a profile at lattice points, `upper_masses` makes a law on the lattice whose profile is nowhere below it
(connect the dots), `lower_masses` one whose profile is nowhere above it (tangents). Both are second order in the step where the
profile is smooth (docs/proofs/pld.md, theorems 3 and 4).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array, asfloat
from dpkit.values import dataclass

_DENT = 1e-7
"""Slopes that fall by less than this, relatively, are rounding and no dent."""

_STEP_UP = 1e-3
"""A line that is above its neighbour's point by less than this part of what it falls by is no dent."""

_AROUND, _MOST_DENTS = 300, 400
"""How many lines on either side of a dent are compared, and at how many dents at the most."""

_TURNS = 2000
"""How often points above the chords of their neighbours are taken out."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LatticeLaw:
    """Mass masses[i] at the loss (first + i) * step; `end` is the profile at the last point, where losses go on from there."""

    first: int
    masses: Array
    end: float = 0.0


def upper_masses(profile: Array, errors: Array, *, first: int, step: float) -> LatticeLaw:
    """The law whose profile interpolates these values, linearly in e^epsilon: a convex function lies below its chords.

    `profile[0]` stands at the lattice point `first - 1`. What the loss may be below goes to the lowest point, and what it
    may be above must be negligible for the caller. The survival function is rounded up, so that the law only gets larger. Where
    values come from bounds of different width, one above the chord of its neighbours is lowered to it: the profile is convex.
    """
    places = asfloat((first - 1.0 + np.arange(profile.size)) * step)
    masses, end = upper_masses_at(profile, errors, places=places, gaps=step)
    return LatticeLaw(first=first, masses=masses, end=end)


def upper_masses_at(profile: Array, errors: Array, *, places: Array, gaps: Array | float) -> tuple[Array, float]:
    """The same at any places, so far apart: masses at all but the first place, and the profile at the last."""
    chords = _chords(profile + errors, places)
    if chords is not None:
        profile, errors = np.minimum(profile + errors, chords * (1.0 + 16.0 * UNIT_ROUNDOFF)), 4.0 * UNIT_ROUNDOFF * profile
    shrink = -np.expm1(-np.asarray(gaps, dtype=np.float64))
    survival = profile[1:] + (profile[:-1] - profile[1:]) / shrink
    survival += (errors[:-1] + errors[1:] + 4.0 * UNIT_ROUNDOFF * profile[:-1]) / shrink + errors[1:]
    survival[0] = 1.0
    survival = np.clip(np.maximum.accumulate(survival[::-1])[::-1], 0.0, 1.0)  # bounds may rise where nothing is left
    masses = np.append(survival[:-1] - survival[1:], survival[-1]) * (1.0 + 4.0 * UNIT_ROUNDOFF)
    return asfloat(masses), float(profile[-1] + errors[-1])


def lower_masses(
    middles: Array, errors: Array, slopes: Array, *, first: int, step: float, top: int | None = None, atom: float = 0.0
) -> LatticeLaw:
    """A law whose profile lies below: at each lattice point the smaller of the tangents at the midpoints on its two sides.

    `middles[i]` and `slopes[i]` (the profile, and Q(L > .)) stand at the midpoint (first - 3/2 + i) * step. Tangents of a
    convex function lie below it, and so do the chords between points that lie below two tangents each. `top` is the lattice
    point at the largest loss or next below it, where Q has a mass there, `atom`: from that point on 0 is claimed, whatever
    rounding says, and the last chord, which ends there, lies below the tangent at the top, whose slope is `atom`.
    """
    masses, end = lower_masses_at(
        middles,
        errors,
        slopes,
        centres=asfloat((first - 1.5 + np.arange(middles.size)) * step),
        places=asfloat((first - 1.0 + np.arange(middles.size - 1)) * step),
        gaps=step,
        halves=(0.5 * step, 0.5 * step),
        top=None if top is None else (max(0, top - first + 1), top * step),
        atom=atom,
    )
    return LatticeLaw(first=first, masses=masses, end=end)


def lower_masses_at(
    middles: Array,
    errors: Array,
    slopes: Array,
    *,
    centres: Array,
    places: Array,
    gaps: Array | float,
    halves: tuple[Array | float, Array | float],
    top: tuple[int, float] | None = None,
    atom: float = 0.0,
) -> tuple[Array, float]:
    """The same at any places, each between two centres: masses at all but the first place, and the profile at the last.

    `gaps` are those between places, `halves` how far each place is above the centre before it and below the one after it; `top`
    is the index of the place there, and the place.
    """
    odds = np.exp(centres)
    if top is None:
        middles, slopes, errors = _highest_tangents(middles, slopes, errors, centres)
    up, down = np.expm1(halves[0]), np.expm1(-np.asarray(halves[1], dtype=np.float64))
    tangent_up = middles[:-1] - odds[:-1] * up * slopes[:-1] * (1.0 + 2.0**-38)  # half a gap above each midpoint
    tangent_down = middles[1:] - odds[1:] * down * slopes[1:] * (1.0 - 2.0**-38)
    points = np.minimum(tangent_up - errors[:-1], tangent_down - errors[1:])
    points -= 8.0 * UNIT_ROUNDOFF * (middles[:-1] + odds[1:] * np.add(*halves) * slopes[1:])
    # Below zero nothing is claimed. A chord must lie below the tangent between its ends, so it may end at 0 only where that
    # tangent is still positive: the point before one that fell below zero is given up, too.
    shrink = -np.expm1(-np.asarray(gaps, dtype=np.float64))
    if top is not None:
        place, loss = top
        points[place:] = 0.0
        width = float(shrink if shrink.ndim == 0 else shrink[max(0, min(place, shrink.size) - 1)])
        last = math.exp(loss) * width * atom * (1.0 - 2.0**-38)
        points[max(0, place - 1) : place] = np.minimum(points[max(0, place - 1) : place], last)
    below = points < 0.0
    points[below] = 0.0
    points[:-1][below[1:]] = 0.0
    points = _convex_below(asfloat(points), places)
    survival = points[1:] + (points[:-1] - points[1:]) / shrink
    survival -= 8.0 * UNIT_ROUNDOFF * points[:-1] / shrink
    survival = np.maximum(np.minimum.accumulate(np.minimum(survival, 1.0)), 0.0)
    masses = np.append(survival[:-1] - survival[1:], survival[-1]) * (1.0 - 4.0 * UNIT_ROUNDOFF)
    return asfloat(masses), float(points[-1])


def _convex_below(points: Array, places: Array) -> Array:
    """Values at most these that are convex in e^place, but for rounding: nearly the largest there are.

    A kink between lattice points leaves a dent, after which slopes would have to be capped all the way up.
    """
    chords = _chords(points, places)
    if chords is None:
        return points
    above = chords > points
    excess = float(np.max((chords[above] - points[above]) / chords[above], initial=0.0))
    return points if excess > _DENT else np.minimum(chords * (1.0 - excess), points)


def _chords(points: Array, places: Array) -> Array | None:
    """Chords between those of these values that are convex in e^place, but for rounding; None where all of them are.

    Points above the chord of their neighbours are taken out, a few times over, and filled in by chords; whatever convex
    function is below all points is below these chords, wherever that stops.
    """
    gaps = _odds_apart(places, slice(None, -1), slice(1, None))
    if not np.all(gaps > 0.0):
        return None  # too far apart for floats: nothing is lowered, and no dent is mended
    slopes = np.diff(points) / gaps
    if not np.any(slopes[1:] < slopes[:-1] - _DENT * np.abs(slopes[:-1])):
        return None
    bent = np.abs(np.diff(slopes)) > 1e-9 * np.abs(slopes[:-1])  # points on a straight line are not needed
    kept = np.flatnonzero(np.concatenate(([True], bent, [True])))
    kept = kept[_convex(points[kept], places[kept])]
    after = np.clip(np.searchsorted(kept, np.arange(points.size), side="right"), 1, kept.size - 1)
    left, right = kept[after - 1], kept[after]
    share = np.expm1(places - places[left]) / np.expm1(places[right] - places[left])
    chords = points[left] + share * (points[right] - points[left])
    chords[kept] = points[kept]
    return asfloat(chords)


Places = slice | npt.NDArray[np.int64]


def _odds_apart(places: Array, left: Places, right: Places) -> Array:
    """How far e^place is from one to the other, relatively to the last one: without cancellation, however near they are."""
    return asfloat(np.exp(places[left] - places[-1]) * np.expm1(places[right] - places[left]))


def _convex(values: Array, places: Array) -> npt.NDArray[np.bool_]:
    """Which points stay when, turn by turn, all that are not below the chord of their neighbours are taken out.

    After the first turn only the neighbours of what was taken out need a look.
    """
    stays = np.ones(values.size, dtype=bool)
    before, after = np.arange(-1, values.size - 1), np.arange(1, values.size + 1)
    looked_at = np.arange(1, values.size - 1)
    for _ in range(_TURNS):
        left, right = before[looked_at], after[looked_at]
        rises = (values[right] - values[looked_at]) / _odds_apart(places, looked_at, right)
        out = looked_at[~(rises > (values[looked_at] - values[left]) / _odds_apart(places, left, looked_at))]
        if not out.size:
            break
        stays[out] = False
        for place in out.tolist():  # in ascending order, so that runs are joined
            after[before[place]], before[after[place]] = after[place], before[place]
        near = np.unique(np.concatenate([before[out], after[out]]))
        looked_at = near[stays[near] & (near > 0) & (near < values.size - 1)]
    return stays


def _highest_tangents(values: Array, slopes: Array, errors: Array, centres: Array) -> tuple[Array, Array, Array]:
    """Of lines through these points that fall by these slopes, all below one convex function, the highest at each point.

    Where bounds of different width meet, the next slopes would have to be capped. Near such a point all lines are compared.
    """
    odds = np.exp(centres)
    falls = odds[:-1] * np.expm1(np.diff(centres))
    known = values - errors
    later = known[1:] + falls * slopes[1:] - known[:-1]  # by how much each line is above the point before, and after
    earlier = known[:-1] - falls * slopes[:-1] - known[1:]
    dents = np.flatnonzero(np.maximum(later, earlier) > _STEP_UP * falls * slopes[:-1] + _DENT * known[:-1])
    if not dents.size:
        return values, slopes, errors
    known, slopes = known.copy(), slopes.copy()
    around = np.arange(-_AROUND, _AROUND + 1)
    for start in range(0, min(dents.size, _MOST_DENTS), 8):
        places = np.unique(np.clip(np.add.outer(dents[start : start + 8], around), 0, known.size - 1))
        others = np.clip(np.add.outer(places, around), 0, known.size - 1)
        lines = known[others] - slopes[others] * odds[others] * np.expm1(centres[places][:, None] - centres[others])
        best = np.take_along_axis(others, np.argmax(lines, axis=1)[:, None], axis=1)[:, 0]
        known[places], slopes[places] = np.max(lines, axis=1), slopes[best]
    return asfloat(known), asfloat(slopes), asfloat(32.0 * UNIT_ROUNDOFF * (np.abs(known) + odds * slopes))


def log_moments(law: LatticeLaw, step: float, tilts: Array) -> Array:
    """ln sum of mass * e^(tilt * loss), for a few tilts."""
    held = np.flatnonzero(law.masses)
    if not held.size:
        return np.full(tilts.shape, -np.inf)
    losses = (law.first + np.arange(law.masses.size)) * step
    top = float(losses[held[-1]])  # a point without mass would let everything underflow
    losses = np.minimum(losses, top)
    return np.array([tilt * top + math.log(float(np.sum(law.masses * np.exp(tilt * (losses - top))))) for tilt in tilts])
