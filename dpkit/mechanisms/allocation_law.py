"""The law of the mean of independent likelihood ratios: E[(S - s)_+] and E[(s - S)_+], from both sides.

S = X_1 + ... + X_t, X = e^(m w - m^2/2) with w standard normal: what a record leaves behind that takes part in one of t steps,
chosen at random (docs/proofs/sampling.md, theorems 7 and 8). Convex functions of X are bounded from above by spreading each
cell of a lattice to its ends, from below by gathering it, and sums keep the order.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from dpkit.mechanisms.allocation_tails import AllocationTails
from dpkit.numerics.fourier import fast_length
from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array, asfloat, log_sum_exp
from dpkit.numerics.stop_loss import TiltedSum
from dpkit.privacy.gaussian_dp import gaussian_profile
from dpkit.values import dataclass

Side = Literal["call", "put"]
"""E[(S - s)_+], or E[(s - S)_+]."""

_SIZE = 1 << 20
"""The longest transform."""

_WIDTH = 4e-7
"""How far apart the two bounds may be, as an epsilon, where the size allows."""

_BANDS = 6
"""The bands a side, the nearest to the mean, that one reading tunes; what is farther away is read from tails."""

_KEPT = 8
"""How many bands of single readings are kept: each holds some megabytes."""

_FEW = 64
"""Up to this number of places no whole law is read."""

_WIDE, _HEAVY = 1.5, 2.5
"""Ratios above spread too far for lattices of equal steps: one place is read from tails, and above the second one all."""

_FAR_APART = 1e-5
"""Where the bounds of a band are farther apart, as an epsilon, tails are read, too."""

_COARSE = 2e-3
"""A tenth of a deviation that tails are fine enough for."""

_PROBE, _SINGLE, _WHOLE = 2e6, 2e7, 1e8
"""The work of tails: for a few places that are compared; for one; and for a whole law of wide ratios, whose errors add up in
compositions.
"""

_ENOUGH = 4e-6
"""A band as close as this, as an epsilon, is not compared with the tails."""

_TAILS_STEP = 3.4e-4
"""The finest grid of tails: they are as close as its square times the slope."""

_NODES = 1601
"""Nodes at which moments are estimated: they choose a tilt and a lattice, and any choice is valid."""

_ALIAS = 18.0
"""By so much, in logarithms, other periods shall be below what is read."""

_ROUNDED = 16.0
"""By so much what is summed may be above what is read: rounding is relative to it."""

_STEEPEST = 300.0
"""The largest exponent of a tilt."""

_NARROW = 0.02
"""No band of a call is narrower, relatively to how far it is from the mean: there would be thousands of them."""

_FAR = 16.0
"""A ratio is cut off at this number of deviations below the mean; what is cut off is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tails:
    """P(X > x) and E[X; X > x], or those of X <= x, at points x, and bounds of their relative errors."""

    mass: Array
    mean: Array
    error: Array


def _tails(ratio: float, points: Array, *, below: bool) -> _Tails:
    from scipy.special import ndtr

    with np.errstate(divide="ignore"):
        logs = np.log(points)
    place = logs / ratio + 0.5 * ratio
    sign = 1.0 if below else -1.0
    finite = np.where(np.isfinite(place), place, 0.0)
    wobble = 8.0 * UNIT_ROUNDOFF * (1.0 + np.abs(finite) + ratio)
    error = 8.0 * UNIT_ROUNDOFF + 2.0 * (1.0 + np.abs(finite) + ratio) * wobble
    return _Tails(mass=asfloat(ndtr(sign * place)), mean=asfloat(ndtr(sign * (place - ratio))), error=asfloat(error))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cells:
    """A law on the lattice offset + i * step, for X <= top; `lost` is P(X <= offset), for what that adds to E[(s - S)_+]."""

    masses: Array
    offset: float
    top: float
    lost: float = 0.0


