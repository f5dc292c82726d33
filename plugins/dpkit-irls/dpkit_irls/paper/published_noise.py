"""The noises of the paper as it publishes them. Their claims are refuted, and say so; docs/errata.md has the numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dpkit import GDP, ApproxDP, Citation, Claim, Distance, Event, Gaussian, LossRule, Neighbours, PureDP, authoring
from dpkit.authoring import EITHER, dataclass, finite_number, nonnegative
from dpkit_irls.wishart.sampler import noisy_matrices, wishart_log_density


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedWishartEvent(Event):
    """Wishart noise with d+1 degrees of freedom; `epsilon` is the trace sensitivity over twice the scale, as in the paper."""

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", nonnegative(self.epsilon, field="epsilon", where="PublishedWishartEvent"))


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedGaussianEvent(Event):
    """Gaussian noise of sigma = c D2 / epsilon, c^2 = 2 ln(1.25 / failure), which the paper takes for epsilon-DP."""

    epsilon: float
    failure: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", nonnegative(self.epsilon, field="epsilon", where="PublishedGaussianEvent"))


def _impossible(event: PublishedWishartEvent) -> ApproxDP | None:
    """(0, 1 - e^-epsilon): exact, and no better at any epsilon."""
    delta = -math.expm1(-event.epsilon) * (1.0 + 1e-15)
    return ApproxDP(epsilon=0.0, delta=delta) if delta < 1.0 else None


RULES: tuple[LossRule, ...] = (
    LossRule(
        name="wishart-as-published",
        event=PublishedWishartEvent,
        loss=PureDP,
        neighbours=EITHER,
        because=Citation(key="PW16", locator="eq. 6; refuted: docs/errata.md, 1"),
        status="refuted",
        bound=lambda event: PureDP(epsilon=event.epsilon),
    ),
    LossRule(
        name="gaussian-as-published",
        event=PublishedGaussianEvent,
        loss=PureDP,
        neighbours=EITHER,
        because=Citation(key="PW16", locator="eq. 5; refuted: docs/errata.md, 2"),
        status="refuted",
        bound=lambda event: PureDP(epsilon=event.epsilon),
    ),
    LossRule(
        name="wishart-as-published-truth",
        event=PublishedWishartEvent,
        loss=ApproxDP,
        neighbours=EITHER,
        because=Citation(key="dpkit", locator="docs/proofs/wishart.md, Corollary 3"),
        bound=_impossible,
    ),
    LossRule(
        name="gaussian-as-published-truth",
        event=PublishedGaussianEvent,
        loss=GDP,
        neighbours=EITHER,
        because=Citation(key="DRS22", locator="Theorem 1"),
        bound=lambda event: GDP(mu=event.epsilon / math.sqrt(2.0 * math.log(1.25 / event.failure)) * (1.0 + 1e-14)),
    ),
)
"""The refuted rules price nothing unless they are accepted by name; the other two say what really holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WishartAsPublished:
    """value + Z Z', Z of shape (d, d + 1) with entries N(0, scale). Its claim is refuted: do not use it to protect people.

    With probability 1 - e^(-epsilon) the output is impossible under a neighbour with one record more.
    """

    scale: float

    def __post_init__(self) -> None:
        from dpkit.authoring import checked_scale

        object.__setattr__(self, "scale", checked_scale(self.scale, where="WishartAsPublished"))

    @property
    def grid(self) -> float:
        """The spacing of the outputs."""
        from dpkit.authoring import grid_for

        return grid_for(self.scale)

    def event(self, at: Distance | Sequence[Distance]) -> PublishedWishartEvent:
        """A release whose trace moves by at most this much."""
        distance = authoring.distance_in(at, metrics=("trace", "rank_one", "swap"), where="WishartAsPublished")
        return PublishedWishartEvent(epsilon=authoring.ratio_up(distance, 2.0 * self.scale))

    def release(self, value: npt.ArrayLike, rng: np.random.Generator | None = None) -> npt.NDArray[np.float64]:
        """The noisy matrix."""
        return noisy_matrices(value, extra=1, scale=self.scale, grid=self.grid, rng=rng, where="WishartAsPublished")

    def release_many(self, value: npt.ArrayLike, n: int, rng: np.random.Generator | None = None) -> npt.NDArray[np.float64]:
        """n independent noisy matrices along the first axis."""
        return self.release(authoring.repeated(value, n), rng)

    def claims(self, at: Distance | Sequence[Distance], neighbours: Neighbours = Neighbours.ADD_REMOVE) -> tuple[Claim, ...]:
        """The published claim, marked refuted, and what holds instead."""
        return authoring.claims_of(self.event(at=at), RULES, neighbours=neighbours)

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """ln density of the unrounded upper triangle."""
        return wishart_log_density(output, value, extra=1, scale=self.scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianAsPublished:
    """Gaussian noise of standard deviation sqrt(2 ln(1.25 / failure)) * scale, taken for (D2 / scale)-DP. Refuted."""

    scale: float
    failure: float

    def __post_init__(self) -> None:
        from dpkit.authoring import checked_scale

        object.__setattr__(self, "scale", checked_scale(self.scale, where="GaussianAsPublished"))
        below = finite_number(self.failure, field="failure", where="GaussianAsPublished", minimum=0.0, below=1.0, strict=True)
        object.__setattr__(self, "failure", below)

    @property
    def noise(self) -> Gaussian:
        """What is really added, with the price that it really has: zCDP and GDP."""
        return Gaussian(scale=self.scale * math.sqrt(2.0 * math.log(1.25 / self.failure)))

    @property
    def grid(self) -> float:
        """The spacing of the outputs."""
        return self.noise.grid

    def event(self, at: Distance | Sequence[Distance]) -> PublishedGaussianEvent:
        """A release whose value moves by at most this L2 distance."""
        distance = authoring.distance_in(at, metrics=("l2",), where="GaussianAsPublished")
        return PublishedGaussianEvent(epsilon=authoring.ratio_up(distance, self.scale), failure=self.failure)

    def release(self, value: npt.ArrayLike, rng: np.random.Generator | None = None) -> npt.NDArray[np.float64]:
        """The noisy value."""
        return self.noise.release(value, rng)

    def release_many(self, value: npt.ArrayLike, n: int, rng: np.random.Generator | None = None) -> npt.NDArray[np.float64]:
        """n independent noisy values along the first axis."""
        return self.noise.release_many(value, n, rng)

    def claims(self, at: Distance | Sequence[Distance], neighbours: Neighbours = Neighbours.ADD_REMOVE) -> tuple[Claim, ...]:
        """The published claim, marked refuted, and what holds instead."""
        return authoring.claims_of(self.event(at=at), RULES, neighbours=neighbours)

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """ln density of the unrounded output."""
        return self.noise.log_density(output, value)
