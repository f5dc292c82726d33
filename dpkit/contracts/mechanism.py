"""The mechanism interface: a map from a value to a noisy one, its event at a distance, and its claims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from dpkit.privacy.claims import Claim
from dpkit.privacy.events import Event
from dpkit.privacy.neighbours import Distance


@runtime_checkable
class Mechanism(Protocol):
    """What a plugin's mechanism implements.

    What it may offer beside: `WhiteBox`, `Accurate`, `OnGrid`, `Scaled`, `Neighbouring`.
    """

    def event(self, at: Distance | Sequence[Distance]) -> Event:
        """What a release is, when neighbours' values differ by at most this. Needs no data.

        `at` is one distance, or all that are known of one and the same move (L1 and L2, say): the mechanism takes the one that
        suits it, by its metric, and refuses where there is none. `dpkit.authoring.distance_in` does that.
        """

    def release(self, value: npt.ArrayLike, rng: np.random.Generator) -> npt.NDArray[np.generic]:
        """One noisy value."""

    def release_many(self, value: npt.ArrayLike, n: int, rng: np.random.Generator) -> npt.NDArray[np.generic]:
        """`n` independent noisy values, along the first axis: what an auditor samples."""

    def claims(self, at: Distance | Sequence[Distance]) -> tuple[Claim, ...]:
        """What is claimed of a release at this distance: what the auditor tries to falsify."""


@runtime_checkable
class WhiteBox(Protocol):
    """A mechanism whose output density is known, which makes its audit far more powerful."""

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """ln of the density of each output, given the value."""


@runtime_checkable
class Accurate(Protocol):
    """A mechanism that can say how good it will be before anything is spent. Plans and reports show it beside each release.

    Data-free: the bound holds for every value. The kit compares it with the errors of many releases.
    """

    def accuracy(self, shape: tuple[int, ...], confidence: float) -> float:
        """A bound on the largest absolute error over the entries of a value of this shape, all at once.

        It holds with probability `confidence` (0 < confidence < 1) or more, and is finite; `()` is the shape of one number.
        """


@runtime_checkable
class CombinedAccurate(Protocol):
    """A mechanism that can say how good sums of its entries will be: what is read from a tree of counts, say."""

    def combined_accuracy(self, norm: float, count: int, confidence: float, *, entries: int) -> float:
        """A bound on the errors of `count` linear combinations of `entries` released numbers, which holds for all at once.

        The coefficients of each combination have a Euclidean norm of at most `norm`.
        """


@runtime_checkable
class OnGrid(Protocol):
    """A mechanism whose outputs are multiples of a public power of two, and which commutes with shifts along that grid.

    `release(value + k * grid)` is distributed as `release(value) + k * grid`, for every whole number k. An exact total of any
    size can then be released without rounding it first (docs/proofs/exact-sums.md, theorem 4).
    """

    @property
    def grid(self) -> float:
        """The spacing of the outputs."""


@runtime_checkable
class Scaled(Protocol):
    """A mechanism whose noise has one scale, which plans and reports show."""

    @property
    def scale(self) -> float:
        """The size of the noise, in the units of the value."""


@runtime_checkable
class Neighbouring(Protocol):
    """A mechanism that knows values at which its claims are tightest; audits begin with them."""

    def neighbouring_values(self, at: Distance) -> Iterable[tuple[object, object]]:
        """Pairs of values that are at most this far apart."""
