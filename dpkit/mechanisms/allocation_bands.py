"""Readings of a sum of likelihood ratios between two sums: on one tilted lattice, or by its far tails.

docs/proofs/sampling.md, theorems 8 and 11.
"""

from __future__ import annotations

import math

import numpy as np

from dpkit.mechanisms.allocation_cells import RatioCells, Side, gathered_cells, ratio_tails, spread_cells
from dpkit.mechanisms.allocation_tails import AllocationTails
from dpkit.numerics.special import Array, asfloat
from dpkit.numerics.stop_loss import TiltedSum
from dpkit.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SumBounds:
    """Bounds on E[(S - s)_+] or E[(s - S)_+], and from below the slope in s with its relative error."""

    low: Array
    high: Array
    slope: Array
    slope_error: Array


def closer(one: SumBounds, other: SumBounds) -> SumBounds:
    """The closer of two bounds, wherever it is; the slope is that of the lower one."""
    higher = other.low > one.low
    return SumBounds(
        low=asfloat(np.maximum(one.low, other.low)),
        high=asfloat(np.minimum(one.high, other.high)),
        slope=asfloat(np.where(higher, other.slope, one.slope)),
        slope_error=asfloat(np.where(higher, other.slope_error, one.slope_error)),
    )


class Band:
    """Readings between two sums."""

    low: float
    high: float

    def holds(self, sums: Array) -> np.typing.NDArray[np.bool_]:
        return (sums >= self.low) & (sums <= self.high)

    def read(self, sums: Array) -> SumBounds:
        raise NotImplementedError


class GoneBand(Band):
    """So far from the mean that nothing is left."""

    def __init__(self, *, start: float, side: Side) -> None:
        self.low, self.high = (start, math.inf) if side == "call" else (-math.inf, start)

    def read(self, sums: Array) -> SumBounds:
        """Nothing from below, next to nothing from above."""
        nothing = np.zeros(sums.shape)
        return SumBounds(low=nothing, high=nothing + 1e-260, slope=nothing, slope_error=nothing + 1.0)


class FarBand(Band):
    """Everything from a sum on, by the tails."""

    def __init__(self, *, tails: AllocationTails, start: float, side: Side) -> None:
        self.tails, self.side = tails, side
        self.low, self.high = (start, math.inf) if side == "call" else (-math.inf, start)

    def read(self, sums: Array) -> SumBounds:
        """Both sides."""
        found = self.tails.read(sums, call=self.side == "call")
        return SumBounds(low=found.low, high=found.high, slope=found.slope, slope_error=np.full(sums.shape, 1e-9))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Laid:
    """A sum on its lattice, and what is read beside it: its law of one ratio is not kept, which is long."""

    total: TiltedSum
    first: int
    last: int
    offset: float
    top: float
    lost: float


class TunedBand(Band):
    """One tilt, and a lattice on either side."""

    def __init__(
        self,
        *,
        ratio: float,
        steps: int,
        side: Side,
        start: float,
        reach: float,
        tilt: float,
        top: float,
        step: float,
        size: int,
    ) -> None:
        self.ratio, self.steps, self.side, self.tilt, self.size, self.step = ratio, steps, side, tilt, size, step
        self.low, self.high = (start, start + reach) if side == "call" else (start - reach, start)
        self._upper = self._sum(spread_cells(ratio, step=step, top=top, side=side))
        self._lower = self._sum(gathered_cells(ratio, step=step, top=top, side=side))

    def _sum(self, cells: RatioCells) -> _Laid:
        """A put is a call on what each copy lacks of the largest value."""
        steps, last = self.steps, cells.masses.size - 1
        if self.side == "call":
            first = math.floor((self.low - steps * cells.offset) / self.step) - 1
            masses = cells.masses
        else:
            first = steps * last - math.ceil((self.high - steps * cells.offset) / self.step) - 1
            masses = cells.masses[::-1].copy()
        total = TiltedSum(
            masses,
            step=self.step,
            count=steps,
            tilt=self.tilt,
            size=self.size,
            first=first,
            reach=math.ceil((self.high - self.low) / self.step) + 4,
        )
        return _Laid(total=total, first=first, last=last, offset=cells.offset, top=cells.top, lost=cells.lost)

    def read(self, sums: Array) -> SumBounds:
        """Both sides."""
        above, below = (laid.total.read(self._places(sums, laid)) for laid in (self._upper, self._lower))
        high = above.high + self._beyond(sums, self._upper)[1]
        extra, _ = self._beyond(sums, self._lower)
        slope = below.survival + self._some_beyond(sums, self._lower)
        return SumBounds(low=below.low + extra, high=high, slope=slope, slope_error=below.survival_error + 1e-12)

    def _places(self, sums: Array, laid: _Laid) -> Array:
        place = (sums - self.steps * laid.offset) / self.step
        return asfloat(place - laid.first if self.side == "call" else (self.steps * laid.last - laid.first) - place)

    def _beyond(self, sums: Array, laid: _Laid) -> tuple[Array, Array]:
        """What is added where some X is above the top, from below and from above."""
        steps = self.steps
        tails = ratio_tails(self.ratio, asfloat([laid.top]), below=False)
        mass, mean, error = float(tails.mass[0]), float(tails.mean[0]), float(tails.error[0]) + 1e-12
        if self.side == "put":
            lost = steps * np.maximum(sums, 0.0) * laid.lost * (1.0 + 1e-9)
            cut = np.where(sums <= laid.top, 0.0, steps * np.maximum(sums, 0.0) * mass * (1.0 + error))
            return np.zeros(sums.shape), asfloat(lost + cut)
        # E[S - s; some X > top], all of it where top >= s: t (1 - E[X; X <= top] F^(t-1)) - s (1 - F^t)
        none = steps * math.log1p(-mass)
        gain = -steps * math.expm1(math.log1p(-mean) + (steps - 1) * math.log1p(-mass))
        cost = -sums * math.expm1(none)
        off = error * (gain + cost) * 4.0
        exact = np.maximum(gain - cost, 0.0)
        loose = (steps * mean + steps * steps * mass) * (1.0 + error)
        whole = sums <= laid.top
        return asfloat(np.where(whole, np.maximum(exact - off, 0.0), 0.0)), asfloat(np.where(whole, exact + off, loose))

    def _some_beyond(self, sums: Array, laid: _Laid) -> Array:
        """P(some X > top), for a call and where the top is above the sum: there it is a part of the slope."""
        if self.side == "put":
            return np.zeros(sums.shape)
        mass = float(ratio_tails(self.ratio, asfloat([laid.top]), below=False).mass[0])
        return np.where(sums <= laid.top, -math.expm1(self.steps * math.log1p(-mass)), 0.0)
