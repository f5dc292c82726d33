"""The dominating pair of Gaussian noise on a Poisson sample, in both directions: what `pld` composes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpkit.errors import InvalidValueError
from dpkit.mechanisms.gaussian import merged_gaussian
from dpkit.mechanisms.subsampled_gaussian import SubsampledGaussianCurve
from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array, asfloat
from dpkit.privacy.checks import finite_number, nonnegative
from dpkit.privacy.claims import Citation
from dpkit.privacy.conversions.gaussian import gaussian_profile
from dpkit.privacy.events import Subsample
from dpkit.privacy.gaussian_pair import GaussianPair
from dpkit.privacy.loss_pairs import LossDirection, LossPair
from dpkit.privacy.neighbours import Neighbours
from dpkit.privacy.rules import LossRule

_HOPELESS = 100.0
"""Noise so small beside the sensitivity protects nobody, sampled or not, and would overflow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsampledGaussianPair(LossPair):
    """P = (1-q) N(0,1) + q N(ratio,1) against Q = N(0,1); `backward` is Q against P."""

    rate: float
    ratio: float

    def __post_init__(self) -> None:
        where = "SubsampledGaussianPair"
        rate = finite_number(self.rate, field="rate", where=where, minimum=0.0, below=1.0, strict=True)
        object.__setattr__(self, "rate", rate)
        ratio = nonnegative(self.ratio, field="ratio", where=where)
        if ratio == 0.0:
            raise InvalidValueError(field="ratio", found=self.ratio, allowed="a number > 0", where=where)
        object.__setattr__(self, "ratio", ratio)

    def forward(self) -> LossDirection:
        """A record more."""
        return _Joining(rate=self.rate, ratio=self.ratio)

    def backward(self) -> LossDirection | None:
        """A record less."""
        return _Leaving(rate=self.rate, ratio=self.ratio)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Joining(LossDirection):
    """L = ln(1 - q + q e^(m w - m^2/2)): delta(epsilon) = q delta_G(ln(1 + (e^epsilon - 1)/q)) (BBG18, Theorem 8)."""

    rate: float
    ratio: float

    def profile(self, epsilons: Array) -> tuple[Array, Array]:
        inner, possible = _inner(epsilons, self.rate)
        value, error = gaussian_profile(self.ratio, inner)
        # the inner epsilon is rounded relatively to 1 + (e^epsilon - 1)/q, and the slope of the profile passes that on
        wobble = np.where(inner > 0.0, (1.0 + np.abs(inner)) * _steepness(self.ratio, inner), 1.0)
        error = error + 8.0 * UNIT_ROUNDOFF * wobble
        outer = -np.expm1(np.minimum(epsilons, 0.0))
        return (
            asfloat(np.where(possible, self.rate * value, outer)),
            asfloat(
                np.where(possible, self.rate * error + 4.0 * UNIT_ROUNDOFF * self.rate * value, 4.0 * UNIT_ROUNDOFF * outer)
            ),
        )

    def slope(self, epsilons: Array) -> Array:
        from scipy.special import ndtr

        inner, possible = _inner(epsilons, self.rate)
        with np.errstate(over="ignore"):
            return asfloat(np.where(possible, ndtr(-(inner / self.ratio + self.ratio / 2.0)), 1.0))

    def real_log_moment(self, tilts: Array) -> Array:
        return _moment_bound(self.rate, self.ratio, tilts)

    def reach(self, tail: float) -> tuple[float, float]:
        from scipy.special import ndtri

        far = -float(ndtri(max(tail, 1e-300)))
        return _loss_at(self.rate, self.ratio, -far), _loss_at(self.rate, self.ratio, self.ratio + far)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Leaving(LossDirection):
    """L = -ln(1 - q + q e^(m w - m^2/2)) under N(0,1): at most -ln(1-q)."""

    rate: float
    ratio: float

    def profile(self, epsilons: Array) -> tuple[Array, Array]:
        inner, possible = _inner(-epsilons, self.rate)
        value, error = gaussian_profile(self.ratio, -inner)
        with np.errstate(over="ignore"):
            moved = 1.0 + np.abs(inner) + np.exp(np.minimum(-inner, 300.0))
        error = error + 8.0 * UNIT_ROUNDOFF * moved * _steepness(self.ratio, -inner)
        edge = math.log1p(-self.rate)
        share = np.where(possible, -np.expm1(np.minimum(epsilons + edge, 0.0)), 0.0)
        blur = np.where(possible, 8.0 * UNIT_ROUNDOFF * (np.abs(epsilons) + abs(edge) + share), 0.0)
        return asfloat(share * value), asfloat(share * error + blur * value)

    def slope(self, epsilons: Array) -> Array:
        from scipy.special import ndtr

        inner, possible = _inner(-epsilons, self.rate)
        with np.errstate(over="ignore"):
            edge = inner / self.ratio + self.ratio / 2.0
        inside = (1.0 - self.rate) * ndtr(edge) + self.rate * ndtr(edge - self.ratio)
        return asfloat(np.where(possible, inside, 0.0))

    def real_log_moment(self, tilts: Array) -> Array:
        return _moment_bound(self.rate, self.ratio, tilts)  # the smaller direction (MTZ19, Theorem 5)

    def reach(self, tail: float) -> tuple[float, float]:
        from scipy.special import ndtri

        far = -float(ndtri(max(tail, 1e-300)))
        return -_loss_at(self.rate, self.ratio, far), -_loss_at(self.rate, self.ratio, -far)

    def top(self) -> float:
        return -math.log1p(-self.rate) * (1.0 + 4.0 * UNIT_ROUNDOFF)


