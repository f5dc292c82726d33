"""Gaussian noise on a Poisson sample under replace-one: the pair of one record's contribution and another's, or neither.

P = (1-q) N(0,1) + q N(s,1) and Q = (1-q) N(0,1) + q N(s-d,1): s is how far a record is from nothing, d how far two records are
apart, both over sigma. That this pair is the worst one is theorem 4 of docs/proofs/sampling.md.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial

import numpy as np

from dpkit.errors import InvalidValueError
from dpkit.mechanisms.subsampled_gaussian import SubsampledGaussianCurve
from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array, asfloat
from dpkit.privacy.checks import checked, finite_number, positive
from dpkit.privacy.loss_pairs import LossDirection, LossPair
from dpkit.privacy.losses import RenyiCurve
from dpkit.values import dataclass

_KNOTS = 4096
"""Points of the table from which the place of a loss is first guessed."""

_NEAR = 1e-6
"""A place that is off by less than this has the densities of the best one, nearly."""

_BEYOND = 45.0
"""Deviations above the larger mean beyond which nothing is left that a float could hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(rate=partial(finite_number, minimum=0.0, below=1.0, strict=True), absent=positive, ratio=positive)
class ReplacedGaussianPair(LossPair):
    """The symmetric envelope of P and Q: either record may be the one that is there.

    Its profile is H(P||Q) from epsilon = 0 on, and below it what symmetry makes of that.
    At ratio = 2 absent it is the pair itself.
    """

    rate: float
    absent: float
    ratio: float

    def __post_init__(self) -> None:
        if self.ratio > 2.0 * self.absent:
            allowed = f"at most twice the distance to an absent record, {2.0 * self.absent}"
            raise InvalidValueError(field="ratio", found=self.ratio, allowed=allowed, where="ReplacedGaussianPair")

    def forward(self) -> LossDirection:
        """Symmetric."""
        return _Replaced(rate=self.rate, absent=self.absent, ratio=self.ratio)


