"""Wishart noise on second-moment matrices: the mechanism with its exact price, its events and loss rules."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dpkit import Citation, Claim, Distance, Event, LossRule, Neighbours, authoring
from dpkit.authoring import EITHER, dataclass, nonnegative, whole_number
from dpkit_irls.wishart.gamma_pair import LARGEST_SHAPE, GammaPair
from dpkit_irls.wishart.sampler import noisy_matrices, wishart_log_density
from dpkit_irls.wishart.swap_pair import SwapPair

ASSUMING = (*authoring.ASSUMING, "real arithmetic: the noise is drawn in floating point, then rounded to a grid")
PROOF = "docs/proofs/wishart.md"


def swap(value: float) -> Distance:
    """A change by c v v' - c' w w' with unit vectors v, w and c, c' from 0 to `value`: what replacing a record does."""
    return Distance(metric="swap", value=value)


@dataclass(frozen=True, slots=True, kw_only=True)
class WishartEvent(Event):
    """A change by c v v'; `extra` is k - d, `tau` is c over twice the scale."""

    extra: int
    tau: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "extra", whole_number(self.extra, field="extra", where="WishartEvent", minimum=1))
        object.__setattr__(self, "tau", nonnegative(self.tau, field="tau", where="WishartEvent"))


@dataclass(frozen=True, slots=True, kw_only=True)
class WishartSwapEvent(Event):
    """A change by c v v' - c' w w', each of c, c' at most 2 scale tau."""

    extra: int
    tau: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "extra", whole_number(self.extra, field="extra", where="WishartSwapEvent", minimum=1))
        object.__setattr__(self, "tau", nonnegative(self.tau, field="tau", where="WishartSwapEvent"))


def _shape(extra: int) -> float:
    """a = (k - d + 1)/2, or the largest that the evaluation is tested for: noise that is left out of a price can only help."""
    return min((extra + 1) / 2.0, LARGEST_SHAPE)


RULES: tuple[LossRule, ...] = (
    LossRule(
        name="wishart-pair",
        event=WishartEvent,
        loss=GammaPair,
        neighbours=EITHER,
        because=Citation(key="dpkit", locator=f"{PROOF}, Theorem 1"),
        bound=lambda event: GammaPair(a=_shape(event.extra), tau=event.tau),
    ),
    LossRule(
        name="wishart-swap-pair",
        event=WishartSwapEvent,
        loss=SwapPair,
        neighbours=EITHER,
        because=Citation(key="dpkit", locator=f"{PROOF}, Theorem 2"),
        bound=lambda event: SwapPair(a=_shape(event.extra), tau=event.tau) if event.extra > 1 else None,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishart:
    """value + Z Z' with Z of shape (d, d + extra), entries N(0, scale). Never pure: with probability F_a(tau) an absence shows.

    Degrees of freedom are k = d + `extra`, for a matrix of d rows; the price depends on `extra` alone, not on d.
    The noise is drawn in floating point and the sum rounded to a grid set by the scale; the claims say so.
    """

    extra: int
    scale: float

    def __post_init__(self) -> None:
        from dpkit.authoring import checked_scale

        object.__setattr__(self, "scale", checked_scale(self.scale, where="Wishart"))
        object.__setattr__(self, "extra", whole_number(self.extra, field="extra", where="Wishart", minimum=1))

    @classmethod
    def of(cls, *, k: int, size: int, scale: float) -> Wishart:
        """With k degrees of freedom in all, for matrices with `size` rows."""
        return cls(extra=k - size, scale=scale)

    @property
    def grid(self) -> float:
        """The spacing of the outputs: a power of two, 2**-20 below the scale."""
        from dpkit.authoring import grid_for

        return grid_for(self.scale)

    def mean(self, size: int) -> float:
        """What the noise adds to the diagonal on average: k times the scale. Subtracting it is post-processing."""
        return (size + self.extra) * self.scale

    def event(self, at: Distance | Sequence[Distance]) -> WishartEvent | WishartSwapEvent:
        """A release whose matrix moves by c v v' (`rank_one`), or by the replacement of a record (`swap`)."""
        given = (at,) if isinstance(at, Distance) else tuple(at)
        kind = WishartEvent if any(distance.metric == "rank_one" for distance in given) else WishartSwapEvent
        distance = authoring.distance_in(given, metrics=("rank_one", "swap"), where="Wishart")
        return kind(extra=self.extra, tau=authoring.ratio_up(distance, 2.0 * self.scale))

    def release(self, value: npt.ArrayLike, rng: np.random.Generator | None = None) -> npt.NDArray[np.float64]:
        """The noisy matrix, symmetric."""
        return noisy_matrices(value, extra=self.extra, scale=self.scale, grid=self.grid, rng=rng, where="Wishart")

    def release_many(self, value: npt.ArrayLike, n: int, rng: np.random.Generator | None = None) -> npt.NDArray[np.float64]:
        """n independent noisy matrices along the first axis."""
        return self.release(authoring.repeated(value, n), rng)

    def claims(self, at: Distance | Sequence[Distance], neighbours: Neighbours = Neighbours.ADD_REMOVE) -> tuple[Claim, ...]:
        """The exact pair under a rank-one change, the group-privacy pair under a replacement. No pure claim, for any k."""
        return authoring.claims_of(self.event(at=at), RULES, neighbours=neighbours, assuming=ASSUMING)

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """ln density of the unrounded upper triangle; minus infinity where output - value is not positive definite."""
        return wishart_log_density(output, value, extra=self.extra, scale=self.scale)

    def accuracy(self, shape: Sequence[int] | int, confidence: float) -> float:
        """A bound on the largest absolute error of an entry: entries are at most the trace, scale * chi2(d k)."""
        from scipy.special import chdtri

        sizes = authoring.checked_shape((shape, shape) if isinstance(shape, int | np.integer) else shape)
        matrices, size = authoring.entries(sizes[:-2]), sizes[-1]
        tail = math.exp(authoring.log_tail(matrices, confidence))
        return self.scale * float(chdtri(size * (size + self.extra), tail)) * (1.0 + 1e-9) + self.grid