def _loss_at(rate: float, ratio: float, place: float) -> float:
    """ln(1 - q + q e^(m w - m^2/2)), to the digits that an end of a lattice needs."""
    exponent = ratio * place - 0.5 * ratio * ratio
    if exponent < 1.0:
        return math.log1p(rate * math.expm1(exponent))
    return float(np.logaddexp(math.log1p(-rate), math.log(rate) + exponent))


def _moment_bound(rate: float, ratio: float, tilts: Array) -> Array:
    """tilt times the Rényi divergence at order tilt + 1; both directions ask for the same tilts, and are answered once."""
    return asfloat(moment_bound_at(rate, ratio, tuple(tilts.tolist())))


@lru_cache(maxsize=64)
def moment_bound_at(rate: float, ratio: float, tilts: tuple[float, ...]) -> tuple[float, ...]:
    """The same for hashable tilts, remembered."""
    usable = [tilt for tilt in tilts if 1.0 + tilt > 1.0]
    if not usable:
        return (math.inf,) * len(tilts)
    divergences = SubsampledGaussianCurve(rate=rate, ratio=ratio).at(1.0 + np.array(usable))
    found = dict(zip(usable, (np.array(usable) * divergences).tolist(), strict=True))
    return tuple(found.get(tilt, math.inf) for tilt in tilts)


def _steepness(ratio: float, epsilons: Array) -> Array:
    """-d delta_G / d epsilon = e^epsilon Phi(-epsilon/m - m/2)."""
    from scipy.special import log_ndtr

    with np.errstate(over="ignore"):
        return asfloat(np.exp(np.minimum(epsilons + log_ndtr(-epsilons / ratio - ratio / 2.0), 0.0)))


def _inner(epsilons: Array, rate: float) -> tuple[Array, np.typing.NDArray[np.bool_]]:
    """ln(1 + (e^epsilon - 1)/q), where that is a logarithm of a positive number; 0 elsewhere, with the places told."""
    possible = epsilons > math.log1p(-rate)
    safe = np.where(possible, epsilons, 0.0)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        moderate = np.log1p(np.expm1(np.minimum(safe, 600.0)) / rate)
        large = safe - math.log(rate)
    inner = np.where(safe > 600.0, large, moderate)
    possible = possible & np.isfinite(inner)
    return asfloat(np.where(possible, inner, 0.0)), possible


def _pair(event: Subsample) -> LossPair | None:
    inner = merged_gaussian(event.event)
    if inner is None or event.rate == 0.0 or inner.ratio == 0.0:
        return None
    if event.rate == 1.0 or inner.ratio > _HOPELESS:
        return GaussianPair(mu=inner.ratio)  # a sample is never worse than the whole: profiles are convex in the pair
    return SubsampledGaussianPair(rate=event.rate, ratio=inner.ratio)


def _attained(event: Subsample) -> bool:
    """By a single record; not where the whole stands for the sample."""
    inner = merged_gaussian(event.event)
    return inner is not None and inner.ratio <= _HOPELESS


RULES: tuple[LossRule, ...] = (
    LossRule(
        name="subsampled-gaussian-pair",
        event=Subsample,
        loss=LossPair,
        neighbours=(Neighbours.ADD_REMOVE,),
        because=Citation(key="ZDW22", locator="dominating pairs of Poisson sampling; the profiles of BBG18, Theorem 8"),
        bound=_pair,
        attained=_attained,
    ),
)
