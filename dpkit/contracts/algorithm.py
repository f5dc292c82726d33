"""The iterative-algorithm interface: a plan that is priced before data is read, and pure steps through a curator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from dpkit.contracts.mechanism import Mechanism
from dpkit.contracts.query import Block, Query
from dpkit.privacy.events import Event

State = TypeVar("State")


@runtime_checkable
class Curator(Protocol):
    """The only door to the data: it charges, then releases. Algorithms see what it returns and nothing else."""

    def release(self, query: Query, mechanism: Mechanism) -> npt.NDArray[np.float64]:
        """The noisy value of one query."""

    def release_all(self, pairs: Sequence[tuple[Query, Mechanism]]) -> tuple[npt.NDArray[np.float64], ...]:
        """Several noisy values from one pass over the data and one charge."""


@runtime_checkable
class IterativeAlgorithm(Protocol[State]):
    """Holds no data and mutates nothing; its state holds released values only, so stopping early is post-processing.

    What it may offer beside: `Foretelling`, `ForetellingLike`, `RestsOn`, `Advising`, `NeedsRows`, `Computing`.
    """

    def plan(self, noise: float) -> Event:
        """Everything that a run may release, at worst, at this noise multiplier. More noise never costs more."""

    def init(self, noise: float) -> State:
        """The state before the first release."""

    def step(self, state: State, curator: Curator) -> State:
        """The next state, from released values."""

    def finished(self, state: State) -> bool:
        """Whether to stop."""

    def result(self, state: State) -> object:
        """The answer, from released values."""


AnyAlgorithm = IterativeAlgorithm[Any]
"""An algorithm with a state of any type, which nobody else reads."""


@runtime_checkable
class Foretelling(Protocol):
    """An algorithm that can say, from public facts alone, how far its answer will be off. `plan` shows it."""

    def accuracy(self, noise: float, confidence: float) -> float | Mapping[str, float] | None:
        """A bound on the error of the answer at this noise multiplier, which holds with this confidence (plans ask at 0.95).

        One number, or one for each part of the answer by name; None, or a number that is not finite, where it cannot say.
        """


@runtime_checkable
class ForetellingLike(Protocol):
    """An algorithm that can say how far its answer will be off where data are like public rows, which stand in for them in a
    plan (`data.like`). `plan` asks it in place of `Foretelling`.
    """

    def accuracy_like(self, noise: float, confidence: float, rows: Block) -> float | Mapping[str, float] | None:
        """As `accuracy`, for data of the declared size that are drawn from these rows.

        They are codes of `setting.columns`; NaN is a cell that drops its row. `InvalidValueError` where they are too few, or
        cannot be the rows of an answer: they are public, and what it says is shown.
        """


@runtime_checkable
class RestsOn(Protocol):
    """An algorithm whose foretold errors rest on more than what is declared. `plan` shows it beside them."""

    def rests_on(self) -> str:
        """What `accuracy` takes for granted, and how far its errors may be off, in a sentence; empty where it takes nothing."""


@runtime_checkable
class Advising(Protocol):
    """An algorithm that can say what an analyst should know before paying. `plan` shows it beside the step."""

    def advice(self, noise: float) -> Sequence[str]:
        """Sentences about this plan at this noise multiplier, from public facts alone; none where all is well."""


@runtime_checkable
class Computing(Protocol):
    """An algorithm whose passes over rows can be done in several ways, with the same answers. `plan` says which it will be."""

    def computed_by(self) -> str:
        """What will do the passes here, in a few words, such as `numpy`; from public facts and what is installed alone."""


@runtime_checkable
class NeedsRows(Protocol):
    """An algorithm that knows how many rows its answer needs. With a declared number of rows, `plan` compares."""

    def needed_rows(self, noise: float) -> int | None:
        """About how many rows a good answer needs at this noise multiplier: a plan below carries advice. None: cannot say."""

    def least_rows(self, noise: float) -> int | None:
        """Below how many rows the answer would be noise: such a plan is refused. None: cannot say."""
