"""The law of a sum of likelihood ratios far from its mean, where no lattice of equal steps reaches: on a geometric grid.

S_t by doubling, S_2n = S_n + S_n', and S_(n+1) = S_n + X, from above and from below in convex order
(docs/proofs/sampling.md, theorem 11). One law answers at every sum.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpkit.numerics.geometric_sums import Edge, GeometricLaw, GridCells, add_laws, dust_reach, gather, spread
from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array, asfloat
from dpkit.values import dataclass

FLOOR = 1e-45
"""What is below this, relatively to the number of steps, is counted and not followed."""

_FEWEST, _MOST = 64, 8192
"""Points to a factor of two."""

_NEAR = 1e-12
"""Points are off by so little, relatively: readings are moved by it."""

_NARROW, _NODES = 0.25, 12
"""For a density this flat, Gauss's rule with this number of nodes is exact but for rounding."""

_OFF_CENTRE = 0.37
"""How far from the middle of its cell the mean of a cell may be, in steps."""

_DEVIATIONS = 14.6
"""Beyond this number of deviations a ratio is below the floor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TailBounds:
    """Bounds on E[(S - s)_+] or E[(s - S)_+], and the slope of the lower one."""

    low: Array
    high: Array
    slope: Array


class AllocationTails:
    """The sum of `steps` ratios e^(m w - m^2/2), m the `ratio`, w standard normal.

    `work` bounds the points of a law times the points to a factor of two, and so how long it takes.
    """

    def __init__(self, *, ratio: float, steps: int, work: float) -> None:
        self.ratio, self.steps, self.work = ratio, steps, work
        self._above, self._below = _Readings(self._sum("above"), upper=True), _Readings(self._sum("below"), upper=False)

    def read(self, sums: Array, *, call: bool) -> TailBounds:
        """Bounds at these sums."""
        logs = np.log(sums)
        toward = -_NEAR if call else _NEAR
        high, _ = self._above.read(logs + toward, sums * (1.0 + toward), call=call)
        low, slope = self._below.read(logs - toward, sums * (1.0 - toward), call=call)
        return TailBounds(low=asfloat(np.maximum(low, 0.0)), high=high, slope=slope)

    def _sum(self, edge: Edge) -> GeometricLaw:
        wide = 2.0 * _DEVIATIONS * self.ratio
        points = _FEWEST
        while 2 * points <= _MOST and _cost(wide, 2 * points) <= self.work:
            points *= 2
        total, count = self._trimmed(ratio_law(self.ratio, points=points, edge=edge), 1, edge), 1
        for digit in bin(self.steps)[3:]:
            wide = total.step * total.masses.size
            parts = 2 if 2 * total.points <= _MOST and _cost(wide, 2 * total.points) <= self.work else 1
            total, count = self._joined(total, total, count, count, edge, parts), 2 * count
            if digit == "1":
                lowest = total.first - dust_reach(total.points)
                one = ratio_law(self.ratio, points=total.points, edge=edge, lowest=lowest)
                total, count = self._joined(total, one, count, 1, edge), count + 1
        return total

    def _joined(
        self, one: GeometricLaw, other: GeometricLaw, count: int, more: int, edge: Edge, parts: int = 1
    ) -> GeometricLaw:
        """The sum of both. What was lost of either is lost of it, with the mean of the other."""
        made = add_laws(one, other, edge=edge, parts=parts)
        lost = one.lost + other.lost
        lost_mean = one.lost_mean + one.lost * more + other.lost_mean + other.lost * count
        made = replace(made, lost=made.lost + lost, lost_mean=made.lost_mean + lost_mean)
        return self._trimmed(made, count + more, edge)

    def _trimmed(self, law: GeometricLaw, count: int, edge: Edge) -> GeometricLaw:
        """Without ends that do not count: those above are lost, those below are spread to 0, or lost."""
        floor = FLOOR * count / self.steps
        points = law.values()
        masses = law.masses
        above = np.cumsum((masses * (1.0 + points / count))[::-1])[::-1]
        held = np.flatnonzero(above > floor)
        last = int(held[-1]) + 1 if held.size else masses.size
        below = np.cumsum(masses)
        first = min(int(np.searchsorted(below, floor)), last - 1)
        kept = masses[first:last].copy()
        lost = float(np.sum(masses[last:]))
        lost_mean = float(masses[last:] @ points[last:])
        gone, mean = float(np.sum(masses[:first])), float(masses[:first] @ points[:first])
        dust = law.dust
        if edge == "above" and gone > 0.0:
            kept[0] += mean / points[first] * (1.0 + 1e-12)
            dust += gone
        return replace(
            law,
            first=law.first + first,
            masses=kept,
            dust=dust,
            lost=law.lost + (lost if edge == "above" else 0.0),
            lost_mean=law.lost_mean + (lost_mean if edge == "above" else 0.0),
        )


def _cost(wide: float, points: int) -> float:
    return wide / math.log(2.0) * points * points


def ratio_law(ratio: float, *, points: int, edge: Edge, lowest: int | None = None) -> GeometricLaw:
    """One ratio on the grid, above or below; what is below the point `lowest` is dust, if it is given."""
    from scipy.special import ndtr

    step = math.log(2.0) / points
    reach = _DEVIATIONS * ratio
    first = math.floor((-reach - 0.5 * ratio * ratio) / step)
    last = max(math.ceil((reach + 0.5 * ratio * ratio) / step), first + 4)
    if lowest is not None:
        first = min(max(first, lowest), last - 4)
    indices = np.arange(first, last + 1)
    edges = step * (np.append(indices, last + 1) - (0.0 if edge == "above" else 0.5))
    if edge == "below":
        edges[0] -= 0.5 * step  # so that the mean of the first cell is below its point
    cells = _ratio_cells(ratio, edges, asfloat(step * indices), upper=edge == "above")
    cells = replace(cells, points=points, first=first)
    low, high = (edge_at / ratio + 0.5 * ratio for edge_at in (float(edges[0]), float(edges[-1])))
    if edge == "above":
        law = replace(spread(cells), lost=float(ndtr(-high)) * (1.0 + 1e-9), lost_mean=float(ndtr(ratio - high)) * (1.0 + 1e-9))
        if lowest is None:  # what is below the first point is spread to 0 and to it
            raised = float(ndtr(low - ratio)) / float(law.values()[0]) * (1.0 + 1e-9)
            law.masses[0] += raised
            return replace(law, dust=float(ndtr(low)) * (1.0 + 1e-9))
    else:
        law = gather(cells)
        if lowest is None:
            return law
    off = 64.0 * UNIT_ROUNDOFF * (1.0 + abs(low) + ratio) ** 2
    wide = 1.0 + off if edge == "above" else 1.0 - off
    return replace(law, dust=float(ndtr(low)) * wide, dust_mean=float(ndtr(low - ratio)) * wide)


def _ratio_cells(ratio: float, edges: Array, logs: Array, *, upper: bool) -> GridCells:
    """Masses and excesses of cells of one ratio, by differences of tails, or where cells are narrow by Gauss's rule."""
    from scipy.special import ndtr

    places = edges / ratio + 0.5 * ratio
    wide = np.diff(edges)
    steepest = np.maximum(np.abs(places[:-1]), np.abs(places[1:])) / ratio * wide
    narrow = (steepest <= _NARROW) & (wide <= _NARROW * ratio)
    # the density of ln X, relatively to that at the middle: at most e^2 in the ellipse in which Gauss's rule converges
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    middles = 0.5 * (edges[:-1] + edges[1:])
    away = np.multiply.outer(0.5 * wide, nodes)
    slopes = (middles / ratio + 0.5 * ratio) / ratio
    with np.errstate(over="ignore", under="ignore"):
        density = np.exp(-slopes[:, None] * away - 0.5 * (away / ratio) ** 2)
        centre = np.exp(-0.5 * (middles / ratio + 0.5 * ratio) ** 2) * (0.5 * wide / (ratio * math.sqrt(2.0 * math.pi)))
        masses = centre * (density @ weights)
        excess = centre * ((density * np.expm1(middles[:, None] + away - logs[:, None])) @ weights)
    near = UNIT_ROUNDOFF * (256.0 + 16.0 * np.maximum(places[:-1] ** 2, places[1:] ** 2))
    off = near * masses
    off_excess = near * centre * ((density * np.abs(np.expm1(middles[:, None] + away - logs[:, None]))) @ weights)
    off_excess = off_excess + 8.0 * UNIT_ROUNDOFF * np.abs(logs) * masses
    if not np.all(narrow):
        # from the nearer tail, so that far cells keep their digits
        left = (places < 0.5 * ratio)[1:]
        at = np.exp(logs)
        far = (1.0 + np.abs(places) + ratio) ** 2
        found, blur = [], []
        for by in (0.0, ratio):
            below, above = ndtr(places - by), ndtr(by - places)
            found.append(np.where(left, np.diff(below), -np.diff(above)))
            blur.append(32.0 * UNIT_ROUNDOFF * np.where(left, (far * below)[1:], (far * above)[:-1]))
        masses, off = np.where(narrow, masses, found[0]), np.where(narrow, off, blur[0])
        excess = np.where(narrow, excess, found[1] / at - found[0])
        off_excess = np.where(narrow, off_excess, blur[0] + blur[1] / at + 8.0 * UNIT_ROUNDOFF * found[0])
    step = float(wide[-1])
    slack = off + 2.0 * off_excess / step
    if upper:
        return GridCells(points=0, first=0, masses=asfloat(masses + 2.0 * slack), excess=asfloat(excess + off_excess))
    # a part of each cell, with its own mean but for rounding: the rest of it has its mean in the cell, too, where that of the
    # whole is at most 3/8 of a step from the middle; other cells are given up
    kept = np.clip(1.0 - 4.0 * slack / np.maximum(masses, 1e-300), 0.0, 1.0)
    kept = np.where(np.abs(excess) <= _OFF_CENTRE * step * masses, kept, 0.0)
    return GridCells(points=0, first=0, masses=asfloat(masses * kept), excess=asfloat(excess * kept))


