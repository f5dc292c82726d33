"""One likelihood ratio on a lattice of equal steps, from above and from below in convex order.

X = e^(m w - m^2/2) with w standard normal. Each cell of the lattice is spread to its ends, or gathered where tangents say
(docs/proofs/sampling.md, theorem 8); sums of independent copies keep the order.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array, asfloat
from dpkit.values import dataclass

Side = Literal["call", "put"]
"""E[(S - s)_+], or E[(s - S)_+]."""

_FAR = 16.0
"""A ratio is cut off at this number of deviations below the mean; what is cut off is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioTails:
    """P(X > x) and E[X; X > x], or those of X <= x, at points x, and bounds of their relative errors."""

    mass: Array
    mean: Array
    error: Array


def ratio_tails(ratio: float, points: Array, *, below: bool) -> RatioTails:
    """Above these points, or up to them."""
    from scipy.special import ndtr

    with np.errstate(divide="ignore"):
        logs = np.log(points)
    place = logs / ratio + 0.5 * ratio
    sign = 1.0 if below else -1.0
    finite = np.where(np.isfinite(place), place, 0.0)
    wobble = 8.0 * UNIT_ROUNDOFF * (1.0 + np.abs(finite) + ratio)
    error = 8.0 * UNIT_ROUNDOFF + 2.0 * (1.0 + np.abs(finite) + ratio) * wobble
    return RatioTails(mass=asfloat(ndtr(sign * place)), mean=asfloat(ndtr(sign * (place - ratio))), error=asfloat(error))


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioCells:
    """A law on the lattice offset + i * step, for X <= top; `lost` is P(X <= offset), for what that adds to E[(s - S)_+]."""

    masses: Array
    offset: float
    top: float
    lost: float = 0.0


def spread_cells(ratio: float, *, step: float, top: float, side: Side) -> RatioCells:
    """Each cell's mass at its two ends, its mean kept: above X in convex order."""
    cut = math.exp(-_FAR * ratio - 0.5 * ratio * ratio)
    offset = cut if cut > 4.0 * step else 0.0
    count = max(2, math.ceil((top - offset) / step))
    points = asfloat(offset + step * np.arange(count + 1))
    tails = ratio_tails(ratio, points, below=side == "put")
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
        return RatioCells(masses=cumulative[:-1] - cumulative[1:], offset=offset, top=float(points[-1]))
    share = np.clip((points[1:] * mass - mean) / step + blur, 0.0, held)
    reached = tails.mass[:-1] * (1.0 + tails.error[:-1]) + share
    reached = np.maximum.accumulate(reached)
    whole = max(float(tails.mass[-1]) * (1.0 + float(tails.error[-1])), float(reached[-1]))
    cumulative = np.concatenate(([0.0], reached, [whole]))
    lost = float(tails.mass[0]) * (1.0 + float(tails.error[0])) if offset else 0.0
    return RatioCells(masses=np.diff(cumulative), offset=offset, top=float(points[-1]), lost=lost)


def gathered_cells(ratio: float, *, step: float, top: float, side: Side) -> RatioCells:
    """Chords below the tangents at the middles between lattice points: below X in convex order."""
    offset = _lowest_mean(ratio, step)
    count = max(4, math.ceil((top - offset) / step) + 1)
    points = offset + step * np.arange(count + 1)
    edges = np.concatenate(([0.0], points + 0.5 * step))
    tails = ratio_tails(ratio, edges, below=side == "put")
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
        return RatioCells(masses=cumulative[:-1] - cumulative[1:], offset=offset, top=float(edges[-1]))
    reached = tails.mass[1:-1] * (1.0 - tails.error[1:-1]) - turn - blur
    reached = np.maximum(np.minimum.accumulate(reached[::-1])[::-1], 0.0)
    return RatioCells(masses=np.diff(np.concatenate(([0.0], reached))), offset=offset, top=float(edges[-1]))


def _lowest_mean(ratio: float, step: float) -> float:
    """A point that is at least the mean of X below half a step above it: what is there is gathered in it."""
    point = math.exp(-_FAR * ratio - 0.5 * ratio * ratio)
    for _ in range(60):
        tails = ratio_tails(ratio, asfloat([point + 0.5 * step]), below=True)
        if not tails.mass[0] > 0.0:
            return point
        mean = float(tails.mean[0] / tails.mass[0])
        if mean <= point:
            break
        point = mean
    for _ in range(200):
        tails = ratio_tails(ratio, asfloat([point + 0.5 * step]), below=True)
        if float(tails.mean[0] * (1.0 + tails.error[0])) <= point * float(tails.mass[0] * (1.0 - tails.error[0])):
            break
        point += 1e-6 * step
    return point
