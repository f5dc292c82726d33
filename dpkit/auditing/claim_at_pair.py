"""What is audited: how outputs are drawn, what is claimed of them, at which pair, and what is known of their law."""

from __future__ import annotations

from dataclasses import field

import numpy as np

from dpkit.auditing.betting.profile import Point, points_of
from dpkit.auditing.draw_outputs import Sampler
from dpkit.contracts.mechanism import Mechanism, WhiteBox
from dpkit.numerics.special import Array, asfloat
from dpkit.privacy.claims import Claim
from dpkit.privacy.neighbours import Distance
from dpkit.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimAtPair:
    """A sampler, a claim about it, a pair of neighbours; a declared density and the mechanism itself where there are any."""

    sampler: Sampler
    claim: Claim
    pair: tuple[object, object]
    density: WhiteBox | None = None
    mechanism: Mechanism | None = None
    at: Distance | None = None
    relation: str = ""
    """How the datasets of the pair differ, in words."""
    pilot: tuple[Array, Array] | None = None
    """Outputs of either side that were drawn before, one row each: bets may learn from them, and none was made on them."""
    _memory: list[tuple[Array, int, Array]] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def points(self) -> tuple[Point, ...]:
        """Where the claim is tested."""
        return points_of(self.claim.loss)

    @property
    def delta(self) -> float:
        """The delta at which a lower bound on epsilon is reported: the smallest of the points."""
        return min(point.delta for point in self.points)

    def log_density(self, outputs: Array, side: int) -> Array:
        """ln of the declared density under one side, one number an output. Several falsifiers ask about the same batch."""
        for held, held_side, found in self._memory:
            if held is outputs and held_side == side:
                return found
        found = self._log_density(outputs, side)
        self._memory[:] = [*self._memory[-3:], (outputs, side, found)]
        return found

    def _log_density(self, outputs: Array, side: int) -> Array:
        assert self.density is not None
        value = np.asarray(self.pair[side])
        if value.dtype.kind in "iu":
            outputs = outputs.astype(np.int64)
        chosen = _chooses(outputs, value)
        shaped = outputs.reshape(outputs.shape[0]) if value.ndim == 0 or chosen else outputs
        with np.errstate(all="ignore"):
            found = asfloat(self.density.log_density(shaped.astype(np.int64) if chosen else shaped, self.pair[side]))  # type: ignore[arg-type]
        return np.where(np.isnan(found), -np.inf, found)


def _chooses(outputs: Array, value: Array) -> bool:
    """Whether an output is one number though the value is a vector: an index."""
    return outputs.shape[1:] == (1,) and value.shape not in ((), (1,))
