"""The route by a lattice: any composition whose profiles are known, by one Fourier transform, bounded from both sides.

docs/proofs/pld.md, theorems 5 and 6.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dpkit.numerics.fourier import geometric_sequence, multiply_powers, transform_rounding
from dpkit.numerics.lattice_laws import LatticeLaw
from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array
from dpkit.values import dataclass

Complex = np.typing.NDArray[np.complex128]

_FALL = 600.0
"""How far, in logarithms, the weights of a suffix sum may have fallen where it is read: e^-600 is a normal number."""

_MANY = 1 << 16
"""Up to how many frequencies are summed once more where suffix sums do not reach; with more, nothing is read there."""

_FEW = 2048
"""Up to how many frequencies a reading sums over them; with more, the law is transformed back."""


class LatticeSum:
    """The composition of lattice laws, each `count` times, tilted by e^(tilt * loss), read at any epsilon.

    Frequencies that are too small to matter are bounded and not summed. Where few remain, a reading sums over them; where
    many do, the law itself is transformed back once and a reading is a look-up in its suffix sums.
    """

    def __init__(self, laws: Sequence[tuple[LatticeLaw, int]], *, step: float, tilt: float, size: int, near: float) -> None:
        self.step, self.tilt, self.size = step, tilt, size
        self.log_moment, self.log_error = 0.0, 0.0
        self._kept, self._terms, self._spread, self._dropped = multiply_powers(
            self._transforms(laws), size, few=len(laws) <= 32
        )
        self.log_error += 8.0 * UNIT_ROUNDOFF * abs(self.log_moment)
        self._terms, self._spread, self._dropped = self._terms / size, self._spread / size, self._dropped / size
        twice = slice(1 if self._kept.size and self._kept[0] == 0 else 0, -1 if 2 * int(self._kept[-1]) == size else None)
        self._terms[twice] *= 2.0
        self._spread[twice] *= 2.0
        self._offset = sum(count * law.first for law, count in laws)
        self._window = self._suffix_sums(near) if self._kept.size > _FEW else None

    def _transforms(self, laws: Sequence[tuple[LatticeLaw, int]]) -> Iterator[tuple[Complex, int]]:
        """One transform at a time, with what its tilt does to the total."""
        for law, count in laws:
            transform, log_mass, exponent = _tilted_transform(law, self.step, self.tilt, self.size)
            self.log_moment += count * log_mass
            self.log_error += count * UNIT_ROUNDOFF * (64.0 + 4.0 * exponent)
            yield transform, count

    def readable(self, epsilon: float) -> bool:
        """Whether a reading here is cheap: by the suffix sums, or by a sum over not too many frequencies."""
        if self._window is None or self._kept.size <= _MANY:
            return True
        return 0 <= math.floor(epsilon / self.step) + 1 - self._window.first < self._window.readable

    def scaled_delta(self, epsilon: float) -> tuple[float, float, float]:
        """(value, error, log_scale), as `ContourSum` gives them; the aliases are those of the period size * step."""
        start = math.floor(epsilon / self.step) + 1
        gap = start * self.step - epsilon
        first, second = math.exp(-self.tilt * gap), math.exp(-(self.tilt + 1.0) * gap)
        log_scale = self.log_moment - self.tilt * epsilon
        if self._window is not None and 0 <= start - self._window.first < self._window.readable:
            value, error = self._window.read(start, first, second)
            return value, error, log_scale
        slow, fast = self._geometric(self._kept)
        kernel = np.exp(1j * self._turn(start - self._offset)) * (first / slow - second / fast)
        value = float(np.sum((self._terms * kernel).real))
        whole = self._weight(first, second)
        rounding = 64.0 * UNIT_ROUNDOFF * float(np.sum(np.abs(self._terms) * (np.abs(first / slow) + np.abs(second / fast))))
        error = float(np.sum(self._spread * np.abs(kernel))) + self._dropped * whole + rounding
        return value, error, log_scale

    def _geometric(self, kept: NDArray[np.int64]) -> tuple[Complex, Complex]:
        """1 - e^(-tilt step + i phase), and the same for tilt + 1: what geometric sums over the lattice are divided by."""
        phase = 2.0 * math.pi / self.size * kept
        return (
            -np.expm1(-self.tilt * self.step + 1j * phase),
            -np.expm1(-(self.tilt + 1.0) * self.step + 1j * phase),
        )

    def _weight(self, first: float, second: float) -> float:
        """The sum of all weights e^(-tilt u)(1 - e^-u): no frequency can count for more."""
        return first / -math.expm1(-self.tilt * self.step) - second / -math.expm1(-(self.tilt + 1.0) * self.step)

    def _suffix_sums(self, near: float) -> _Window:
        """The tilted law from below `near` on, with sums of e^(-tilt loss) over what lies above."""
        spectrum = np.zeros(self.size // 2 + 1, dtype=np.complex128)
        spectrum[self._kept] = self._terms
        spectrum[1 : (self.size + 1) // 2] *= 0.5
        law = np.fft.irfft(spectrum, self.size)
        law *= self.size
        first = math.floor((near - min(0.1 * self.size * self.step, 0.5 * _FALL / (self.tilt + 1.0))) / self.step)
        law = np.roll(law, -((first - self._offset) % self.size))
        transform = transform_rounding(self.size) * float(np.sum(np.abs(self._terms)))
        return _Window.build(
            law, first=first, step=self.step, tilt=self.tilt, blur=float(np.sum(self._spread)) + self._dropped + transform
        )

    def _turn(self, steps: int) -> Array:
        """The phases of a shift by `steps` steps, reduced exactly before they become floats."""
        return np.asarray(2.0 * math.pi / self.size * ((steps % self.size) * self._kept % self.size), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Window:
    """Suffix sums of a tilted law: slow[i] = sum over j >= i of law[j] e^(-tilt (j-i) step), fast the same at tilt + 1."""

    first: int
    slow: Array
    fast: Array
    blur: float
    weights: tuple[float, float]
    log_fall: float
    readable: int

    @classmethod
    def build(cls, law: Array, *, first: int, step: float, tilt: float, blur: float) -> _Window:
        sums = []
        for rate in (tilt, tilt + 1.0):
            fall = geometric_sequence(-rate * step, law.size)
            total = np.cumsum((law * fall)[::-1])[::-1]
            total /= np.maximum(fall, 1e-290, out=fall)
            sums.append(total)
        weights = (1.0 / -math.expm1(-tilt * step), 1.0 / -math.expm1(-(tilt + 1.0) * step))
        readable = min(law.size // 2, math.floor(_FALL / ((tilt + 1.0) * step)))
        return cls(
            first=first, slow=sums[0], fast=sums[1], blur=blur, weights=weights, log_fall=-tilt * step, readable=readable
        )

    def read(self, start: int, first: float, second: float) -> tuple[float, float]:
        """The sum at one lattice point, and its error: the law's, that of the suffix sums, and what lies a period on."""
        index = start - self.first
        slow, fast = float(self.slow[index]) * first, float(self.fast[index]) * second
        whole = first * self.weights[0] - second * self.weights[1]
        rounding = UNIT_ROUNDOFF * (self.slow.size + 64.0) * (abs(slow) + abs(fast))
        beyond = 4.0 * math.exp(max(self.log_fall * (self.slow.size - index), -745.0))
        return slow - fast, self.blur * whole + rounding + beyond


def _tilted_transform(law: LatticeLaw, step: float, tilt: float, size: int) -> tuple[Complex, float, float]:
    """The transform of the tilted, normalised law, folded to the size; ln of its total; the largest exponent used."""
    losses = (law.first + np.arange(law.masses.size)) * step
    top = float(losses[np.flatnonzero(law.masses)[-1]])  # a point without mass would let everything underflow
    weights = law.masses * np.exp(tilt * (np.minimum(losses, top) - top))
    total = float(np.sum(weights))
    folded = np.zeros(size)
    for start in range(0, weights.size, size):
        part = weights[start : start + size]
        folded[: part.size] += part
    exponent = abs(tilt) * float(losses[-1] - losses[0])
    return np.fft.rfft(folded / total), tilt * top + math.log(total), exponent
