"""Gaussian noise on batches that are not plain Poisson samples: of a fixed size, cut to a largest one, under replace-one.

The theorems are in docs/proofs/sampling.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import numpy as np

from dpkit.mechanisms.gaussian import merged_gaussian
from dpkit.mechanisms.replaced_records import ReplacedGaussianCurve, ReplacedGaussianPair
from dpkit.mechanisms.subsampled_gaussian import HOPELESS, SubsampledGaussianCurve, SubsampledGaussianPair
from dpkit.numerics.rounding import SMALLEST, UNIT_ROUNDOFF, round_up
from dpkit.numerics.special import Array, asfloat
from dpkit.privacy.checks import checked, instance_of, probability
from dpkit.privacy.claims import LossRule, rule
from dpkit.privacy.events import FixedBatch, Subsample
from dpkit.privacy.gaussian_dp import GaussianPair
from dpkit.privacy.loss_pairs import LossDirection, LossPair
from dpkit.privacy.losses import LinearCurve, RenyiCurve
from dpkit.privacy.neighbours import Neighbours
from dpkit.values import dataclass

_BINOMIAL_MARGIN = 1.0 + 1e-9
"""A binomial tail is off by less, relatively."""

_LARGEST_POPULATION = 10**15
"""With more, the arguments of that tail are no floats any more: every sample is taken to be cut."""

_CURVE = partial(instance_of, kind=RenyiCurve, allowed="a Rényi curve")
_PAIR = partial(instance_of, kind=LossPair, allowed="a LossPair")


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(weight=probability, usual=_PAIR, seldom=_PAIR)
class EitherPair(LossPair):
    """The pair `seldom` with probability `weight`, else `usual`, and it is told which: profiles are weighted means."""

    weight: float
    usual: LossPair
    seldom: LossPair

    def forward(self) -> LossDirection:
        """Both forward."""
        return _Either(weight=self.weight, usual=self.usual.forward(), seldom=self.seldom.forward())

    def backward(self) -> LossDirection | None:
        """Both backward, where one of them has another direction."""
        usual, seldom = self.usual.backward(), self.seldom.backward()
        if usual is None and seldom is None:
            return None
        return _Either(weight=self.weight, usual=usual or self.usual.forward(), seldom=seldom or self.seldom.forward())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Either(LossDirection):
    weight: float
    usual: LossDirection
    seldom: LossDirection

    def profile(self, epsilons: Array) -> tuple[Array, Array]:
        (one, error), (other, blur) = self.usual.profile(epsilons), self.seldom.profile(epsilons)
        value = self._mean(one, other)
        return value, self._mean(error, blur) + 4.0 * UNIT_ROUNDOFF * value

    def slope(self, epsilons: Array) -> Array:
        return self._mean(self.usual.slope(epsilons), self.seldom.slope(epsilons))

    def reach(self, tail: float) -> tuple[float, float]:
        (low, high), (lower, higher) = self.usual.reach(tail), self.seldom.reach(min(0.5, tail / max(self.weight, SMALLEST)))
        return min(low, lower), max(high, higher)

    def top(self) -> float:
        return max(self.usual.top(), self.seldom.top())

    def real_log_moment(self, tilts: Array) -> Array | None:
        one, other = self.usual.real_log_moment(tilts), self.seldom.real_log_moment(tilts)
        return None if one is None or other is None else _log_mean(self.weight, one, other)

    def _mean(self, one: Array, other: Array) -> Array:
        return asfloat((1.0 - self.weight) * one + self.weight * other)


def _log_mean(weight: float, one: Array, other: Array) -> Array:
    """ln((1 - w) e^one + w e^other), rounded up, for other >= one."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        excess = np.where(np.isfinite(one), np.log1p(weight * np.expm1(np.minimum(other - one, 700.0))), math.inf)
        excess = np.where(other - one < 700.0, excess, other - one)
        return asfloat((one + excess) * (1.0 + 8.0 * UNIT_ROUNDOFF) + SMALLEST)


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(weight=probability, usual=_CURVE, seldom=_CURVE)
class EitherCurve(RenyiCurve):
    """The Rényi curve of that pair: moments are weighted means."""

    weight: float
    usual: RenyiCurve
    seldom: RenyiCurve

    def at(self, orders: Array) -> Array:
        """At these orders, `seldom` being the larger one."""
        excess = np.asarray(orders, dtype=np.float64) - 1.0
        one, other = excess * self.usual.at(orders), excess * self.seldom.at(orders)
        return asfloat(_log_mean(self.weight, one, np.maximum(one, other)) / excess * (1.0 + 8.0 * UNIT_ROUNDOFF))


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(curve=_CURVE)
class EnvelopeCurve(RenyiCurve):
    """A pair that is dominated in both directions by one curve, made symmetric: its moments are below 2M - 1."""

    curve: RenyiCurve

    def at(self, orders: Array) -> Array:
        """ln(2M - 1)/(order - 1), M being the moment at this order."""
        excess = np.asarray(orders, dtype=np.float64) - 1.0
        with np.errstate(over="ignore"):
            moment = excess * self.curve.at(orders)
            near = np.log1p(2.0 * np.expm1(np.minimum(moment, 600.0)))
        value = np.where(moment < 600.0, near, moment + math.log(2.0))
        return asfloat(value / excess * (1.0 + 16.0 * UNIT_ROUNDOFF) + SMALLEST)


