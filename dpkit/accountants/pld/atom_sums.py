"""Atoms composed, few of which are large: moments along a contour, near or quickly, and what they leave out."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpkit.accountants.pld.atom_laws import AtomLaw
from dpkit.accountants.pld.contour import ContourSum, kernel_beyond
from dpkit.accountants.pld.large_losses import SomeLarge
from dpkit.accountants.pld.moments import RealMoments
from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array, Complex, asfloat, log1p_near
from dpkit.values import dataclass

MOST_NODES = 1 << 15
"""Nodes that are looked at; those that count are kept."""

_NEAR = 1 << 10
"""Nodes that are summed term by term."""

_FALLEN = 38.0
"""How far below what is summed, in logarithms, a node is given up."""

_RARE = 0.3
"""So many releases have large losses on average, at most: else none of a mechanism's count as large."""

_UNKNOWN = 700.0
"""The error of a logarithm of which nothing is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContourChoice:
    """A tilt, the threshold of large losses, how many releases may have them, the cut of those that are counted apart, the
    tilt at which what that leaves open is small, and the period and the smoothing of the contour.
    """

    tilt: float
    threshold: float
    few: int
    cut: float | None
    rest: float
    period: float
    smoothing: float


class AtomSums:
    """Laws of one side, composed: their moments with few large losses, and what is counted apart."""

    def __init__(self, laws: Sequence[AtomLaw], chosen: ContourChoice) -> None:
        self.laws, self.few = laws, chosen.few
        self.large = SomeLarge(laws, step=0.0, rest=chosen.rest) if any(law.cut for law in laws) else None
        self.parts: list[tuple[AtomLaw, int]] = []
        missed = 0.0
        for law in laws:
            body = law.body()
            split = int(np.searchsorted(body.losses, chosen.threshold, side="right"))
            mass = float(np.sum(body.masses[split:]))
            if not may_be_large(law.count, mass, chosen.few):
                split = body.losses.size
            else:
                missed += math.exp(min(0.0, log_missed(law.count, mass, chosen.few)))
            self.parts.append((body, split))
        self.missed = missed * (1.0 + 1e-6)

    def log_moment(self, z: Complex) -> tuple[Complex, Array]:
        """ln of the moment and a bound on its error, term by term, so that nothing cancels but what must."""
        total, errors = np.zeros(z.shape, dtype=np.complex128), np.zeros(z.shape)
        with np.errstate(all="ignore"):
            for law, split in self.parts:
                part, off = self._one_moment(law, split, z)
                total, errors = total + part, errors + off + 4.0 * UNIT_ROUNDOFF * np.abs(part)
        return total, errors

    def _one_moment(self, law: AtomLaw, split: int, z: Complex) -> tuple[Complex, Array]:
        flat = math.fsum([*law.masses[:split].tolist(), -1.0])
        parts = [np.zeros(z.size, dtype=np.complex128) for _ in range(2)]
        blurs = [np.zeros(z.size) for _ in range(2)]
        rows = max(1, (1 << 18) // law.losses.size)
        for start in range(0, z.size, rows):
            block = slice(start, start + rows)
            for i, (held, raised) in enumerate(((slice(None, split), np.expm1), (slice(split, None), np.exp))):
                powers = np.multiply.outer(z[block], law.losses[held])
                pieces = raised(powers) * law.masses[held]
                parts[i][block] = np.sum(pieces, axis=1)
                # a power is rounded relatively, which moves e^power by that much of itself, also where it is next to 1
                moved = 4.0 * np.abs(powers) * np.exp(powers.real) * law.masses[held]
                blurs[i][block] = np.sum(64.0 * np.abs(pieces) + moved, axis=1)
        excess, large = parts[0] + flat, parts[1]
        few = self.few if split < law.losses.size else 0
        blur = asfloat(UNIT_ROUNDOFF * (blurs[0] + 4.0 * abs(flat) + 1e-290))
        return _composed(excess, blur, large, asfloat(UNIT_ROUNDOFF * blurs[1]), count=law.count, few=few)

    def quick_log_moment(self, tilt: float, spacing: float, size: int) -> tuple[Complex, Array]:
        """The same at nodes in equal distances: less near, and faster, as products of two tables."""
        total, errors = np.zeros(size, dtype=np.complex128), np.zeros(size)
        side = max(2, math.isqrt(size - 1) + 1)
        heights = asfloat(spacing * np.arange(side))
        for law, split in self.parts:
            steep = law.masses * np.exp(tilt * law.losses)
            fine = _turned(np.multiply.outer(heights, law.losses))
            coarse = _turned(np.multiply.outer(side * heights, law.losses)) * steep
            off = 4.0 * UNIT_ROUNDOFF * steep
            off *= 16.0 + law.losses.size + 4.0 * (spacing * (size + side) + tilt) * np.abs(law.losses)
            body = _product(coarse[:, :split], fine[:, :split])[:size]
            few, large = 0, np.zeros(size, dtype=np.complex128)
            if split < law.losses.size:
                few, large = self.few, _product(coarse[:, split:], fine[:, split:])[:size]
            blur = np.full(size, float(np.sum(off[:split])) + 4.0 * UNIT_ROUNDOFF)
            rare = np.full(size, float(np.sum(off[split:])))
            part, wrong = _composed(body - 1.0, blur, large, rare, count=law.count, few=few)
            total, errors = total + part, errors + wrong + 4.0 * UNIT_ROUNDOFF * np.abs(part)
        return total, errors

    def smoothed(self, smoothing: float) -> RealMoments:
        """Log moments for real tilts, from above, with the noise that smooths."""
        spread = 0.5 * smoothing * smoothing * (1.0 + 8.0 * UNIT_ROUNDOFF)

        def log_moment(tilts: Array) -> Array:
            with np.errstate(all="ignore"):
                value, error = self.log_moment(tilts.astype(np.complex128))
                found = value.real + error + spread * tilts * (tilts + 1.0)
            return asfloat(np.where(np.isnan(found), np.inf, found))

        return log_moment

    def contour(self, chosen: ContourChoice) -> ContourSum | None:
        """The nodes that count; None where they are too many, or rounding leaves nothing."""
        tilt, period, mu = chosen.tilt, chosen.period, chosen.smoothing
        spacing = 2.0 * math.pi / period
        fallen = fallen_far(tilt, period)
        size = math.ceil(math.sqrt(2.0 * fallen) / mu / spacing) + 2
        if size > MOST_NODES:
            return None
        heights = asfloat(spacing * np.arange(size))
        dent = mu * mu * math.exp(mu * mu / 8.0) * (1.0 + 1e-12)
        last = spacing * size
        gone = math.exp(max(-0.5 * (mu * last) ** 2 * (1.0 - 1e-12), -745.0))
        left_out = gone * (kernel_beyond(last, period) + dent * (2.0 / period + 1.0 / (math.pi * mu * mu * last)))
        noise = 0.5 * mu * mu * ((tilt + 1j * heights) * (tilt + 1.0 + 1j * heights))
        first, error = self.log_moment(np.array([complex(tilt)]))
        steepest = max(float(law.losses[-1]) for law, _ in self.parts) * tilt
        if not (np.isfinite(first[0]) and float(error[0]) < 0.25 and steepest < _UNKNOWN):
            return None
        quick, errors = self.quick_log_moment(tilt, spacing, size)
        value = quick + noise
        with np.errstate(invalid="ignore"):
            logs = value.real + errors - float(first[0].real + noise[0].real) + float(error[0])
        kept = ~(logs < -fallen)
        kept[0] = True
        moduli = np.exp(np.maximum(logs[~kept] + 1e-9, -745.0))
        left_out += 2.0 / period * float(np.sum(moduli * (1.0 / heights[~kept] ** 2 + dent))) * (1.0 + 1e-9)
        near = np.flatnonzero(kept)[:_NEAR]
        close, blur = self.log_moment(np.asarray(tilt + 1j * heights[near], dtype=np.complex128))
        value[near], errors[near] = close + noise[near], blur
        unknown = ~(np.isfinite(value) & np.isfinite(errors))  # by no more than on the axis
        value, errors = np.where(unknown, first[0].real + noise[0].real, value)[kept], np.where(unknown, _UNKNOWN, errors)[kept]
        errors = errors + 8.0 * UNIT_ROUNDOFF * np.abs(noise[kept])
        heights = asfloat(heights[kept])
        return ContourSum(
            tilt=tilt, period=period, heights=heights, log_moments=value, errors=asfloat(errors), left_out=left_out, dent=dent
        )


def fallen_far(tilt: float, period: float) -> float:
    """How far nodes must have fallen, in logarithms, to be left out."""
    return _FALLEN + math.log1p(tilt) + math.log1p(tilt * period)


def may_be_large(count: int, mass: float, few: int) -> bool:
    """Whether of so many releases, each with this mass above a threshold, few are counted apart."""
    return count > few and count * mass <= _RARE


def _turned(angles: Array) -> Complex:
    """e^(i angle), by two functions of real numbers, which are faster."""
    found = np.empty(angles.shape, dtype=np.complex128)
    np.cos(angles, out=found.real)
    np.sin(angles, out=found.imag)
    return found


def _product(coarse: Complex, fine: Complex) -> Complex:
    return np.asarray(np.einsum("aw,bw->ab", coarse, fine).reshape(-1), dtype=np.complex128)  # BLAS would start threads


def _composed(
    excess: Complex, blur: Array, large: Complex, large_blur: Array, *, count: int, few: int
) -> tuple[Complex, Array]:
    """ln of sum over k <= few of C(count, k) M^(count - k) N^k, with M = 1 + excess and N = large, and its error."""
    small = np.abs(excess) < 0.5
    with np.errstate(all="ignore"):
        logs = np.where(small, log1p_near(np.where(small, excess, 0.0)), np.log(np.where(small, 1.0, 1.0 + excess)))
        modulus = np.abs(1.0 + excess)
        relative = blur / modulus + 64.0 * UNIT_ROUNDOFF * np.minimum(np.abs(excess), 1.0 + np.abs(logs))
        off = np.where(relative < 0.5, -np.log1p(-np.minimum(relative, 0.5)), _UNKNOWN)
        total, errors = count * logs, count * off
        if few:
            ratio = large / (1.0 + excess)
            ratio_blur = large_blur / modulus + 2.0 * np.abs(ratio) * (off + 4.0 * UNIT_ROUNDOFF)
            term, added, moved = (
                np.ones(ratio.shape, dtype=np.complex128),
                np.zeros(ratio.shape, dtype=np.complex128),
                np.zeros(ratio.shape),
            )
            size = np.ones(ratio.shape)
            for k in range(1, few + 1):
                term = term * ratio * ((count - k + 1) / k)
                # |(r + b)^k - r^k| is at most k b (|r| + b)^(k-1)
                moved = moved + k * (count - k + 1) / k * size * ratio_blur + 16.0 * k * UNIT_ROUNDOFF * np.abs(term)
                size = size * (np.abs(ratio) + ratio_blur) * ((count - k + 1) / k)
                added = added + term
            near = np.abs(added) < 0.5
            more = np.where(near, log1p_near(np.where(near, added, 0.0)), np.log(np.where(near, 1.0, 1.0 + added)))
            relative = moved / np.abs(1.0 + added) + 64.0 * UNIT_ROUNDOFF
            total = total + more
            errors = errors + np.where(relative < 0.5, -np.log1p(-np.minimum(relative, 0.5)), _UNKNOWN)
    return total, asfloat(np.where(np.isnan(errors), _UNKNOWN, np.minimum(errors, _UNKNOWN)))


def log_sum_of_few(ratio: Array, count: int, few: int) -> Array:
    """ln of the sum over k <= few of C(count, k) ratio^k."""
    term, total = np.ones(np.shape(ratio)), np.ones(np.shape(ratio))
    with np.errstate(over="ignore"):
        for k in range(1, min(few, count) + 1):
            term = term * ratio * ((count - k + 1) / k)
            total = total + term
    return asfloat(np.log(total))


def log_missed(count: int, mass: float, few: int) -> float:
    """ln of a bound on how likely more than `few` of so many releases have large losses: a union of all sets of them."""
    if mass <= 0.0:
        return -math.inf
    ways = math.lgamma(count + 1) - math.lgamma(few + 2) - math.lgamma(count - few) if few < count else -math.inf
    # lgamma of large numbers cancels: n^k / k! is a bound, too
    ways = min(ways + 1e-12 * count * math.log(count + 1.0), (few + 1) * math.log(count) - math.lgamma(few + 2))
    return ways + (few + 1) * math.log(mass) + 1e-9 + 1e-12 * (few + 1) * abs(math.log(mass))
