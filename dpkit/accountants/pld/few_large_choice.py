"""Which tilt, threshold and period suit a composition of atoms in which few losses are large: whatever is chosen is valid."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpkit.accountants.pld.atom_laws import AtomLaw
from dpkit.accountants.pld.atom_sums import MOST_NODES, ContourChoice, fallen_far, log_missed, log_sum_of_few, may_be_large
from dpkit.accountants.pld.moments import ALIAS, log_kernel_peak
from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array, asfloat

_THRESHOLDS, _TILTS = 90, 71
"""How many of each are tried."""

_FEW = (0, 1, 2, 3, 4, 6, 9)
"""How many releases may have large losses."""

_MISSED = 24.0
"""How far below delta what the closed form leaves open shall be."""

_MOST_LOST = 30.0
"""How far above delta, in logarithms, what is summed may be."""

_STEEP, _LARGEST = 600.0, 1e7
"""Exponents above the first are not raised, epsilons above the second not looked for."""

_COARSEST = 1e-3
"""A width of what smooths that is too large to be of use."""


def choose(laws: Sequence[AtomLaw], *, delta: float, epsilon: float, width: float) -> ContourChoice | None:
    """A choice for which what is summed is not much more than delta: by the laws from above; whatever it is, it is valid."""
    highest = max(float(law.losses[-1]) for law in laws)
    if not (0.0 < epsilon < _LARGEST and highest < _STEEP):
        return None
    log_delta = math.log(delta)
    tilts = asfloat(np.geomspace(0.05, 1e3, _TILTS) / epsilon)
    cut, rest = _cut(laws, tilts, epsilon, log_delta)
    thresholds = asfloat(epsilon * np.geomspace(1e-3, 1.0, _THRESHOLDS))
    logs = {few: np.zeros((_TILTS, _THRESHOLDS)) for few in _FEW}
    missed = {few: np.zeros(_THRESHOLDS) for few in _FEW}
    noise = np.zeros(_TILTS)
    for law in laws:
        held = law.losses < cut if cut is not None else slice(None)
        losses, masses = law.losses[held], law.masses[held]
        powers = np.minimum(np.multiply.outer(tilts, losses), _STEEP)
        weights = np.expm1(powers) * masses
        sums = np.concatenate((np.zeros((_TILTS, 1)), np.cumsum(weights, axis=1)), axis=1)
        tops = np.concatenate((np.cumsum((weights + masses)[:, ::-1], axis=1)[:, ::-1], np.zeros((_TILTS, 1))), axis=1)
        above = np.append(np.cumsum(masses[::-1])[::-1], 0.0)
        index = np.searchsorted(losses, thresholds, side="right")
        index = np.where([may_be_large(law.count, float(mass), 0) for mass in above[index]], index, losses.size)
        flat = float(np.sum(masses)) - 1.0
        body = np.log1p(np.maximum(sums[:, index] + flat - above[index], -1.0 + 1e-12))
        ratio = tops[:, index] * np.exp(-body)
        noise += UNIT_ROUNDOFF * law.count * (4.0 + 70.0 * np.sum(np.abs(weights), axis=1))
        for few in _FEW:
            alone = law.count * np.log1p(sums[:, -1:] + flat)
            parted = law.count * body + log_sum_of_few(ratio, law.count, few)
            logs[few] += parted if law.count > few else alone
            some = np.array([math.exp(min(0.0, log_missed(law.count, float(mass), few))) for mass in above[index]])
            missed[few] += some if law.count > few else 0.0
    peaks = log_kernel_peak(tilts)
    ways: list[tuple[int, Array, Array, Array]] = []
    for few in _FEW:
        with np.errstate(all="ignore"):
            above_delta = logs[few] - (tilts * epsilon)[:, None] - log_delta
            over = np.where(np.isfinite(above_delta), above_delta + peaks[:, None], np.inf)
            falls = asfloat(tilts[np.argmin(over, axis=0)])  # how fast delta falls there, in logarithms
            blur = np.exp(np.minimum(np.maximum(over, 0.0), 40.0)) * (noise + 64.0 * UNIT_ROUNDOFF)[:, None] / falls
            cost = np.where(over < _MOST_LOST, missed[few] / delta / falls + blur, np.inf)
        ways.append((few, asfloat(cost), asfloat(above_delta), falls))
    least = min(float(np.min(cost)) for _, cost, _, _ in ways)
    if not math.isfinite(least):
        return None
    goal = max(3.0 * least, 0.05 * width * min(1.0, epsilon))
    steeper = np.subtract.outer(tilts, tilts).T  # [i, j]: tilt j less tilt i
    steeper = np.where(steeper > 0.0, steeper, np.nan)[:, :, None]
    best: tuple[float, float, float, int, int] | None = None
    for few, cost, above_delta, falls in ways:
        some = np.flatnonzero(np.min(cost, axis=0) <= goal)
        if not some.size:
            continue
        with np.errstate(all="ignore"):
            beyond = (above_delta[:, some][None, :, :] - math.log(ALIAS)) / steeper
        longest = np.nanmin(np.where(np.isfinite(beyond), beyond, np.inf), axis=1, initial=np.inf)
        periods = np.where(cost[:, some] <= goal, np.maximum(longest, (-log_delta - math.log(ALIAS)) / tilts[:, None]), np.inf)
        row, column = divmod(int(np.argmin(periods)), some.size)
        shortest, at = float(periods[row, column]), int(some[column])
        if math.isfinite(shortest) and (best is None or shortest < 0.9 * best[0]):
            best = (shortest, float(falls[at]), float(tilts[row]), few, at)
    if best is None:
        return None
    period, fall, tilt, few, at = best
    period = max(period, 1e-9)
    nodes = math.sqrt(2.0 * fallen_far(tilt, period)) * period / (2.0 * math.pi)
    smoothing = max(math.sqrt(0.5 * max(1e-9, width * min(1.0, epsilon)) / (fall + 1.0)), nodes / (0.9 * MOST_NODES))
    if smoothing * smoothing * (fall + 1.0) > _COARSEST:
        return None
    return ContourChoice(
        tilt=tilt, threshold=float(thresholds[at]), few=few, cut=cut, rest=rest, period=period, smoothing=smoothing
    )


def _cut(laws: Sequence[AtomLaw], tilts: Array, epsilon: float, log_delta: float) -> tuple[float | None, float]:
    """The smallest loss from which on one loss alone makes the total larger than epsilon, but for what does not count; and the
    tilt at which that is seen. None where there is no such loss.
    """
    moments = np.zeros(tilts.size)
    with np.errstate(all="ignore"):
        for law in laws:
            falls = np.exp(np.maximum(np.multiply.outer(-1.0 - tilts, law.losses), -745.0))
            moments += law.count * np.log(falls @ law.masses)
    cuts = asfloat(epsilon * np.geomspace(1.0 + 1e-6, 40.0, 160))
    left_open = np.full((tilts.size, cuts.size), -np.inf)
    for law in laws:
        under_q = np.append(np.cumsum((law.masses * np.exp(-law.losses))[::-1])[::-1], 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            size = np.log(law.count * under_q[np.searchsorted(law.losses, cuts)])
            one = size[None, :] + moments[:, None] - np.multiply.outer(tilts, cuts) + (tilts * epsilon)[:, None]
            left_open = np.logaddexp(left_open, one)
    least = np.min(left_open, axis=0) + epsilon
    enough = np.flatnonzero((least < log_delta - _MISSED) & np.isfinite(least))
    highest = max(float(law.losses[-2]) for law in laws)
    if not enough.size or cuts[enough[0]] >= highest:
        return None, float(tilts[-1])
    place = int(enough[0])
    return float(cuts[place]), float(tilts[int(np.argmin(left_open[:, place]))])
