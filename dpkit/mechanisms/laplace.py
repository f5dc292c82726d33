"""Laplace noise: its event and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from dpkit.core.checks import nonnegative
from dpkit.core.claims import Citation
from dpkit.core.conversions.arrow import finite
from dpkit.core.events import Event
from dpkit.core.loss_rules import LossRule
from dpkit.core.losses import ZCDP, PureDP, RenyiCurve
from dpkit.core.neighbours import EITHER
from dpkit.core.renyi_curves import broadcast_total
from dpkit.numerics.rounding import outward
from dpkit.numerics.special import Array, expm1_minus


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceEvent(Event):
    """Laplace noise; `ratio` is the L1 sensitivity over the scale b."""

    ratio: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "ratio", nonnegative(self.ratio, field="ratio", where="LaplaceEvent"))


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceCurve(RenyiCurve):
    """The exact Rényi divergence of Lap(0) and Lap(x): ln[a/(2a-1) e^((a-1)x) + (a-1)/(2a-1) e^(-ax)] / (a-1)."""

    ratio: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "ratio", nonnegative(self.ratio, field="ratio", where="LaplaceCurve"))

    def at(self, orders: Array) -> Array:
        """The curve at these orders."""
        return type(self).total((self,), (1,), orders)

    @classmethod
    def total(cls, curves: Sequence[Self], counts: Sequence[int], orders: Array) -> Array:
        """Broadcast over curves and orders, in blocks."""
        return broadcast_total(laplace_divergence, [curve.ratio for curve in curves], counts, orders)


def laplace_divergence(ratio: Array, orders: Array) -> Array:
    """Rényi divergence of Laplace noise (Mironov 2017, Proposition 6); arrays broadcast.

    The linear terms of the two exponentials cancel exactly, so the logarithm's argument is 1 + a sum of nonnegative
    second-order terms; for large arguments the first exponential is taken out.
    """
    excess = orders - 1.0
    heavy, light = orders / (2.0 * orders - 1.0), excess / (2.0 * orders - 1.0)
    rise = excess * ratio
    small = rise < 1.0
    near_ratio = np.where(small, ratio, 0.0)
    near = np.log1p(heavy * expm1_minus(excess * near_ratio) + light * expm1_minus(-orders * near_ratio))
    with np.errstate(over="ignore", under="ignore"):
        far = rise + np.log(heavy) + np.log1p(excess / orders * np.exp(-(2.0 * orders - 1.0) * ratio))
    return np.minimum(np.where(small, near, far) / excess, ratio)


def laplace_rho(ratio: float) -> float:
    """x + e^(-x) - 1, rounded up: the zCDP constant of Laplace noise (docs/proofs/tight-zcdp.md, Theorem 2).

    It is the Kullback-Leibler divergence of Lap(0) and Lap(x), the smallest rho that can hold.
    """
    value = float(expm1_minus(-ratio))
    return outward(value, magnitude=value, ulps=16.0) if ratio else 0.0


def _zcdp(event: LaplaceEvent) -> ZCDP:
    return ZCDP(rho=finite(laplace_rho(event.ratio), notion="rho"))


RULES: tuple[LossRule, ...] = (
    LossRule(
        name="laplace-pure",
        event=LaplaceEvent,
        loss=PureDP,
        neighbours=EITHER,
        because=Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: PureDP(epsilon=event.ratio),
    ),
    LossRule(
        name="laplace-zcdp",
        event=LaplaceEvent,
        loss=ZCDP,
        neighbours=EITHER,
        because=Citation(key="dpkit", locator="docs/proofs/tight-zcdp.md, Theorem 2"),
        bound=_zcdp,
    ),
    LossRule(
        name="laplace-renyi",
        event=LaplaceEvent,
        loss=LaplaceCurve,
        neighbours=EITHER,
        because=Citation(key="Mir17", locator="Proposition 6; several coordinates by docs/proofs/tight-zcdp.md, Lemma 4"),
        bound=lambda event: LaplaceCurve(ratio=event.ratio),
    ),
)