def _batch_rate(event: FixedBatch) -> float:
    return round_up(Fraction(event.size, event.population))


def _batch_pair(event: FixedBatch) -> LossPair | None:
    """Priced under replace-one, where `pld` makes it symmetric before it is composed."""
    inner = merged_gaussian(event.event)
    if inner is None:
        return None
    return _sampled_pair(_batch_rate(event), inner.ratio)


def _batch_curve(event: FixedBatch) -> RenyiCurve | None:
    inner = merged_gaussian(event.event)
    return None if inner is None else EnvelopeCurve(curve=SubsampledGaussianCurve(rate=_batch_rate(event), ratio=inner.ratio))


def _sampled_pair(rate: float, ratio: float) -> LossPair:
    """A sample is never worse than the whole, which stands for it where a sample protects nobody."""
    whole = rate >= 1.0 or ratio > HOPELESS or ratio == 0.0
    return GaussianPair(mu=ratio) if whole else SubsampledGaussianPair(rate=rate, ratio=ratio)


def cut_share(event: Subsample) -> float:
    """How often the other records alone fill the largest batch: P(Bin(population - 1, rate) >= at_most), rounded up."""
    from scipy.special import betainc

    if event.at_most is None or event.population is None:
        return 0.0
    if event.at_most == 0:
        return 1.0
    others = event.population - 1
    if event.at_most > others:
        return 0.0
    if others > _LARGEST_POPULATION:
        return 1.0
    tail = float(betainc(float(event.at_most), float(others - event.at_most + 1), event.rate))
    return min(1.0, tail * _BINOMIAL_MARGIN + 1e-300)


def _cut_pair(event: Subsample) -> LossPair | None:
    inner = merged_gaussian(event.event)
    if event.at_most is None or inner is None:
        return None
    if inner.ratio == 0.0:
        return GaussianPair(mu=0.0)
    usual, seldom = (_sampled_pair(event.rate, times * inner.ratio) for times in (1.0, 2.0))
    return EitherPair(weight=cut_share(event), usual=usual, seldom=seldom)


def _cut_curve(event: Subsample) -> RenyiCurve | None:
    inner = merged_gaussian(event.event)
    if event.at_most is None or inner is None:
        return None
    usual, seldom = (SubsampledGaussianCurve(rate=event.rate, ratio=times * inner.ratio) for times in (1.0, 2.0))
    return EitherCurve(weight=cut_share(event), usual=usual, seldom=seldom)


