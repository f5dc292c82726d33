"""Laws of privacy losses on a lattice that bound a profile from above and from below.

From values of a profile at lattice points, `upper_masses` makes a law on the lattice whose profile is nowhere below it
(connect the dots), `lower_masses` one whose profile is nowhere above it (tangents). Both are second order in the step where the
profile is smooth (docs/proofs/pld.md, theorems 3 and 4).
"""

from __future__ import annotations

import math

import numpy as np

from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array
from dpkit.values import dataclass

_DENT = 1e-7
"""Slopes that fall by less than this, relatively, are rounding and no dent."""

_TURNS = 2000
"""So often points above the chords of their neighbours are taken out."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LatticeLaw:
    """Mass masses[i] at the loss (first + i) * step."""

    first: int
    masses: Array


def upper_masses(profile: Array, errors: Array, *, first: int, step: float) -> LatticeLaw:
    """The law whose profile interpolates these values, linearly in e^epsilon: a convex function lies below its chords.

    `profile[0]` stands at the lattice point `first - 1`. What the loss may be below goes to the lowest point, and what it
    may be above must be negligible for the caller. The survival function is rounded up, so that the law only gets larger.
    """
    shrink = -math.expm1(-step)
    survival = profile[1:] + (profile[:-1] - profile[1:]) / shrink
    survival += (errors[:-1] + errors[1:] + 4.0 * UNIT_ROUNDOFF * profile[:-1]) / shrink + errors[1:]
    survival[0] = 1.0
    survival = np.minimum(np.maximum.accumulate(survival[::-1])[::-1], 1.0)
    return LatticeLaw(first=first, masses=np.append(survival[:-1] - survival[1:], survival[-1]) * (1.0 + 4.0 * UNIT_ROUNDOFF))


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
    return LatticeLaw(first=first, masses=np.append(survival[:-1] - survival[1:], survival[-1]) * (1.0 - 4.0 * UNIT_ROUNDOFF))


def _convex_below(points: Array, places: Array) -> Array:
    """Values at most these that are convex in e^place, but for rounding: nearly the largest there are.

    A kink between lattice points leaves a dent, after which slopes would have to be capped all the way up. Points above the
    chord of their neighbours are taken out, a few times over, and filled in by chords; that is sound wherever it stops.
    """
    odds = np.exp(places - places[-1])
    slopes = np.diff(points) / np.diff(odds)
    if not np.any(slopes[1:] < slopes[:-1] - _DENT * np.abs(slopes[:-1])):
        return points
    bent = np.abs(np.diff(slopes)) > 1e-9 * np.abs(slopes[:-1])  # points on a straight line are not needed
    kept = np.flatnonzero(np.concatenate(([True], bent, [True])))
    for _ in range(_TURNS):
        slopes = np.diff(points[kept]) / np.diff(odds[kept])
        convex = np.concatenate(([True], slopes[1:] > slopes[:-1], [True]))
        if np.all(convex):
            break
        kept = kept[convex]
    chords = np.interp(odds, odds[kept], points[kept])
    above = chords > points
    excess = float(np.max((chords[above] - points[above]) / chords[above], initial=0.0))
    return points if excess > _DENT else np.minimum(chords * (1.0 - excess), points)


def log_moments(law: LatticeLaw, step: float, tilts: Array) -> Array:
    """ln sum of mass * e^(tilt * loss), for a few tilts."""
    held = np.flatnonzero(law.masses)
    if not held.size:
        return np.full(tilts.shape, -np.inf)
    losses = (law.first + np.arange(law.masses.size)) * step
    top = float(losses[held[-1]])  # a point without mass would let everything underflow
    losses = np.minimum(losses, top)
    return np.array([tilt * top + math.log(float(np.sum(law.masses * np.exp(tilt * (losses - top))))) for tilt in tilts])