_SPLITS: Array = 1.0 + np.geomspace(0.25, 4.0, 7)
"""Exponents a of the triangle inequality below; each gives a bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(rate=partial(finite_number, minimum=0.0, below=1.0, strict=True), absent=positive, ratio=positive)
class ReplacedGaussianCurve(RenyiCurve):
    """Rényi divergences of one record's round from another's, by way of the round without either.

    D_order(P||Q) <= (order - 1/a)/(order - 1) D_(a order)(P||R) + D_(b (order - 1/a))(R||Q), 1/a + 1/b = 1 (Mir17, Proposition
    11), and never more than without sampling.
    """

    rate: float
    absent: float
    ratio: float

    def at(self, orders: Array) -> Array:
        """The best of many exponents a."""
        orders = np.asarray(orders, dtype=np.float64)
        alone = SubsampledGaussianCurve(rate=self.rate, ratio=self.absent)
        a = _SPLITS[:, None]
        middle = orders[None, :] - 1.0 / a
        first, second = a * orders[None, :], a / (a - 1.0) * middle
        with np.errstate(over="ignore", invalid="ignore"):
            there = alone.at(first.ravel()).reshape(first.shape) * middle / (orders[None, :] - 1.0)
            back = alone.at(np.maximum(second, 1.0 + 1e-9).ravel()).reshape(second.shape)
            found = np.min(np.where(np.isnan(there + back), np.inf, there + back), axis=0)
            whole = 0.5 * orders * self.ratio * self.ratio
        return asfloat(np.minimum(found, whole) * (1.0 + 32.0 * UNIT_ROUNDOFF))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Replaced(LossDirection):
    rate: float
    absent: float
    ratio: float

    @property
    def other(self) -> float:
        """Where the other record is."""
        return self.absent - self.ratio

    def profile(self, epsilons: Array) -> tuple[Array, Array]:
        from scipy.special import ndtr

        place, off, missed = self._place(np.abs(epsilons))
        upper = epsilons >= 0.0
        # above 0 it is P(w > place) - e^epsilon Q(w > place), below 0 Q(w < place) - e^epsilon P(w < place)
        side = np.where(upper, -1.0, 1.0)
        odds = np.exp(np.minimum(epsilons, 700.0))
        means = np.where(upper, self.absent, self.other), np.where(upper, self.other, self.absent)
        nothing, first, second = (ndtr(side * (place - mean)) for mean in (0.0, *means))
        gain = self.rate * first
        cost = self.rate * odds * second
        shared = (1.0 - self.rate) * -np.expm1(np.minimum(epsilons, 700.0)) * nothing
        value = gain - cost + shared
        # a tail moves by (1 + |t|) times what its argument t does; between the place and the best one the densities of P and
        # e^epsilon Q differ by what the loss missed, relatively
        arguments = 1.0 + np.abs(place) + self.absent + self.ratio
        wobble = UNIT_ROUNDOFF * (64.0 + 8.0 * arguments * arguments)
        between = np.where(off < _NEAR, off * self._densities(place, odds, upper), 2.0)
        error = wobble * (gain + cost + np.abs(shared)) + np.expm1(np.minimum(missed, 1.0)) * between
        value = asfloat(np.where(epsilons > 700.0, 0.0, np.clip(value, 0.0, 1.0)))
        return value, asfloat(np.where(epsilons > 700.0, gain, np.minimum(error, 1.0)) + 1e-300)

    def slope(self, epsilons: Array) -> Array:
        from scipy.special import ndtr

        place = self._place(np.abs(epsilons))[0]
        upper = epsilons >= 0.0
        side = np.where(upper, -1.0, 1.0)
        mean = np.where(upper, self.other, self.absent)
        return asfloat((1.0 - self.rate) * ndtr(side * place) + self.rate * ndtr(side * (place - mean)))

    def reach(self, tail: float) -> tuple[float, float]:
        from scipy.special import ndtri

        far = -float(ndtri(max(tail, 1e-300)))
        high = float(self._loss(asfloat([self.absent + max(far, 0.0)]))[0])
        return -high, high

    def _loss(self, places: Array) -> Array:
        """ln P/Q, which rises from 0 at the middle of both records on (docs/proofs/sampling.md, lemma 5)."""
        return _log_mixture(self.rate, self.absent, places) - _log_mixture(self.rate, self.other, places)

    def _place(self, losses: Array) -> tuple[Array, Array, Array]:
        """Where the loss is this large, how far that may be off, and by how much it is missed.

        A look-up, then Newton's steps.
        """
        knots, values = _table(self)
        place = np.interp(losses, values, knots)
        floor = knots[0]
        for _ in range(6):
            miss = self._loss(place) - losses
            step = miss / np.maximum(self._rise(place), 1e-12)
            place = np.clip(place - np.clip(step, -1.0, 1.0), floor, knots[-1])
        size = 1.0 + (np.abs(place) + self.absent + self.ratio) * (self.absent + self.ratio)
        missed = np.abs(self._loss(place) - losses) + 16.0 * UNIT_ROUNDOFF * size
        missed = np.where((place == knots[-1]) & (losses > values[-1]), 0.0, missed)  # beyond, nothing is left to be missed
        return asfloat(place), asfloat(2.0 * missed / np.maximum(self._rise(place), 1e-300)), asfloat(missed)

    def _rise(self, places: Array) -> Array:
        """The derivative of the loss."""
        return self.absent * _share(self.rate, self.absent, places) - self.other * _share(self.rate, self.other, places)

    def _densities(self, place: Array, odds: Array, upper: np.typing.NDArray[np.bool_]) -> Array:
        """The densities of P and of e^epsilon Q (or of Q and e^epsilon P) near the place, from above."""
        first, second = (_mixture_density(self.rate, mean, place) for mean in (self.absent, self.other))
        near = np.exp(np.minimum((1.0 + np.abs(place) + self.absent + self.ratio) * _NEAR, 1.0))
        return near * np.where(upper, first + odds * second, second + odds * first)


def _log_mixture(rate: float, mean: float, places: Array) -> Array:
    """ln(1 - q + q e^(mean w - mean^2/2))."""
    exponent = mean * places - 0.5 * mean * mean
    near = np.log1p(rate * np.expm1(np.minimum(exponent, 1.0)))
    return asfloat(np.where(exponent < 1.0, near, np.logaddexp(math.log1p(-rate), math.log(rate) + exponent)))


def _share(rate: float, mean: float, places: Array) -> Array:
    """What part of the mixture's density at a place is that of the record."""
    exponent = mean * places - 0.5 * mean * mean
    return asfloat(np.exp(np.minimum(math.log(rate) + exponent - _log_mixture(rate, mean, places), 0.0)))


def _mixture_density(rate: float, mean: float, places: Array) -> Array:
    apart = places - mean
    weights = (1.0 - rate) * np.exp(-0.5 * places * places) + rate * np.exp(-0.5 * apart * apart)
    return asfloat(weights / math.sqrt(2.0 * math.pi))


@lru_cache(maxsize=16)
def _table(law: _Replaced) -> tuple[Array, Array]:
    """Places from the middle of both records upwards, and the losses there, made to rise strictly."""
    middle = 0.5 * (law.absent + law.other)
    knots = np.linspace(middle, law.absent + _BEYOND, _KNOTS)
    losses = np.maximum.accumulate(law._loss(knots))
    losses[0] = 0.0
    return knots, losses + 1e-15 * np.arange(_KNOTS)