class _Readings:
    """Sums of a law above and below each of its points: all of them positive."""

    def __init__(self, law: GeometricLaw, *, upper: bool) -> None:
        self.law, self.upper = law, upper
        points = law.values()
        gaps = np.diff(points)
        count = law.masses.size
        above, below = np.cumsum(law.masses[::-1])[::-1], np.cumsum(law.masses) + law.dust
        excess, short = np.zeros(count), np.zeros(count)
        excess[:-1] = np.cumsum((gaps * above[1:])[::-1])[::-1]  # E(S - point)_+
        short[1:] = np.cumsum(gaps * below[:-1])  # E(point - S)_+, but for what is dust
        self.points, self.above, self.below, self.excess, self.short = points, above, below, excess, short
        self.rounding = UNIT_ROUNDOFF * (4.0 * count + 64.0)

    def read(self, logs: Array, sums: Array, *, call: bool) -> tuple[Array, Array]:
        """The expectations there, rounded to this law's side, and the probabilities beyond."""
        law, count = self.law, self.points.size
        place = np.floor(logs / law.step).astype(np.int64) - law.first  # the point below
        sign = 1.0 if self.upper else -1.0
        if call:
            index = np.clip(place + 1, 0, count - 1)
            beyond = np.where(place + 1 >= count, 0.0, self.above[index])
            value = np.where(place + 1 >= count, 0.0, self.excess[index] + (self.points[index] - sums) * beyond)
            lost = np.full(sums.shape, law.lost_mean)
        else:
            index = np.clip(place, 0, count - 1)
            beyond = np.where(place < 0, law.dust, self.below[index])
            value = np.where(place < 0, 0.0, self.short[index] + (sums - self.points[index]) * beyond)
            value = value + law.dust * (self.points[0] if self.upper else 0.0)
            lost = law.lost * sums
        bound = value * (1.0 + sign * self.rounding) + sign * (lost * 2.0 + 1e-250)
        return asfloat(bound), asfloat(beyond)
