"""The iterative-algorithm interface: a plan that is priced before data is read, and pure steps through a curator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from dpkit.core.events import Event
from dpkit.core.mechanism import Mechanism
from dpkit.core.query import Query

State = TypeVar("State")


@runtime_checkable
class Curator(Protocol):
    """The only door to the data: it charges, then releases. Algorithms see what it returns and nothing else."""

    def release(self, query: Query, mechanism: Mechanism) -> npt.NDArray[np.float64]:
        """The noisy value of one query."""
        ...

    def release_all(self, pairs: Sequence[tuple[Query, Mechanism]]) -> tuple[npt.NDArray[np.float64], ...]:
        """Several noisy values from one pass over the data and one charge."""
        ...


@runtime_checkable
class IterativeAlgorithm(Protocol[State]):
    """Holds no data and mutates nothing; its state holds released values only, so stopping early is post-processing."""

    def plan(self, noise: float) -> Event:
        """Everything that a run may release, at worst, at this noise multiplier. More noise never costs more."""
        ...

    def init(self, noise: float) -> State:
        """The state before the first release."""
        ...

    def step(self, state: State, curator: Curator) -> State:
        """The next state, from released values."""
        ...

    def finished(self, state: State) -> bool:
        """Whether to stop."""
        ...

    def result(self, state: State) -> object:
        """The answer, from released values."""
        ...


AnyAlgorithm = IterativeAlgorithm[Any]
"""An algorithm whose state is its own affair."""