def spread_cells(ratio: float, *, step: float, top: float, side: Side) -> _Cells:
    """Each cell's mass at its two ends, its mean kept: above X in convex order."""
    cut = math.exp(-_FAR * ratio - 0.5 * ratio * ratio)
    offset = cut if cut > 4.0 * step else 0.0
    count = max(2, math.ceil((top - offset) / step))
    points = asfloat(offset + step * np.arange(count + 1))
    tails = _tails(ratio, points, below=side == "put")
    sign = 1.0 if side == "put" else -1.0
    mass, mean = sign * np.diff(tails.mass), sign * np.diff(tails.mean)
    off_mass = tails.error[:-1] * tails.mass[:-1] + tails.error[1:] * tails.mass[1:]
    off_mean = tails.error[:-1] * tails.mean[:-1] + tails.error[1:] * tails.mean[1:]
    blur = (off_mean + points[1:] * off_mass) / step + 8.0 * UNIT_ROUNDOFF * points[1:] / step * mass
    held = asfloat(np.maximum(mass + off_mass, 0.0))
    if side == "call":
        share = np.clip((mean - points[:-1] * mass) / step + blur, 0.0, held)
        survival = np.maximum(tails.mass[1:] - tails.mass[-1], 0.0) + tails.error[1:] * tails.mass[1:] + share
        survival = np.maximum.accumulate(survival[::-1])[::-1]
        whole = max(1.0 - float(tails.mass[-1]) * (1.0 - float(tails.error[-1])), float(survival[0]))
        cumulative = np.concatenate(([whole], survival, [0.0]))
        return _Cells(masses=cumulative[:-1] - cumulative[1:], offset=offset, top=float(points[-1]))
    share = np.clip((points[1:] * mass - mean) / step + blur, 0.0, held)
    reached = tails.mass[:-1] * (1.0 + tails.error[:-1]) + share
    reached = np.maximum.accumulate(reached)
    whole = max(float(tails.mass[-1]) * (1.0 + float(tails.error[-1])), float(reached[-1]))
    cumulative = np.concatenate(([0.0], reached, [whole]))
    lost = float(tails.mass[0]) * (1.0 + float(tails.error[0])) if offset else 0.0
    return _Cells(masses=np.diff(cumulative), offset=offset, top=float(points[-1]), lost=lost)


def gathered_cells(ratio: float, *, step: float, top: float, side: Side) -> _Cells:
    """Chords below the tangents at the middles between lattice points: below X in convex order."""
    offset = _lowest_mean(ratio, step)
    count = max(4, math.ceil((top - offset) / step) + 1)
    points = offset + step * np.arange(count + 1)
    edges = np.concatenate(([0.0], points + 0.5 * step))
    tails = _tails(ratio, edges, below=side == "put")
    sign = 1.0 if side == "put" else -1.0
    mass, mean = sign * np.diff(tails.mass), sign * np.diff(tails.mean)
    off = tails.error[:-1] * (tails.mean[:-1] + points * tails.mass[:-1])
    off = off + tails.error[1:] * (tails.mean[1:] + points * tails.mass[1:]) + 8.0 * UNIT_ROUNDOFF * points * np.abs(mass)
    tilted = mean - points * mass  # E[X - point; cell]
    fallen = np.minimum(tilted, 0.0)
    turn = (tilted[1:] + fallen[:-1] - fallen[1:]) / step
    blur = 2.0 * (off[1:] + off[:-1]) / step
    last = float(tails.mass[-1])
    if side == "call":
        survival = tails.mass[1:-1] * (1.0 - tails.error[1:-1]) - last * (1.0 + float(tails.error[-1])) + turn - blur
        # the last tangent ends below 0: its point and the one before are given up
        survival[-2] += survival[-1] + float(fallen[-1] - off[-1]) / step
        survival[-1] = 0.0
        survival = np.maximum(np.minimum.accumulate(survival), 0.0)
        whole = max(1.0 - last * (1.0 + float(tails.error[-1])), 0.0)
        cumulative = np.concatenate(([max(whole, float(survival[0]))], survival, [0.0]))
        return _Cells(masses=cumulative[:-1] - cumulative[1:], offset=offset, top=float(edges[-1]))
    reached = tails.mass[1:-1] * (1.0 - tails.error[1:-1]) - turn - blur
    reached = np.maximum(np.minimum.accumulate(reached[::-1])[::-1], 0.0)
    return _Cells(masses=np.diff(np.concatenate(([0.0], reached))), offset=offset, top=float(edges[-1]))


