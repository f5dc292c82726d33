"""The exact pair of Wishart noise: Gamma(a, 1) against tau + Gamma(a, 1), in both directions (docs/proofs/wishart.md)."""

from __future__ import annotations

import math

import numpy as np

from dpkit import LossDirection, LossPair
from dpkit.authoring import Array, asfloat, dataclass, finite_number, nonnegative

EVALUATION = 1e-12
"""A relative error that covers scipy's incomplete gamma functions, tested against mpmath for a up to `LARGEST_SHAPE`."""

LARGEST_SHAPE = 50_000.0
"""More degrees of freedom are priced as these: they add independent noise, so they are never worse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GammaPair(LossPair):
    """P: a record more, tau + Gamma(a); Q: without it, Gamma(a). Q has mass F_a(tau) where P has none."""

    a: float
    tau: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", finite_number(self.a, field="a", where="GammaPair", minimum=1.0))
        object.__setattr__(self, "tau", nonnegative(self.tau, field="tau", where="GammaPair"))

    def forward(self) -> LossDirection:
        """A record more: the loss is bounded by tau."""
        return Present(a=self.a, tau=self.tau)

    def backward(self) -> LossDirection | None:
        """A record less: what proves its absence is at infinity."""
        return Absent(a=self.a, tau=self.tau)

    @property
    def infinity(self) -> float:
        """F_a(tau): the probability that the output is impossible with the record."""
        return floor(self.a, self.tau)

    @property
    def balanced(self) -> bool:
        """Only one direction has mass at infinity."""
        return self.tau == 0.0

    @property
    def strength(self) -> float | None:
        """Zero where nothing moves; pairs of different `a` have no order."""
        return 0.0 if self.tau == 0.0 else None


def floor(a: float, tau: float) -> float:
    """F_a(tau), rounded up: no epsilon brings delta below it. It is never zero but where nothing moves."""
    from scipy.special import gammainc

    if tau == 0.0:
        return 0.0
    return min(1.0 - 2.0**-53, max(float(gammainc(a, tau)) * (1.0 + EVALUATION), 1e-300))


@dataclass(frozen=True, slots=True, kw_only=True)
class Present(LossDirection):
    """L = tau - (a - 1) ln(g / (g - tau)) for g = tau + Gamma(a): delta = S_a(x - tau) - e^epsilon S_a(x)."""

    a: float
    tau: float

    def profile(self, epsilons: Array) -> tuple[Array, Array]:
        """Zero from tau on."""
        mine, other = self.tails(epsilons)
        scaled = weighted(epsilons, other)
        return asfloat(np.maximum(mine - scaled, 0.0)), asfloat(EVALUATION * (mine + scaled))

    def slope(self, epsilons: Array) -> Array:
        """S_a(x)."""
        return self.tails(epsilons)[1]

    def tails(self, epsilons: Array) -> tuple[Array, Array]:
        """P(L > epsilon) and Q(L > epsilon)."""
        from scipy.special import gammaincc

        point = threshold(self.tau - epsilons, self.a, self.tau)
        below = epsilons < self.tau
        mine = np.where(below, gammaincc(self.a, np.maximum(point - self.tau, 0.0)), 0.0)
        return asfloat(mine), asfloat(np.where(below, gammaincc(self.a, point), 0.0))

    def reach(self, tail: float) -> tuple[float, float]:
        """Quantiles of the Gamma law."""
        from scipy.special import gammaincinv

        low = max(float(gammaincinv(self.a, max(tail, 1e-300))) * (1.0 - 1e-9), 1e-300)
        return self.tau - (self.a - 1.0) * math.log1p(self.tau / low), self.tau

    def top(self) -> float:
        """Tau."""
        return self.tau


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent(LossDirection):
    """L = (a - 1) ln(g / (g - tau)) - tau for g = Gamma(a) above tau, as a law of its own: what is below tau is at infinity."""

    a: float
    tau: float

    def profile(self, epsilons: Array) -> tuple[Array, Array]:
        """(F_a(x) - F_a(tau) - e^epsilon F_a(x - tau)) / (1 - F_a(tau))."""
        mine, other = self.tails(epsilons)
        scaled = weighted(epsilons, other)
        value, left = np.maximum(mine - scaled, 0.0), self._left()
        return asfloat(value / left), asfloat(EVALUATION * (mine + scaled + self._impossible()) / left)

    def slope(self, epsilons: Array) -> Array:
        """F_a(x - tau) / (1 - F_a(tau))."""
        return asfloat(self.tails(epsilons)[1] / self._left())

    def tails(self, epsilons: Array) -> tuple[Array, Array]:
        """P(epsilon < L < infinity) and Q(L > epsilon), not normalised."""
        from scipy.special import gammainc

        point = threshold(epsilons + self.tau, self.a, self.tau)
        mine = np.maximum(gammainc(self.a, point) - self._impossible(), 0.0)
        other = gammainc(self.a, np.maximum(point - self.tau, 0.0))
        everything = epsilons <= -self.tau
        return asfloat(np.where(everything, 1.0 - self._impossible(), mine)), asfloat(np.where(everything, 1.0, other))

    def _impossible(self) -> float:
        from scipy.special import gammainc

        return float(gammainc(self.a, self.tau))

    def _left(self) -> float:
        return max(1.0 - self._impossible(), 2.0**-53)

    def reach(self, tail: float) -> tuple[float, float]:
        """From -tau to where the density of g just above tau leaves no more mass than this."""
        from scipy.special import gammaln

        peak = max(self.a - 1.0, self.tau)
        constant = float(gammaln(self.a))

        def log_mass(gap: float) -> float:  # an upper bound of ln P(tau < g < tau + gap): the density rises up to its peak
            at = min(self.tau + gap, peak)
            return (self.a - 1.0) * math.log(at) - at - constant + math.log(gap) if at > 0.0 else -math.inf

        goal = math.log(max(tail, 1e-300)) + math.log1p(-min(self._impossible(), 1.0 - 1e-12))
        low, high = -745.0, math.log(self.a + self.tau + 1.0)
        for _ in range(80):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if log_mass(math.exp(middle)) <= goal else (low, middle)
        return -self.tau, (self.a - 1.0) * math.log1p(self.tau / math.exp(low)) - self.tau


def threshold(gaps: Array, a: float, tau: float) -> Array:
    """x = tau / (1 - e^(-gap / (a - 1))), where the loss crosses; tau itself at a = 1; far away where no gap is left."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        share = -np.expm1(-gaps / (a - 1.0)) if a > 1.0 else np.ones_like(gaps)
        return asfloat(np.where(gaps > 0.0, np.minimum(tau / share, 1e300), 1e300))


def weighted(epsilons: Array, masses: Array) -> Array:
    """e^epsilon times a mass, without overflow: the product never exceeds one where it matters."""
    with np.errstate(divide="ignore"):
        return asfloat(np.exp(np.minimum(epsilons + np.log(masses), 1.0)))
