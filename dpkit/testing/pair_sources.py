"""Hypothesis strategies as sources of neighbouring pairs for `dpkit.audit(..., search=...)`."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import field

import numpy as np
from hypothesis import HealthCheck, Phase, find, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample, Unsatisfiable

from dpkit.auditing.search.pairs import Pair
from dpkit.values import dataclass

_QUIET = tuple(HealthCheck)


@dataclass
class StrategyPairs:
    """Pairs drawn from a strategy, and simplified by hypothesis itself, so that they stay within it.

    `StrategyPairs(neighbouring_datasets(Neighbours.ADD_REMOVE))` is what `audit` takes as `search`. Draws follow from the
    generator that they are asked with, a hundred at a time.
    """

    strategy: st.SearchStrategy[tuple[object, object]]
    _held: list[Pair] = field(default_factory=list, init=False, repr=False)

    def __call__(self, rng: np.random.Generator) -> Pair:
        """One pair."""
        if not self._held:
            self._held = self._drawn(int(rng.integers(2**32)))
        return self._held.pop()

    def _drawn(self, number: int) -> list[Pair]:
        found: list[Pair] = []

        @seed(number)
        @settings(max_examples=100, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=_QUIET)
        @given(self.strategy)
        def collect(pair: tuple[object, object]) -> None:
            found.append((pair[0], pair[1]))

        collect()
        return found[::-1]

    def simplest(self, holds: Callable[[Pair], bool], rng: np.random.Generator) -> Pair | None:
        """The pair that hypothesis shrinks to; None where no example satisfies the condition."""
        quiet = settings(max_examples=200, database=None, deadline=None, suppress_health_check=_QUIET)
        try:
            found = find(self.strategy, holds, settings=quiet, random=random.Random(int(rng.integers(2**32))))
        except (NoSuchExample, Unsatisfiable):
            return None
        return found[0], found[1]