def _lowest_mean(ratio: float, step: float) -> float:
    """A point that is at least the mean of X below half a step above it: what is there is gathered in it."""
    point = math.exp(-_FAR * ratio - 0.5 * ratio * ratio)
    for _ in range(60):
        tails = _tails(ratio, asfloat([point + 0.5 * step]), below=True)
        if not tails.mass[0] > 0.0:
            return point
        mean = float(tails.mean[0] / tails.mass[0])
        if mean <= point:
            break
        point = mean
    for _ in range(200):
        tails = _tails(ratio, asfloat([point + 0.5 * step]), below=True)
        if float(tails.mean[0] * (1.0 + tails.error[0])) <= point * float(tails.mass[0] * (1.0 - tails.error[0])):
            break
        point += 1e-6 * step
    return point


@dataclass(frozen=True, slots=True, kw_only=True)
class SumBounds:
    """Bounds on E[(S - s)_+] or E[(s - S)_+], and from below the slope in s with its relative error."""

    low: Array
    high: Array
    slope: Array
    slope_error: Array


def _better(one: SumBounds, other: SumBounds) -> SumBounds:
    """The closer of two bounds, wherever it is; the slope is that of the lower one."""
    higher = other.low > one.low
    return SumBounds(
        low=asfloat(np.maximum(one.low, other.low)),
        high=asfloat(np.minimum(one.high, other.high)),
        slope=asfloat(np.where(higher, other.slope, one.slope)),
        slope_error=asfloat(np.where(higher, other.slope_error, one.slope_error)),
    )


