"""Canaries of a training loop: who is in is drawn by fair coins, and scores of all are audited afterwards."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpkit.auditing.canaries.audit_scores import Family, ScoreCertificate, audit_scores
from dpkit.contracts.guarantee import Guarantee
from dpkit.errors import InvalidValueError
from dpkit.privacy.checks import whole_number
from dpkit.privacy.losses import Loss
from dpkit.values import dataclass


@dataclass(frozen=True, slots=True)
class Canaries:
    """Which of the canaries are in a run."""

    coins: tuple[bool, ...]

    @property
    def members(self) -> npt.NDArray[np.intp]:
        """The places of the canaries that go into the training."""
        return np.flatnonzero(self.coins)

    def audit(
        self,
        scores: npt.ArrayLike,
        *,
        claim: Loss | Guarantee | float | tuple[float, float],
        confidence: float = 0.999,
        delta: float | None = None,
        family: Family | None = None,
    ) -> ScoreCertificate:
        """`audit_scores`, of one score for each canary, in the order of the coins."""
        given = np.asarray(scores, dtype=np.float64)
        if given.shape != (len(self.coins),):
            allowed = f"{len(self.coins)} numbers, one for each canary"
            raise InvalidValueError(field="scores", found=f"an array of shape {given.shape}", allowed=allowed, where="audit")
        inside = np.array(self.coins, dtype=bool)
        return audit_scores(given[inside], given[~inside], claim=claim, confidence=confidence, delta=delta, family=family)


def draw_canaries(count: int, rng: np.random.Generator | int | None = None) -> Canaries:
    """Toss a fair coin for each of `count` canaries: put `canaries.members` into the training, then score all."""
    size = whole_number(count, field="count", where="draw_canaries", minimum=1)
    return Canaries(tuple(bool(coin) for coin in np.random.default_rng(rng).integers(2, size=size)))
