"""Support: an output that is impossible under the neighbour, by the declared density."""

from __future__ import annotations

import math

import numpy as np

from dpkit.auditing.betting.bets import OutputEvent
from dpkit.auditing.betting.lower_bound import FrozenEvent
from dpkit.auditing.betting.processes import Process
from dpkit.auditing.claim_at_pair import ClaimAtPair
from dpkit.numerics.special import Array, asfloat

_SHARES = (0.5, 0.1, 0.01)


class Support(Process):
    """If S has probability 0 under the neighbour, the claim says P(S) <= delta: at delta = 0 the first hit is proof.

    Above 0, 1 + stake (1[X in S] - delta) is bet on, for a few stakes. It trusts the declared density in where it is zero, and
    says so; an output of the neighbour itself that should be impossible silences it.
    """

    name = "support"

    def __init__(self, subject: ClaimAtPair) -> None:
        self._subject = subject
        self._delta = subject.delta
        self._hits, self._misses = [0, 0], [0, 0]
        self._silent = [False, False]
        self._forward = True
        self._last = 0.0

    def step(self, first: Array, second: Array) -> Array:
        """Count impossible outputs on each side."""
        hits = []
        for side, outputs in enumerate((first, second)):
            own, other = self._subject.log_density(outputs, side), self._subject.log_density(outputs, 1 - side)
            self._silent[1 - side] |= bool(np.isneginf(own).any())  # what cannot happen here happened: do not trust it
            hits.append(np.isfinite(own) & np.isneginf(other))
        path = np.full(first.shape[0], -math.inf)
        for side in (0, 1):
            if self._silent[side]:
                continue  # what was staked on this side is given up: back to 1 would forgive losses
            if hits[side].any() and self.output is None:
                self._forward = side == 0
                self.output = (first, second)[side][int(np.argmax(hits[side]))].reshape(-1).tolist()
            found = self._hits[side] + np.cumsum(hits[side])
            missed = self._misses[side] + np.cumsum(~hits[side])
            self._hits[side], self._misses[side] = int(found[-1]), int(missed[-1])
            path = np.logaddexp(path, self._log_e_of(asfloat(found), asfloat(missed)))
        self._last = float(path[-1]) - math.log(2.0)
        return path - math.log(2.0)

    def _log_e_of(self, hits: Array, misses: Array) -> Array:
        if self._delta == 0.0:
            return np.where(hits > 0, math.inf, 0.0)
        tracks = []
        for share in _SHARES:
            stake = share / self._delta
            tracks.append(hits * math.log1p(stake * (1.0 - self._delta)) + misses * math.log1p(-share))
        return np.asarray(np.logaddexp.reduce(tracks, axis=0) - math.log(len(_SHARES)), dtype=np.float64)

    @property
    def log_e(self) -> float:
        return self._last

    def event(self) -> OutputEvent | None:
        """Impossible outputs."""
        if self.output is None:
            return None
        other = "d2" if self._forward else "d1"
        return OutputEvent(
            words=f"an output whose declared density under {other} is zero was seen",
            code=f"lambda y: log_density(y, {other}) == -np.inf",
            forward=self._forward,
        )

    def freeze(self, first: Array, second: Array, *, trials: int) -> FrozenEvent | None:
        """Impossible outputs again: their counts bound epsilon without trust in the density."""
        event = self.event()
        point = min(self._subject.points, key=lambda one: one.delta)
        return None if event is None else FrozenEvent(event=event, point=point, density=self._subject.log_density)