class AllocationLaw:
    """The sum of `steps` ratios of `ratio`. Bands of s are tuned when they are first read, and kept."""

    def __init__(self, *, ratio: float, steps: int) -> None:
        self.ratio, self.steps = ratio, steps
        self._bands: dict[tuple[int, Side], _Band | None] = {}
        self._chains: dict[Side, list[_Tuned]] = {}
        self._apart = 0.1 * math.log1p(math.sqrt(math.expm1(min(ratio * ratio, 50.0)) / steps))  # a tenth of a deviation
        self._far: dict[float, AllocationTails] = {}
        reach = np.linspace(-_FAR, _FAR + ratio, _NODES)
        self._log_ratios = ratio * reach - 0.5 * ratio * ratio
        self._weights = np.exp(-0.5 * reach * reach) * (reach[1] - reach[0]) / math.sqrt(2.0 * math.pi)

    def read(self, sums: Array, side: Side) -> SumBounds:
        """Bounds at these sums s: above or at `steps` for a call, below or at it for a put.

        What is read does not depend on what was read before: bands start at places that only the law determines.
        """
        if sums.size == 1:
            start = float(sums[0])
            band = self._single(start, side)
            near = None if band is None else band.read(sums)
            if near is not None and float(near.high[0] - near.low[0]) <= _FAR_APART * start * float(near.slope[0]):
                return near
            far = self._tails(start, side, places=1).read(sums)
            return far if near is None else _better(near, far)
        found = self._tails(0.0, side, places=sums.size).read(sums)
        low, high, slope, error = found.low, found.high, found.slope, found.slope_error
        if sums.size > _FEW and self.ratio <= _HEAVY:
            for band in self._chain(side):
                some = np.flatnonzero(band.holds(sums))
                if some.size:
                    here = SumBounds(low=low[some], high=high[some], slope=slope[some], slope_error=error[some])
                    both = _better(here, band.read(asfloat(sums[some])))
                    low[some], high[some], slope[some], error[some] = both.low, both.high, both.slope, both.slope_error
        return SumBounds(low=low, high=high, slope=slope, slope_error=error)

    def _single(self, start: float, side: Side) -> _Band | None:
        """A band that holds this sum; None where tails are closer."""
        if self.ratio > _WIDE and self._apart > _COARSE:
            return None
        sign = 1.0 if side == "call" else -1.0
        place = math.floor(sign * math.log(start / self.steps) / self._apart)
        if (place, side) not in self._bands:
            # not before the mean: rounding of logarithms
            first = self.steps * math.exp(sign * max(place, 0) * self._apart) * (1.0 - sign * 1e-12)
            made = self._tuned(max(first, self.steps) if side == "call" else min(first, self.steps), side)
            self._bands = dict([*self._bands.items()][1 - _KEPT :])
            self._bands[place, side] = made
        band = self._bands[place, side]
        return band if band is None or band.holds(asfloat([start]))[0] else self._tuned(start, side)

    def _chain(self, side: Side) -> list[_Tuned]:
        """Bands from the mean on, each from the end of the one before; no more than tails are worse than."""
        if side not in self._chains:
            chain: list[_Tuned] = []
            start = float(self.steps)
            while len(chain) < _BANDS:
                made = self._tuned(start, side)
                if not isinstance(made, _Tuned):
                    break
                chain.append(made)
                start = made.high if side == "call" else made.low
                if not start > 0.0:
                    break
            self._chains[side] = chain
        return self._chains[side]

    def _tails(self, start: float, side: Side, *, places: int) -> _Band:
        """All sums from this one on, away from the mean."""
        work = _SINGLE if places == 1 else _PROBE if places <= _FEW else _WHOLE if self.ratio > _WIDE else _SINGLE
        if work not in self._far:
            self._far[work] = AllocationTails(ratio=self.ratio, steps=self.steps, work=work)
        return _Far(tails=self._far[work], start=start, side=side)

    def _tuned(self, start: float, side: Side) -> _Band | None:
        """A band from this sum on, away from the mean, whose lattice is as fine as the width asks for; None where tails
        are closer.
        """
        whole = float(gaussian_profile(self.ratio, asfloat([abs(math.log(start / self.steps))]))[0][0])
        if whole < 1e-270:
            return _Gone(start=start, side=side)  # one step that is told is no better (theorem 1)
        top = self._top(start, self._lattice(start, side, most=2.0 * start).log_value, side)
        grid = self._lattice(start, side, most=top)
        reach = 6.0 / grid.tilt
        if side == "call" and (top >= start or reach < _NARROW * (start - self.steps)):
            # one large ratio is enough: it is cut behind the band
            reach = min(max(3.0 / self._lattice(start, side, most=1.25 * start).tilt, _NARROW * start), start)
            top = start + reach
            grid = self._lattice(start, side, most=top)
        period = max(grid.period + reach, 4.5 * reach, top)  # what is read lies in its first quarter
        size = fast_length(min(_SIZE, max(256, math.ceil(period / grid.step))))
        step = period / size
        close = _WIDTH * (step / grid.step) ** 2
        if not grid.precise or close > max(_ENOUGH, grid.tilt * start * _TAILS_STEP**2 / 5.0):
            return None
        return _Tuned(law=self, side=side, start=start, reach=reach, tilt=grid.tilt, top=top, step=step, size=size)

    def _lattice(self, start: float, side: Side, *, most: float) -> _Lattice:
        """The tilt, period and step that make the shortest transform, for ratios up to `most`, by estimates."""
        sign = 1.0 if side == "call" else -1.0
        ratios = np.exp(np.minimum(self._log_ratios, 700.0))
        held = (ratios <= max(most, 1.0)) & (self._weights > 0.0)
        ratios, weights = ratios[held], self._weights[held]
        spread = math.sqrt(self.steps * max(float(weights @ (ratios - 1.0) ** 2), 1e-300))
        tilts = np.geomspace(min(0.05 / spread, 2.0 / max(most, 1.0)), 1e4 / spread, 140)
        # ln E e^(tilt (S - s)): Chernoff's bound on P(S > s)
        bounds = self.steps * log_sum_exp(sign * np.multiply.outer(tilts, ratios - start / self.steps) + np.log(weights))
        log_value = self._log_value(start, side, float(np.min(bounds - np.log(tilts))), tilts)
        steeper = np.subtract.outer(tilts, tilts).T  # [i, j]: tilt j less tilt i
        with np.errstate(divide="ignore", invalid="ignore"):
            above = np.where(steeper > 0.0, (bounds[None, :] - log_value + _ALIAS) / steeper, np.inf)
        largest = max(self.steps * max(most, 1.0) - start if side == "call" else start, 1e-9 * start)
        below = (_ALIAS + 4.0 - log_value + max(0.0, math.log(start))) / tilts
        periods = np.maximum(np.minimum(np.min(above, axis=1), largest), below)
        steps = np.sqrt(8.0 * start * _WIDTH / (tilts * self.steps))
        usable = tilts * (most if side == "call" else 1.0) <= _STEEPEST
        bounds = np.where(usable, bounds, np.inf)
        cost = np.where(bounds - np.log(tilts) < log_value + _ROUNDED, periods / steps, np.inf)
        precise = bool(np.any(np.isfinite(cost)))
        best = int(np.argmin(cost)) if precise else int(np.argmin(bounds))
        period = float(periods[best]) if math.isfinite(float(periods[best])) else 64.0 / float(tilts[best])
        return _Lattice(tilt=float(tilts[best]), period=period, step=float(steps[best]), log_value=log_value, precise=precise)

    def _log_value(self, start: float, side: Side, bound: float, tilts: Array) -> float:
        """About ln of what is read: Chernoff's bound, which far out is of those sums that no single ratio makes."""
        far = 0.5 * (start - self.steps)
        if side == "call" and far > math.exp(4.0 * self.ratio):
            ratios = np.exp(np.minimum(self._log_ratios, 700.0))
            held = (ratios <= far) & (self._weights > 0.0)
            moments = self.steps * log_sum_exp(np.multiply.outer(tilts, ratios[held]) + np.log(self._weights[held]))
            bound = min(bound, float(np.min(moments - tilts * start - np.log(tilts))))
            # one large ratio, and the others as far above their mean as the rest needs
            jumps = asfloat(np.linspace(far, start - self.steps + 1.0, 60))
            rest = np.min(moments[:, None] - np.multiply.outer(tilts, start - jumps), axis=0)
            tails = _tails(self.ratio, jumps, below=False)
            with np.errstate(divide="ignore"):
                alone = np.log(self.steps * np.maximum(tails.mean - jumps * tails.mass, 0.0))
            return max(bound - 4.0, float(np.max(alone + np.minimum(rest, 0.0))), self._log_single(start, side))
        return max(bound - 4.0, self._log_single(start, side))

    def log_estimate(self, start: float, side: Side) -> float:
        """About ln E[(S - s)_+] or ln E[(s - S)_+]: within a few units, from nothing but moments."""
        return self._lattice(start, side, most=2.0 * start if side == "call" else start).log_value

    def _log_single(self, start: float, side: Side) -> float:
        """ln of what one ratio alone makes: t E(X - s)_+ is below E(S - s)_+."""
        if side == "put":
            return -math.inf
        tails = _tails(self.ratio, asfloat([start]), below=False)
        alone = self.steps * float(tails.mean[0] - start * tails.mass[0])
        return math.log(alone) if alone > 0.0 else -math.inf

    def _top(self, start: float, log_value: float, side: Side) -> float:
        """Where X is cut: at s, beyond which every convex function here is linear, or where what is beyond does not count."""
        tails = _tails(self.ratio, asfloat(np.exp(np.minimum(self._log_ratios, 700.0))), below=False)
        beyond = self.steps * tails.mean + (self.steps**2 if side == "call" else self.steps * start) * tails.mass
        with np.errstate(divide="ignore"):
            negligible = np.flatnonzero(np.log(beyond) < log_value - 25.0)
        if not negligible.size:
            return start
        return min(start, float(np.exp(min(self._log_ratios[negligible[0]], 700.0))))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lattice:
    tilt: float
    period: float
    step: float
    log_value: float
    precise: bool  # whether what is summed is not so large beside what is read that rounding counts


