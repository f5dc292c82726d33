"""A run on made-up rows with seeded noise: what foretold errors and measurements are made of. It charges nobody."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpkit import Mechanism, Preparation, Query, states_of
from dpkit.authoring import dataclass
from dpkit_irls.fit import Array


@dataclass(slots=True, kw_only=True)
class MadeUpRows:
    """The curator of such a run: no ledger, no checks, no exact totals. What it prepares of the rows it keeps while queries ask
    for it.
    """

    block: Array
    rng: np.random.Generator
    _preparation: Preparation | None = None
    _prepared: Array | None = None

    def release(self, query: Query, mechanism: Mechanism) -> Array:
        """The noisy value of one query."""
        return np.asarray(mechanism.release(self._total(query), self.rng), dtype=np.float64)

    def release_all(self, pairs: Sequence[tuple[Query, Mechanism]]) -> tuple[Array, ...]:
        """Several."""
        return tuple(self.release(query, mechanism) for query, mechanism in pairs)

    def _total(self, query: Query) -> Array:
        if query.preparation is None or query.prepared_steps is None or query.grid is None:
            return query.total(self.block)
        if self._prepared is None or query.preparation is not self._preparation:
            self._preparation, self._prepared = query.preparation, query.preparation.rows(self.block)
        return np.asarray(np.sum(query.prepared_steps(self._prepared), axis=0, dtype=np.float64) * query.grid)


def last_state(algorithm: Any, noise: float, block: Array, rng: np.random.Generator) -> Any:
    """Where an algorithm comes to on these rows."""
    with np.errstate(all="ignore"):
        return deque(states_of(algorithm, MadeUpRows(block=block, rng=rng), noise=noise), maxlen=1)[0]
