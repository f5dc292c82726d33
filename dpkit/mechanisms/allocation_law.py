"""The law of the mean of independent likelihood ratios: E[(S - s)_+] and E[(s - S)_+], from both sides.

S = X_1 + ... + X_t, X = e^(m w - m^2/2) with w standard normal: what a record leaves behind that takes part in one of t steps,
chosen at random (docs/proofs/sampling.md, theorems 7 and 8). Convex functions of X are bounded from above by spreading each
cell of a lattice to its ends, from below by gathering it, and sums keep the order.
"""

from __future__ import annotations

import math

import numpy as np

from dpkit.mechanisms.allocation_bands import Band, FarBand, GoneBand, SumBounds, TunedBand, closer
from dpkit.mechanisms.allocation_cells import Side, ratio_tails
from dpkit.mechanisms.allocation_tails import AllocationTails
from dpkit.numerics.fourier import fast_length
from dpkit.numerics.special import Array, asfloat, log_sum_exp
from dpkit.privacy.gaussian_dp import gaussian_profile
from dpkit.values import dataclass

_SIZE = 1 << 20
"""The longest transform."""

_WIDTH = 4e-7
"""How far apart the two bounds may be, as an epsilon, where the size allows."""

_OF_A_DEVIATION = 2e-4
"""Of deviations that are small bounds may be apart by this part: many epochs of many steps add up."""

_BANDS, _MANY_BANDS = 6, 24
"""The bands a side, the nearest to the mean, that one reading tunes: many where tails are coarse beside a deviation, few
elsewhere. What is farther away is read from tails.
"""

_NOTHING = 1e-45
"""Below this, relatively to the number of steps, no more bands are made."""

_KEPT = 8
"""How many bands of single readings are kept."""

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
"""How far below what is read other periods shall be, in logarithms."""

_ROUNDED = 16.0
"""How far above what is read the sum may be: rounding is relative to the sum."""

_STEEPEST = 300.0
"""The largest exponent of a tilt."""

_NARROW = 0.02
"""No band of a call is narrower, relatively to how far it is from the mean: there would be thousands of them."""

_FAR = 16.0
"""Moments are estimated up to this number of deviations on either side of the mean."""


class AllocationLaw:
    """The sum of `steps` ratios of `ratio`. Bands of s are tuned when they are first read, and kept."""

    def __init__(self, *, ratio: float, steps: int) -> None:
        self.ratio, self.steps = ratio, steps
        self._bands: dict[tuple[int, Side], Band | None] = {}
        self._chains: dict[Side, list[TunedBand]] = {}
        self._apart = 0.1 * math.log1p(math.sqrt(math.expm1(min(ratio * ratio, 50.0)) / steps))  # a tenth of a deviation
        self._width = min(_WIDTH, _OF_A_DEVIATION * 10.0 * self._apart)
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
            return far if near is None else closer(near, far)
        found = self._tails(0.0, side, places=sums.size).read(sums)
        low, high, slope, error = found.low, found.high, found.slope, found.slope_error
        if sums.size > _FEW and self.ratio <= _HEAVY:
            for band in self._chain(side):
                some = np.flatnonzero(band.holds(sums))
                if some.size:
                    here = SumBounds(low=low[some], high=high[some], slope=slope[some], slope_error=error[some])
                    both = closer(here, band.read(asfloat(sums[some])))
                    low[some], high[some], slope[some], error[some] = both.low, both.high, both.slope, both.slope_error
        return SumBounds(low=low, high=high, slope=slope, slope_error=error)

    def _single(self, start: float, side: Side) -> Band | None:
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

    def _chain(self, side: Side) -> list[TunedBand]:
        """Bands from the mean on, each from the end of the one before; no more than tails are worse than."""
        if side not in self._chains:
            chain: list[TunedBand] = []
            start = float(self.steps)
            while len(chain) < (_BANDS if self._apart > _COARSE else _MANY_BANDS):
                made = self._tuned(start, side)
                if not isinstance(made, TunedBand):
                    break
                chain.append(made)
                start = made.high if side == "call" else made.low
                if not start > 0.0 or float(made.read(asfloat([start])).high[0]) < _NOTHING * self.steps:
                    break
            self._chains[side] = chain
        return self._chains[side]

    def _tails(self, start: float, side: Side, *, places: int) -> Band:
        """All sums from this one on, away from the mean."""
        work = _SINGLE if places == 1 else _PROBE if places <= _FEW else _WHOLE if self.ratio > _WIDE else _SINGLE
        if work not in self._far:
            self._far[work] = AllocationTails(ratio=self.ratio, steps=self.steps, work=work)
        return FarBand(tails=self._far[work], start=start, side=side)

    def _tuned(self, start: float, side: Side) -> Band | None:
        """A band from this sum on, away from the mean, whose lattice is as fine as the width asks for; None where tails
        are closer.
        """
        whole = float(gaussian_profile(self.ratio, asfloat([abs(math.log(start / self.steps))]))[0][0])
        if whole < 1e-270:
            return GoneBand(start=start, side=side)  # one step that is told is no better (theorem 1)
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
        close = self._width * (step / grid.step) ** 2
        if not grid.precise or close > max(_ENOUGH, grid.tilt * start * _TAILS_STEP**2 / 5.0):
            return None
        return TunedBand(
            ratio=self.ratio,
            steps=self.steps,
            side=side,
            start=start,
            reach=reach,
            tilt=grid.tilt,
            top=top,
            step=step,
            size=size,
        )

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
        steps = np.sqrt(8.0 * start * self._width / (tilts * self.steps))
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
            tails = ratio_tails(self.ratio, jumps, below=False)
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
        tails = ratio_tails(self.ratio, asfloat([start]), below=False)
        alone = self.steps * float(tails.mean[0] - start * tails.mass[0])
        return math.log(alone) if alone > 0.0 else -math.inf

    def _top(self, start: float, log_value: float, side: Side) -> float:
        """Where X is cut: at s, beyond which every convex function here is linear, or where what is beyond does not count."""
        tails = ratio_tails(self.ratio, asfloat(np.exp(np.minimum(self._log_ratios, 700.0))), below=False)
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