class _Band:
    """Readings between two sums."""

    low: float
    high: float

    def holds(self, sums: Array) -> np.typing.NDArray[np.bool_]:
        return (sums >= self.low) & (sums <= self.high)

    def read(self, sums: Array) -> SumBounds:
        raise NotImplementedError


class _Gone(_Band):
    """So far from the mean that nothing is left."""

    def __init__(self, *, start: float, side: Side) -> None:
        self.low, self.high = (start, math.inf) if side == "call" else (-math.inf, start)

    def read(self, sums: Array) -> SumBounds:
        """Nothing from below, next to nothing from above."""
        nothing = np.zeros(sums.shape)
        return SumBounds(low=nothing, high=nothing + 1e-260, slope=nothing, slope_error=nothing + 1.0)


class _Far(_Band):
    """Everything from a sum on, by the tails."""

    def __init__(self, *, tails: AllocationTails, start: float, side: Side) -> None:
        self.tails, self.side = tails, side
        self.low, self.high = (start, math.inf) if side == "call" else (-math.inf, start)

    def read(self, sums: Array) -> SumBounds:
        """Both sides."""
        found = self.tails.read(sums, call=self.side == "call")
        return SumBounds(low=found.low, high=found.high, slope=found.slope, slope_error=np.full(sums.shape, 1e-9))


