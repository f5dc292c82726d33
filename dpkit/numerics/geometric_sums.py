"""Sums of independent positive numbers, laid on points e^(step i), from both sides in convex order; nothing ever cancels.

Two numbers on the grid have a sum that depends on the larger one and on how many points the other is below it. So of each point
only windows of the other law count, one for each point that a sum can lie above the larger number. Each cell's mass and first
moment say how it is spread to points above it in convex order, or gathered below it (docs/proofs/sampling.md, theorem 11).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array, asfloat
from dpkit.values import dataclass

Edge = Literal["above", "below"]

_TOGETHER = 32
"""Windows that are summed before they are added to the others."""

_TURNS = 40
"""How often what is below zero is taken from its neighbours; what is left after that is given up."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GeometricLaw:
    """Mass masses[i] at 2^((first + i)/points): `points` of them to a factor of two.

    `dust` is mass that lies below every number it is added to by more than a window reaches, and `dust_mean` its first moment.
    `lost` and `lost_mean` bound the mass that is not told here, or told too much, and its first moment.
    """

    points: int
    first: int
    masses: Array
    dust: float = 0.0
    dust_mean: float = 0.0
    lost: float = 0.0
    lost_mean: float = 0.0

    @property
    def step(self) -> float:
        """The distance of two points, in logarithms."""
        return math.log(2.0) / self.points

    def values(self) -> Array:
        """The points."""
        return grid_values(self.points, self.first + np.arange(self.masses.size))


def grid_values(points: int, indices: NDArray[np.int64]) -> Array:
    """2^(index/points) with a relative error of a few units, however large the index is."""
    octaves = indices // points
    return asfloat(np.ldexp(np.exp2((indices - octaves * points) / points), octaves))


@dataclass(slots=True, kw_only=True, eq=False)
class GridCells:
    """Masses of cells, and E[(X - g)/g; cell], g its point: its lower end, or where laws are gathered its middle.

    `mass_error` and `excess_error` bound how far they are off, relatively to the mass.
    """

    points: int
    first: int
    masses: Array
    excess: Array
    mass_error: float = 0.0
    excess_error: float = 0.0


def dust_reach(points: int, parts: int = 1) -> int:
    """How many points below a number others do not move it by half a cell of the result."""
    step = math.log(2.0) / points
    return math.ceil(math.log(4.0 * parts / step) / step)


def add_laws(one: GeometricLaw, other: GeometricLaw, *, edge: Edge, parts: int = 1) -> GeometricLaw:
    """The law of a sum of two independent numbers, above or below it; its grid is `parts` times as fine.

    Numbers of one law that is dust must lie `dust_reach` points below all of the other's.
    """
    shift = 0.0 if edge == "above" else 0.5
    points = one.points * parts
    low = min(one.first, other.first) * parts
    high = (max(one.first + one.masses.size, other.first + other.masses.size) + one.points) * parts
    cells = GridCells(points=points, first=low, masses=np.zeros(high - low + 2), excess=np.zeros(high - low + 2))
    twice = one is other
    _add_below(cells, one, other, parts=parts, shift=shift, weight=2.0 if twice else 1.0)
    if not twice:
        _add_below(cells, other, one, parts=parts, shift=shift, weight=1.0)
    _add_equal(cells, one, other, parts=parts)
    for large, small in ((one, other), (other, one)):
        at = slice(large.first * parts - low, large.first * parts - low + large.masses.size * parts, parts)
        cells.masses[at] += small.dust * large.masses
        cells.excess[at] += small.dust_mean * large.masses / large.values()
    longest = max(one.masses.size, other.masses.size)
    cells.excess_error = UNIT_ROUNDOFF * (96.0 + 2.0 * _TOGETHER + 2.0 * points / _TOGETHER)
    cells.mass_error = cells.excess_error + UNIT_ROUNDOFF * 2.0 * longest
    found = spread(cells) if edge == "above" else gather(cells)
    dust_mean = one.dust * other.dust_mean + other.dust * one.dust_mean
    return replace(found, dust=one.dust * other.dust, dust_mean=dust_mean)


def _add_equal(cells: GridCells, one: GeometricLaw, other: GeometricLaw, *, parts: int) -> None:
    """Equal numbers: their sum is a point of the grid."""
    first, last = max(one.first, other.first), min(one.first + one.masses.size, other.first + other.masses.size)
    if first < last:
        start = (first + one.points) * parts - cells.first
        equal = one.masses[first - one.first : last - one.first] * other.masses[first - other.first : last - other.first]
        cells.masses[start : start + (last - first) * parts : parts] += equal