def _replaced_pair(event: Subsample) -> LossPair | None:
    inner = merged_gaussian(event.event)
    if inner is None or inner.absent is None:
        return None
    if inner.ratio == 0.0 or inner.absent == 0.0:
        return GaussianPair(mu=0.0)  # no two records, or none and an absent one, are apart
    usual = _replaced(event.rate, inner.absent, inner.ratio)
    if event.at_most is None:
        return usual
    # a batch that is full anyway loses another record for this one: the distance to that is up to twice as far
    return EitherPair(weight=cut_share(event), usual=usual, seldom=_replaced(event.rate, 2.0 * inner.absent, inner.ratio))


def _replaced_curve(event: Subsample) -> RenyiCurve | None:
    inner = merged_gaussian(event.event)
    if inner is None or inner.absent is None or not 0.0 < event.rate < 1.0:
        return None
    if inner.ratio == 0.0 or inner.absent == 0.0:
        return LinearCurve(slope=0.0)
    ratio = min(inner.ratio, 2.0 * inner.absent)
    usual = ReplacedGaussianCurve(rate=event.rate, absent=inner.absent, ratio=ratio)
    if event.at_most is None:
        return usual
    seldom = ReplacedGaussianCurve(rate=event.rate, absent=2.0 * inner.absent, ratio=ratio)
    return EitherCurve(weight=cut_share(event), usual=usual, seldom=seldom)


def _replaced(rate: float, absent: float, ratio: float) -> LossPair:
    ratio = min(ratio, 2.0 * absent)  # the triangle inequality
    if rate >= 1.0 or max(absent, ratio) > HOPELESS:
        return GaussianPair(mu=ratio)
    return ReplacedGaussianPair(rate=rate, absent=absent, ratio=ratio)


def _ball(event: Subsample) -> bool:
    """Attained where two records may lie on opposite sides of an absent one."""
    inner = merged_gaussian(event.event)
    if inner is None or inner.absent is None or event.at_most is not None:
        return False
    return inner.ratio >= 2.0 * inner.absent and inner.ratio <= HOPELESS


_REPLACE = (Neighbours.REPLACE_ONE,)
_PROOF = "docs/proofs/sampling.md"

RULES: tuple[LossRule, ...] = (
    rule(
        "fixed-batch-gaussian-pair",
        FixedBatch,
        LossPair,
        ("ZDW22", f"Proposition 30, composed by its symmetric envelope: {_PROOF}, theorem 3"),
        _batch_pair,
        neighbours=_REPLACE,
    ),
    rule(
        "fixed-batch-gaussian-renyi",
        FixedBatch,
        RenyiCurve,
        ("ZDW22", f"Proposition 30, the moments of its symmetric envelope: {_PROOF}, theorem 3"),
        _batch_curve,
        neighbours=_REPLACE,
    ),
    rule(
        "poisson-gaussian-replaced-pair",
        Subsample,
        LossPair,
        ("dpkit", f"{_PROOF}, theorems 4 and 6"),
        _replaced_pair,
        neighbours=_REPLACE,
        attained=_ball,
    ),
    rule(
        "poisson-gaussian-replaced-renyi",
        Subsample,
        RenyiCurve,
        ("Mir17", f"Proposition 11, by way of the absent record: {_PROOF}, theorem 9"),
        _replaced_curve,
        neighbours=_REPLACE,
    ),
    rule(
        "cut-sample-gaussian-pair",
        Subsample,
        LossPair,
        ("dpkit", f"{_PROOF}, theorem 6"),
        _cut_pair,
        neighbours=(Neighbours.ADD_REMOVE,),
    ),
    rule(
        "cut-sample-gaussian-renyi",
        Subsample,
        RenyiCurve,
        ("dpkit", f"{_PROOF}, theorem 6"),
        _cut_curve,
        neighbours=(Neighbours.ADD_REMOVE,),
    ),
)
