"""The auditor interface: one way of trying to falsify a claim. Plugins add theirs by hook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from dpkit.core.claims import Claim


@runtime_checkable
class Auditor(Protocol):
    """Tries to break a claim about a target on pairs of neighbours, and says what it found."""

    @property
    def name(self) -> str:
        """Unique among auditors."""
        ...

    def falsify(
        self,
        target: object,
        claim: Claim,
        pairs: Sequence[tuple[object, object]],
        *,
        samples: int,
        alpha: float,
        rng: np.random.Generator,
    ) -> Sequence[object]:
        """Evidence, one item a finding; none where this auditor has nothing to say. A false alarm has probability <= alpha."""
        ...
