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
    chords = _chords(profile + errors, asfloat((first - 1.0 + np.arange(profile.size)) * step))
    if chords is not None:
        profile, errors = np.minimum(profile + errors, chords * (1.0 + 16.0 * UNIT_ROUNDOFF)), 4.0 * UNIT_ROUNDOFF * profile
    shrink = -math.expm1(-step)
    survival = profile[1:] + (profile[:-1] - profile[1:]) / shrink
    survival += (errors[:-1] + errors[1:] + 4.0 * UNIT_ROUNDOFF * profile[:-1]) / shrink + errors[1:]
    survival[0] = 1.0
    survival = np.clip(np.maximum.accumulate(survival[::-1])[::-1], 0.0, 1.0)  # bounds may rise where nothing is left
    masses = np.append(survival[:-1] - survival[1:], survival[-1]) * (1.0 + 4.0 * UNIT_ROUNDOFF)
    return LatticeLaw(first=first, masses=masses, end=float(profile[-1] + errors[-1]))


def lower_masses(
    middles: Array, errors: Array, slopes: Array, *, first: int, step: float, top: int | None = None, atom: float = 0.0
) -> LatticeLaw:
    """A law whose profile lies below: at each lattice point the smaller of the tangents at the midpoints on its two sides.

    `middles[i]` and `slopes[i]` (the profile, and Q(L > .)) stand at the midpoint (first - 3/2 + i) * step. Tangents of a
    convex function lie below it, and so do the chords between points that lie below two tangents each. `top` is the lattice
    point at the largest loss or next below it, where Q has a mass there, `atom`: from that point on 0 is claimed, whatever
    rounding says, and the last chord, which ends there, lies below the tangent at the top, whose slope is `atom`.
    """
    centres = (first - 1.5 + np.arange(middles.size)) * step
    odds = np.exp(centres)
    if top is None:
        middles, slopes, errors = _highest_tangents(middles, slopes, errors, odds)
    tangent_up = middles - odds * math.expm1(step / 2.0) * slopes * (1.0 + 2.0**-38)  # half a step above each midpoint
    tangent_down = middles - odds * math.expm1(-step / 2.0) * slopes * (1.0 - 2.0**-38)
    points = np.minimum(tangent_up[:-1] - errors[:-1], tangent_down[1:] - errors[1:])
    points -= 8.0 * UNIT_ROUNDOFF * (middles[:-1] + odds[1:] * step * slopes[1:])
    # Below zero nothing is claimed. A chord must lie below the tangent between its ends, so it may end at 0 only where that
    # tangent is still positive: the point before one that fell below zero is given up, too.
    if top is not None:
        place = max(0, top - first + 1)
        points[place:] = 0.0
        last = math.exp(top * step) * -math.expm1(-step) * atom * (1.0 - 2.0**-38)
        points[max(0, place - 1) : place] = np.minimum(points[max(0, place - 1) : place], last)
    below = points < 0.0
    points[below] = 0.0
    points[:-1][below[1:]] = 0.0
    points = _convex_below(points, (first - 1.0 + np.arange(points.size)) * step)
    shrink = -math.expm1(-step)
    survival = points[1:] + (points[:-1] - points[1:]) / shrink
    survival -= 8.0 * UNIT_ROUNDOFF * points[:-1] / shrink
    survival = np.maximum(np.minimum.accumulate(np.minimum(survival, 1.0)), 0.0)
    masses = np.append(survival[:-1] - survival[1:], survival[-1]) * (1.0 - 4.0 * UNIT_ROUNDOFF)
    return LatticeLaw(first=first, masses=masses, end=float(points[-1]))


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
    odds = np.exp(places - places[-1])
    if not np.all(np.diff(odds) > 0.0):
        return None  # too far apart for floats: nothing is lowered, and no dent is mended
    slopes = np.diff(points) / np.diff(odds)
    if not np.any(slopes[1:] < slopes[:-1] - _DENT * np.abs(slopes[:-1])):
        return None
    bent = np.abs(np.diff(slopes)) > 1e-9 * np.abs(slopes[:-1])  # points on a straight line are not needed
    kept = np.flatnonzero(np.concatenate(([True], bent, [True])))
    kept = kept[_convex(points[kept], odds[kept])]
    return asfloat(np.interp(odds, odds[kept], points[kept]))


def _convex(values: Array, at: Array) -> npt.NDArray[np.bool_]:
    """Which points stay when, turn by turn, all that are not below the chord of their neighbours are taken out.

    After the first turn only the neighbours of what was taken out need a look.
    """
    stays = np.ones(values.size, dtype=bool)
    before, after = np.arange(-1, values.size - 1), np.arange(1, values.size + 1)
    looked_at = np.arange(1, values.size - 1)
    for _ in range(_TURNS):
        left, right = before[looked_at], after[looked_at]
        rises = (values[right] - values[looked_at]) / (at[right] - at[looked_at])
        out = looked_at[~(rises > (values[looked_at] - values[left]) / (at[looked_at] - at[left]))]
        if not out.size:
            break
        stays[out] = False
        for place in out.tolist():  # in ascending order, so that runs are joined
            after[before[place]], before[after[place]] = after[place], before[place]
        near = np.unique(np.concatenate([before[out], after[out]]))
        looked_at = near[stays[near] & (near > 0) & (near < values.size - 1)]
    return stays


def _highest_tangents(values: Array, slopes: Array, errors: Array, odds: Array) -> tuple[Array, Array, Array]:
    """Of lines through these points that fall by these slopes, all below one convex function, the highest at each point.

    Where bounds of different width meet, the next slopes would have to be capped. Near such a point all lines are compared.
    """
    falls = np.diff(odds)
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
        lines = known[others] - slopes[others] * (odds[places][:, None] - odds[others])
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
