"""Any pair on a Poisson sample, under add-remove: what is drawn from it stays a pair, and its profiles are in closed form."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array, asfloat
from dpkit.privacy.checks import checked, finite_number, instance_of
from dpkit.privacy.loss_pairs import LossDirection, LossPair
from dpkit.values import dataclass

_LARGEST = 600.0
"""e to more is not raised."""


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(
    rate=partial(finite_number, minimum=0.0, below=1.0, strict=True),
    pair=partial(instance_of, kind=LossPair, allowed="a pair without mass at infinity"),
)
class SampledPair(LossPair):
    """((1-q)Q + qP, Q) for a record more, (Q, (1-q)Q + qP) for one less: they dominate a sample of what (P, Q) dominates
    (ZDW22, Theorem 11).
    """

    rate: float
    pair: LossPair

    def forward(self) -> LossDirection:
        """A record more."""
        return _SampleJoins(rate=self.rate, inner=self.pair.forward())

    def backward(self) -> LossDirection | None:
        """A record less."""
        return _SampleLeaves(rate=self.rate, inner=self.pair.backward() or self.pair.forward())


@dataclass(frozen=True, slots=True, kw_only=True)
class _SampleJoins(LossDirection):
    """L' = ln(1 - q + q e^L): delta(epsilon) = q delta_1(ln(1 + (e^epsilon - 1)/q)), or 1 - e^epsilon below the smallest."""

    rate: float
    inner: LossDirection

    def profile(self, epsilons: Array) -> tuple[Array, Array]:
        places, possible = inner_epsilons(epsilons, self.rate)
        value, error = self.inner.profile(places)
        # the inner epsilon is rounded relatively to 1 + (e^epsilon - 1)/q, and the slope of the profile passes that on
        moved = 8.0 * UNIT_ROUNDOFF * (1.0 + np.abs(places)) * np.minimum(self.inner.slope(places) * _odds(places), 1.0)
        outer = -np.expm1(np.minimum(epsilons, 0.0))
        blur = self.rate * (error + moved + 4.0 * UNIT_ROUNDOFF * value)
        return (
            asfloat(np.where(possible, self.rate * value, outer)),
            asfloat(np.where(possible, blur, 4.0 * UNIT_ROUNDOFF * outer)),
        )

    def slope(self, epsilons: Array) -> Array:
        places, possible = inner_epsilons(epsilons, self.rate)
        return asfloat(np.where(possible, self.inner.slope(places), 1.0))

    def reach(self, tail: float) -> tuple[float, float]:
        low, high = self.inner.reach(tail)
        return sampled_loss(self.rate, low), sampled_loss(self.rate, high)

    def top(self) -> float:
        top = self.inner.top()
        return sampled_loss(self.rate, top) * (1.0 + 8.0 * UNIT_ROUNDOFF) if math.isfinite(top) else math.inf

    def atoms(self) -> tuple[float, ...]:
        return tuple(sampled_loss(self.rate, atom) for atom in self.inner.atoms())


@dataclass(frozen=True, slots=True, kw_only=True)
class _SampleLeaves(LossDirection):
    """L' = -ln(1 - q + q e^-L), at most -ln(1-q): delta(epsilon) = s delta_1(ln(q e^epsilon/s)), s = 1 - e^epsilon (1-q)."""

    rate: float
    inner: LossDirection

    def profile(self, epsilons: Array) -> tuple[Array, Array]:
        places, possible = inner_epsilons(-epsilons, self.rate)
        value, error = self.inner.profile(-places)
        moved = 1.0 + np.abs(places) + _odds(-places)
        error = error + 8.0 * UNIT_ROUNDOFF * moved * np.minimum(self.inner.slope(-places) * _odds(-places), 1.0)
        edge = math.log1p(-self.rate)
        share = np.where(possible, -np.expm1(np.minimum(epsilons + edge, 0.0)), 0.0)
        blur = np.where(possible, 8.0 * UNIT_ROUNDOFF * (np.abs(epsilons) + abs(edge) + share), 0.0)
        return asfloat(share * value), asfloat(share * error + blur * value)

    def slope(self, epsilons: Array) -> Array:
        places, possible = inner_epsilons(-epsilons, self.rate)
        under_p = self.inner.slope(-places)  # of the law whose density is sampled
        under_q = np.minimum(self.inner.profile(-places)[0] + _odds(-places) * under_p, 1.0)
        return asfloat(np.where(possible, (1.0 - self.rate) * under_q + self.rate * under_p, 0.0))

    def reach(self, tail: float) -> tuple[float, float]:
        low, high = self.inner.reach(tail)
        return -sampled_loss(self.rate, -low), -sampled_loss(self.rate, -high)

    def top(self) -> float:
        top = self.inner.top()
        edge = -math.log1p(-self.rate) if math.isinf(top) else -sampled_loss(self.rate, -top)
        return edge * (1.0 + 8.0 * UNIT_ROUNDOFF)

    def atoms(self) -> tuple[float, ...]:
        return tuple(-sampled_loss(self.rate, -atom) for atom in self.inner.atoms())


def inner_epsilons(epsilons: Array, rate: float) -> tuple[Array, np.typing.NDArray[np.bool_]]:
    """ln(1 + (e^epsilon - 1)/q), where that is a logarithm of a positive number; 0 elsewhere, with the places told."""
    possible = epsilons > math.log1p(-rate)
    safe = np.where(possible, epsilons, 0.0)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        moderate = np.log1p(np.expm1(np.minimum(safe, _LARGEST)) / rate)
        large = safe - math.log(rate)
    inner = np.where((safe > _LARGEST) | (moderate == np.inf), large, moderate)  # a tiny rate overflows before e^epsilon does
    possible = possible & np.isfinite(inner)
    return asfloat(np.where(possible, inner, 0.0)), possible


def sampled_loss(rate: float, loss: float) -> float:
    """ln(1 - q + q e^loss), to the digits that an end of a lattice needs."""
    if loss < 1.0:
        return math.log1p(rate * math.expm1(loss))
    return float(np.logaddexp(math.log1p(-rate), math.log(rate) + loss))


def _odds(epsilons: Array) -> Array:
    return asfloat(np.exp(np.minimum(epsilons, _LARGEST)))
