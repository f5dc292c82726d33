"""Gaussian noise: the mechanism, its event and what it costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dpkit.mechanisms import mechanism_base
from dpkit.numerics.noise.exact_rounding import GAUSSIAN, NoiseLaw
from dpkit.numerics.rounding import exact_sum, round_up, sqrt_up
from dpkit.privacy.checks import checked, nonnegative, or_none
from dpkit.privacy.claims import Claim, LossRule, always, finite, rule
from dpkit.privacy.events import Compose, Event, Repeat, flatten
from dpkit.privacy.losses import GDP, ZCDP, LinearCurve, MeanCDP, RenyiCurve
from dpkit.privacy.neighbours import Distance, Neighbours
from dpkit.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
@checked(ratio=nonnegative, absent=or_none(nonnegative))
class GaussianEvent(Event):
    """Gaussian noise; `ratio` is the L2 sensitivity over the standard deviation sigma.

    `absent` is how far a record's contribution may be from that of an absent one, over sigma: R/sigma where contributions lie
    in a ball of radius R around zero (and are then at most 2R apart). Samples under replace-one ask for it: contributions
    between 10 and 11 are 1 apart, and 11 from nothing. Under add-remove the larger of both counts.
    """

    cheaper_below: ClassVar[tuple[str, ...]] = ("ratio",)

    ratio: float
    absent: float | None = None

    def states_absence(self) -> bool:
        """Where `absent` is given."""
        return self.absent is not None

    def under_add_remove(self) -> GaussianEvent:
        """At `absent`, where that is farther: a `ratio` of replaced records says nothing of one that comes or goes."""
        return self if self.absent is None or self.absent <= self.ratio else replace(self, ratio=self.absent)


def gaussian_rho(ratio: float) -> float:
    """ratio^2 / 2, rounded up once (BS16, Proposition 1.6)."""
    return finite(round_up(Fraction(ratio) ** 2 / 2), notion="rho")


def merged_gaussian(event: Event) -> GaussianEvent | None:
    """A composition of Gaussian events alone as the one Gaussian that it is (DRS22, Corollary 2); None for anything else."""
    if not isinstance(event, GaussianEvent | Repeat | Compose):
        return None
    counts = flatten(event)
    leaves = [(leaf, n) for leaf, n in counts.items() if isinstance(leaf, GaussianEvent)]
    if len(leaves) != len(counts):
        return None
    ratio = finite(sqrt_up(exact_sum((Fraction(leaf.ratio) ** 2, n) for leaf, n in leaves)), notion="ratio")
    absent = [(Fraction(leaf.absent) ** 2, n) for leaf, n in leaves if leaf.absent is not None]
    if len(absent) < len(leaves):
        return GaussianEvent(ratio=ratio)
    return GaussianEvent(ratio=ratio, absent=finite(sqrt_up(exact_sum(absent)), notion="ratio"))


RULES: tuple[LossRule, ...] = (
    rule("gaussian-gdp", GaussianEvent, GDP, ("DRS22", "Theorem 1"), lambda event: GDP(mu=event.ratio), attained=always),
    rule("gaussian-zcdp", GaussianEvent, ZCDP, ("BS16", "Proposition 1.6"), lambda event: ZCDP(rho=gaussian_rho(event.ratio))),
    rule(
        "gaussian-mean-cdp",
        GaussianEvent,
        MeanCDP,
        ("DR16", "Theorem 3.2: the loss is N(ratio^2/2, ratio^2)"),
        lambda event: MeanCDP(mu=gaussian_rho(event.ratio), tau=event.ratio),
    ),
    rule(
        "gaussian-renyi",
        GaussianEvent,
        RenyiCurve,
        ("Mir17", "Proposition 7"),
        lambda event: LinearCurve(slope=gaussian_rho(event.ratio)),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaussian(mechanism_base.RoundedNoise):
    """value + Gaussian noise of standard deviation `scale`, in every entry, exactly rounded to a grid set by the scale."""

    law: ClassVar[NoiseLaw] = GAUSSIAN
    rules: ClassVar[tuple[LossRule, ...]] = RULES
    metric: ClassVar[str] = "l2"
    other_metrics: ClassVar[tuple[str, ...]] = ("frobenius", "l1")  # the same on matrices, and a bound of it

    def claims(self, at: Distance | Sequence[Distance], neighbours: Neighbours = Neighbours.ADD_REMOVE) -> tuple[Claim, ...]:
        """Gaussian, zCDP and Rényi claims."""
        return lasting_claims(self.event(at), neighbours=neighbours)

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """ln density of the unrounded output, summed over the entries of the value."""
        center = np.asarray(value, dtype=np.float64)
        z = (np.asarray(output, dtype=np.float64) - center) / self.scale
        return mechanism_base.summed_over_value(-0.5 * z * z - math.log(self.scale * math.sqrt(2.0 * math.pi)), center.ndim)

    def accuracy(self, shape: Sequence[int] | int, confidence: float) -> float:
        """The largest absolute error over the shape at this confidence: exact for independent entries, rounding to the grid
        included. Beyond 2**53 grid steps a float64 cannot hold the answer, and its own rounding comes on top.
        """
        return gaussian_accuracy(self.scale, mechanism_base.entries(shape), confidence) + self.grid / 2.0

    def combined_accuracy(self, norm: float, count: int, confidence: float, *, entries: int) -> float:
        """As if the combinations were independent, by Sidak's inequality; rounding adds half a step for each entry."""
        return gaussian_accuracy(self.scale, count, confidence) * norm + norm * math.sqrt(entries) * self.grid / 2.0


def lasting_claims(event: Event, *, neighbours: Neighbours) -> tuple[Claim, ...]:
    """No mean-concentrated claim: it would not survive the rounding."""
    return mechanism_base.claims_of(event, [rule for rule in RULES if rule.loss is not MeanCDP], neighbours=neighbours)


def gaussian_accuracy(scale: float, count: int, confidence: float) -> float:
    """t with P(all of `count` independent N(0, scale^2) are within t) = confidence, rounded up."""
    log_tail = mechanism_base.log_tail(count, confidence) - math.log(2.0)
    if (
        -690.0 < log_tail < 0.0
    ):  # the tail is a float: Python's own quantile (Wichura's AS241, 16 digits) costs no import of scipy
        from statistics import NormalDist

        return -scale * NormalDist().inv_cdf(math.exp(log_tail)) * (1.0 + 1e-12)
    from scipy.special import ndtri_exp

    return -scale * float(ndtri_exp(log_tail)) * (1.0 + 1e-12)
