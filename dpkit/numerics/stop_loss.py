"""E[(S - s)_+] for a sum S of independent copies of one law on a lattice, from both sides, at any s near a chosen one.

The law is tilted by e^(tilt * value), raised to its power by a Fourier transform, and summed against the tilt's inverse. Errors
are those of docs/proofs/pld.md, theorems 5 and 6, with (S - s)_+ in the place of (1 - e^(s - S))_+.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dpkit.numerics.fourier import geometric_sequence, multiply_powers, transform_rounding
from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array, asfloat
from dpkit.values import dataclass

_STEEPER = asfloat(np.array([1.2, 1.5, 2.0, 3.0, 5.0]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """Bounds on E[(S - s)_+], and the value of P(S > s) with a bound on its relative error."""

    low: Array
    high: Array
    survival: Array
    survival_error: Array


class TiltedSum:
    """S = step * (I_1 + ... + I_count), I having the mass masses[i] at i; read where s = step * (first + place), place >= 0.

    Of the transform only what is read is kept: the places up to `reach`.
    """

    def __init__(
        self, masses: Array, *, step: float, count: int, tilt: float, size: int, first: int, reach: int | None = None
    ) -> None:
        self.step, self.tilt, self.period, self.count = step, tilt, size * step, count
        indices = np.arange(masses.size, dtype=np.float64)
        self.middle = float(indices @ masses) / float(np.sum(masses))
        weights = masses * np.exp(tilt * step * (indices - self.middle))
        total = float(np.sum(weights))
        folded = np.zeros(size)
        for start in range(0, weights.size, size):
            part = weights[start : start + size]
            folded[: part.size] += part
        kept, terms, spread, dropped = multiply_powers([(np.fft.rfft(folded / total), count)], size, few=True)
        spectrum = np.zeros(size // 2 + 1, dtype=np.complex128)
        spectrum[kept] = terms
        law = np.roll(np.fft.irfft(spectrum, size), -(first % size))
        moduli = float(np.sum(np.abs(terms)))
        self.blur = (2.0 * float(np.sum(spread)) + dropped + 2.0 * transform_rounding(size) * moduli) / size
        self.log_moment = count * math.log(total)
        exponent = tilt * step * max(self.middle, masses.size - 1 - self.middle)
        self.log_error = UNIT_ROUNDOFF * (count * (64.0 + 4.0 * exponent) + 8.0 * abs(self.log_moment))
        self.start = first - count * self.middle  # in steps, from the middle of the sum
        fall = geometric_sequence(-tilt * step, size)
        survival = np.cumsum((law * fall)[::-1])[::-1]
        excess = np.zeros(size)
        excess[:-1] = step * np.cumsum(survival[:0:-1])[::-1]
        self.size = size
        self.readable = min(size // 4, size if reach is None else reach)
        near = self.readable + 2  # the rest is never read, and large
        self._survival, self._excess, self._fall = (part[:near].copy() for part in (survival, excess, fall))
        self._steeper = tuple(self._moments(masses, indices))
        self._largest = count * (masses.size - 1 - self.middle) * step

    def _moments(self, masses: Array, indices: Array) -> Iterator[tuple[float, float]]:
        """Steeper tilts, and bounds on the log moments of the sum there."""
        for steeper in (self.tilt * _STEEPER).tolist():
            exponents = steeper * self.step * (indices - self.middle)
            if exponents[-1] <= 600.0 and exponents[0] >= -1e6:
                yield steeper, self.count * (math.log(float(np.sum(masses * np.exp(exponents)))) + 1e-12)

    def read(self, places: Array) -> Bracket:
        """At s = step * (first + place) for 0 <= place < `readable`."""
        index = np.floor(places).astype(np.int64) + 1
        gap = (index - places) * self.step
        near = np.exp(-self.tilt * gap)
        fall = self._fall[index]
        survival = near * self._survival[index] / fall
        value = near * self._excess[index] / fall + gap * survival
        # the sum of all weights e^(-tilt u) u and e^(-tilt u) on the lattice, for what each entry of the law may be off
        shrink = -math.expm1(-self.tilt * self.step)
        all_survival = near / shrink
        all_excess = near * (self.step * math.exp(-self.tilt * self.step) / shrink**2) + gap * all_survival
        left = (self.size - index) * self.step
        beyond = 4.0 * np.exp(-self.tilt * left) * (1.0 + left + self.period)
        rounding = UNIT_ROUNDOFF * (2.0 * self.size + 64.0)
        off = (1.0 + rounding) * self.blur
        error = off * all_excess + rounding * np.abs(value) + beyond
        off_survival = off * all_survival + rounding * np.abs(survival) + beyond
        shift = (self.start + places) * self.step
        log_scale = self.log_moment - self.tilt * shift
        # s itself is rounded, relatively to the number of steps that it is away from the middle and from 0
        away = abs(self.start) + places + abs(self.count * self.middle)
        size = self.log_error + 16.0 * UNIT_ROUNDOFF * (1.0 + np.abs(log_scale) + self.tilt * self.step * away)
        moved = 8.0 * UNIT_ROUNDOFF * self.step * away * np.abs(survival)
        with np.errstate(under="ignore", over="ignore"):
            known = (log_scale + size < 600.0) & (size < 1.0)  # else nothing is said
            log_scale, size = np.minimum(log_scale, 600.0), np.minimum(size, 1.0)
            up, down = np.exp(log_scale + size), np.exp(log_scale - size)
            high = (np.maximum(value, 0.0) + error + moved) * up + 1e-300
            low = np.maximum(value - error - moved, 0.0) * down - 1e-300
            low = np.where(known, np.maximum(low - self._aliases(shift, high), 0.0), 0.0)
            high = np.where(known, high, math.inf)
            scaled = np.maximum(survival, 0.0) * np.exp(log_scale)
        relative = off_survival / np.maximum(np.abs(survival), 1e-300) + np.expm1(np.minimum(size, 1.0))
        return Bracket(low=asfloat(low), high=asfloat(high), survival=asfloat(scaled), survival_error=asfloat(relative))

    def _aliases(self, shift: Array, high: Array) -> Array:
        """What the periods below and above add, at most: E(S + nT - s)_+ <= E(S - s)_+ + nT below, Chernoff above."""
        fade = math.exp(-self.tilt * self.period)
        below = (high + self.period / (1.0 - fade)) * fade / (1.0 - fade)
        best = np.full(shift.shape, math.inf)
        for steeper, moment in self._steeper:
            gone = -math.expm1(-(steeper - self.tilt) * self.period)
            log_above = moment - steeper * shift - (steeper - self.tilt) * self.period - 1.0 - math.log(steeper * gone)
            best = np.minimum(best, np.exp(np.minimum(log_above, 700.0)))
        best = np.where(shift + self.period > self._largest * (1.0 + 1e-12) + self.step, 0.0, best)  # no sum is so large
        return asfloat((below + best) * (1.0 + 1e-9))