class _Tuned(_Band):
    """One tilt, and a lattice on either side."""

    def __init__(
        self, *, law: AllocationLaw, side: Side, start: float, reach: float, tilt: float, top: float, step: float, size: int
    ) -> None:
        self.law, self.side, self.tilt, self.size, self.step = law, side, tilt, size, step
        self.low, self.high = (start, start + reach) if side == "call" else (start - reach, start)
        self._upper = self._sum(spread_cells(law.ratio, step=step, top=top, side=side))
        self._lower = self._sum(gathered_cells(law.ratio, step=step, top=top, side=side))

    def _sum(self, cells: _Cells) -> tuple[_Cells, TiltedSum, int]:
        """A put is a call on what each copy lacks of the largest value."""
        steps, last = self.law.steps, cells.masses.size - 1
        if self.side == "call":
            first = math.floor((self.low - steps * cells.offset) / self.step) - 1
            masses = cells.masses
        else:
            first = steps * last - math.ceil((self.high - steps * cells.offset) / self.step) - 1
            masses = cells.masses[::-1].copy()
        total = TiltedSum(masses, step=self.step, count=steps, tilt=self.tilt, size=self.size, first=first)
        return cells, total, first

    def read(self, sums: Array) -> SumBounds:
        """Both sides."""
        upper, lower = (self._places(sums, *found) for found in (self._upper, self._lower))
        above, below = self._upper[1].read(upper), self._lower[1].read(lower)
        high = above.high + self._beyond(sums, self._upper[0])[1]
        extra, _ = self._beyond(sums, self._lower[0])
        slope = below.survival + self._some_beyond(sums, self._lower[0])
        return SumBounds(low=below.low + extra, high=high, slope=slope, slope_error=below.survival_error + 1e-12)

    def _places(self, sums: Array, cells: _Cells, _: TiltedSum, first: int) -> Array:
        steps, last = self.law.steps, cells.masses.size - 1
        place = (sums - steps * cells.offset) / self.step
        return asfloat(place - first if self.side == "call" else (steps * last - first) - place)

    def _beyond(self, sums: Array, cells: _Cells) -> tuple[Array, Array]:
        """What is added where some X is above the top, from below and from above."""
        steps = self.law.steps
        tails = _tails(self.law.ratio, asfloat([cells.top]), below=False)
        mass, mean, error = float(tails.mass[0]), float(tails.mean[0]), float(tails.error[0]) + 1e-12
        if self.side == "put":
            lost = steps * np.maximum(sums, 0.0) * cells.lost * (1.0 + 1e-9)
            cut = np.where(sums <= cells.top, 0.0, steps * np.maximum(sums, 0.0) * mass * (1.0 + error))
            return np.zeros(sums.shape), asfloat(lost + cut)
        # E[S - s; some X > top], all of it where top >= s: t (1 - E[X; X <= top] F^(t-1)) - s (1 - F^t)
        none = steps * math.log1p(-mass)
        gain = -steps * math.expm1(math.log1p(-mean) + (steps - 1) * math.log1p(-mass))
        cost = -sums * math.expm1(none)
        off = error * (gain + cost) * 4.0
        exact = np.maximum(gain - cost, 0.0)
        loose = (steps * mean + steps * steps * mass) * (1.0 + error)
        whole = sums <= cells.top
        return asfloat(np.where(whole, np.maximum(exact - off, 0.0), 0.0)), asfloat(np.where(whole, exact + off, loose))

    def _some_beyond(self, sums: Array, cells: _Cells) -> Array:
        """P(some X > top), for a call and where the top is above the sum: there it is a part of the slope."""
        if self.side == "put":
            return np.zeros(sums.shape)
        mass = float(_tails(self.law.ratio, asfloat([cells.top]), below=False).mass[0])
        return np.where(sums <= cells.top, -math.expm1(self.law.steps * math.log1p(-mass)), 0.0)