def _add_below(cells: GridCells, large: GeometricLaw, small: GeometricLaw, *, parts: int, shift: float, weight: float) -> None:
    """The sums of each number of one law with the smaller ones of the other."""
    step = large.step
    reach = dust_reach(large.points, parts)
    below = np.arange(1, reach + 1)
    rises = np.floor(np.log1p(np.exp(-step * below)) * (parts / step) + shift).astype(np.int64)
    starts = np.concatenate(([0], np.flatnonzero(np.diff(rises)) + 1))
    ends = np.concatenate((starts[1:], [reach]))
    runs = np.stack((below[starts], below[ends - 1], rises[starts]), axis=1)
    ahead = large.first - small.first  # of the same index, how many points the large number is above the small one
    weights = large.masses * weight
    scale = grid_values(large.points, -np.arange(large.masses.size))  # of first moments: they neither over- nor underflow
    moments = small.masses * grid_values(large.points, np.arange(small.masses.size) - ahead)
    windows = [_Windows(values, int(np.max(ends - starts))) for values in (small.masses, moments)]
    masses, excess = np.zeros(cells.masses.size), np.zeros(cells.masses.size)
    for turn, (nearest, farthest, rise) in enumerate(runs.tolist()):
        start = max(0, nearest - ahead)
        end = min(large.masses.size, farthest - ahead + small.masses.size)
        if start >= end:
            continue
        mass, mean = (window.sums(start + ahead - nearest, farthest - nearest + 1, end - start) for window in windows)
        lift = rise * step / parts
        at = (large.first + start) * parts + rise - cells.first
        place = slice(at, at + (end - start) * parts, parts)
        mass *= weights[start:end]
        mean *= scale[start:end] * weights[start:end]
        masses[place] += mass
        excess[place] += (mean - math.expm1(lift) * mass) * math.exp(-lift)
        if turn % _TOGETHER == _TOGETHER - 1:  # sums of sums: fewer roundings
            cells.masses += masses
            cells.excess += excess
            masses[:] = excess[:] = 0.0
    cells.masses += masses
    cells.excess += excess
    # what is farther below moves no number out of its cell
    start = max(0, reach + 1 - ahead)
    if start < large.masses.size:
        last = np.minimum(np.arange(start, large.masses.size) + ahead - reach - 1, small.masses.size - 1)
        at = (large.first + start) * parts - cells.first
        place = slice(at, at + (large.masses.size - start) * parts, parts)
        cells.masses[place] += np.cumsum(small.masses)[last] * weights[start:]
        cells.excess[place] += np.cumsum(moments)[last] * scale[start:] * weights[start:]


class _Windows:
    """Sums of neighbouring values by tables of sums of 1, 2, 4, ... of them: no difference is taken."""

    def __init__(self, values: Array, longest: int) -> None:
        self.pad = longest
        padded = np.concatenate((np.zeros(longest), values, np.zeros(longest)))
        self.tables = [padded]
        while 2 ** len(self.tables) <= longest:
            half = 2 ** (len(self.tables) - 1)
            table = self.tables[-1].copy()
            table[half:] += self.tables[-1][:-half]
            self.tables.append(table)

    def sums(self, top: int, length: int, count: int) -> Array:
        """Sums of `length` values, the last of which is the one at `top`, `top` + 1, ..."""
        found, position = np.zeros(count), top + self.pad
        for size in range(len(self.tables)):
            if length >> size & 1:
                found += self.tables[size][position : position + count]
                position -= 1 << size
        return found


def spread(cells: GridCells) -> GeometricLaw:
    """Each cell's mass at its two ends, its mean kept; more mass than that is above, too."""
    step = math.log(2.0) / cells.points
    slack = 1.1 * cells.excess_error / step
    up = np.clip(cells.excess / math.expm1(step) + slack * cells.masses, 0.0, cells.masses)
    masses = np.zeros(cells.masses.size + 1)
    masses[:-1] += cells.masses - up + 2.0 * slack * cells.masses
    masses[1:] += up
    return GeometricLaw(points=cells.points, first=cells.first, masses=masses * (1.0 + 2.0 * cells.mass_error))


def gather(cells: GridCells) -> GeometricLaw:
    """Masses at the points so that each chord of E(X - a)_+ is below a tangent; less mass than that is below, too.

    What is gathered in the first or the last cell may need a point outside; then that cell is given up.
    """
    step = math.log(2.0) / cells.points
    held = np.flatnonzero(cells.masses)
    if not held.size:
        return GeometricLaw(points=cells.points, first=cells.first, masses=cells.masses)
    masses, excess = cells.masses.copy(), cells.excess.copy()
    for end, outward in ((held[0], excess[held[0]] > 0.0), (held[-1], excess[held[-1]] < 0.0)):
        if outward:
            masses[end] = excess[end] = 0.0
    more, less = np.maximum(excess, 0.0), np.minimum(excess, 0.0)
    moved = more / -math.expm1(-step)  # to each point from the one before
    moved[1:] += less[:-1] / math.expm1(step)
    around = masses.copy()
    around[1:] += masses[:-1]
    around[:-1] += masses[1:]
    gathered = masses + moved
    gathered[:-1] -= moved[1:]
    gathered = gathered * (1.0 - 2.0 * cells.mass_error) - 2.2 * cells.excess_error / step * around
    return _without_debts(GeometricLaw(points=cells.points, first=cells.first, masses=asfloat(gathered)))


def _without_debts(law: GeometricLaw) -> GeometricLaw:
    """Masses at least 0: a convex function is at most its chord, so a debt is paid by both neighbours; the rest is said."""
    share = 1.0 / (1.0 + math.exp(law.step))  # of the neighbour above, which keeps the mean
    masses = law.masses
    for _ in range(_TURNS):
        debts = np.minimum(masses, 0.0) * (1.0 + 1e-12)
        if not np.any(debts[1:-1]):
            break
        debts[0] = debts[-1] = 0.0
        masses = masses - debts
        masses[1:] += share * debts[:-1]
        masses[:-1] += (1.0 - share) * debts[1:]
    owed = -np.minimum(masses, 0.0)
    lost, lost_mean = float(np.sum(owed)), float(owed @ law.values()) if np.any(owed) else 0.0
    return replace(law, masses=asfloat(np.maximum(masses, 0.0)), lost=lost, lost_mean=lost_mean)
