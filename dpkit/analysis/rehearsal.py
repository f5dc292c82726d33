"""A rehearsal: an algorithm runs through a curator that has no data, to see which noise it will use and what it relies on.

What comes out of the rehearsal's releases is noise around zero from a fixed generator; the algorithm's answer is thrown away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpkit.contracts.algorithm import AnyAlgorithm
from dpkit.contracts.mechanism import Accurate, Mechanism, Scaled
from dpkit.contracts.query import Query
from dpkit.contracts.setting import Setting
from dpkit.debugging import show_of_no_data
from dpkit.errors import DpkitError, PlanExceededError
from dpkit.privacy.claims import Claim
from dpkit.privacy.events import Event
from dpkit.release.coverage import PlanCoverage
from dpkit.release.curator import planned_event

CONFIDENCE = 0.95
MOST_RELEASES = 2000
"""A rehearsal is cut here: longer runs repeat themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRelease:
    """A kind of release that a step makes: its noise, how often, and the largest error at 95% where the noise says so."""

    query: str
    mechanism: str
    scale: float | None
    times: int
    error: float | None
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """What a step will release, and which claims its mechanisms make. `asked` are the queries and mechanisms themselves.

    `complete` is False where the algorithm cannot be run without data, or goes on for too long.
    """

    releases: tuple[PlannedRelease, ...]
    claims: tuple[Claim, ...]
    asked: tuple[tuple[Query, Mechanism], ...]
    complete: bool


def rehearse(algorithm: AnyAlgorithm, *, noise: float, setting: Setting, step: str) -> Rehearsal:
    """Run an algorithm without data; `PlanExceededError` when it asks for more than it planned."""
    curator = _Rehearsing(setting, algorithm.plan(noise), step)
    complete = False
    try:
        state = algorithm.init(noise)
        while not (complete := algorithm.finished(state)) and curator.count < MOST_RELEASES:
            state = algorithm.step(state, curator)
    except PlanExceededError:
        raise
    except (DpkitError, ArithmeticError, ValueError, TypeError, LookupError) as error:
        show_of_no_data(error, of=f"step {step!r}, rehearsed,")
        complete = False  # made-up values may be beyond what an algorithm can continue from; its plan still binds it
    return Rehearsal(
        releases=curator.releases(), claims=tuple(curator.claims.values()), asked=curator.asked(), complete=complete
    )


class _Rehearsing:
    """A curator without data that notes what is asked of it."""

    def __init__(self, setting: Setting, plan: Event, step: str) -> None:
        self._setting = setting
        self._coverage = PlanCoverage(plan, run=step)
        self._rng = np.random.default_rng(0)
        self._seen: dict[tuple[str, str, tuple[int, ...]], tuple[Query, Mechanism, int]] = {}
        self.claims: dict[str, Claim] = {}
        self.count = 0

    def release(self, query: Query, mechanism: Mechanism) -> npt.NDArray[np.float64]:
        """Noise around zero."""
        return self.release_all([(query, mechanism)])[0]

    def release_all(self, pairs: Sequence[tuple[Query, Mechanism]]) -> tuple[npt.NDArray[np.float64], ...]:
        """Noise around zero, for each."""
        values = []
        for query, mechanism in pairs:
            self._coverage.take(planned_event(self._setting, query, mechanism))
            self.count += 1
            key = (query.name, repr(mechanism), query.shape)
            self._seen[key] = (query, mechanism, self._seen.get(key, (query, mechanism, 0))[2] + 1)
            self._note_claims(query, mechanism)
            values.append(np.asarray(mechanism.release(np.zeros(query.shape), self._rng), dtype=np.float64))
        return tuple(values)

    def _note_claims(self, query: Query, mechanism: Mechanism) -> None:
        for distance in self._setting.distances(query):
            try:
                claims = mechanism.claims(distance)
            except (DpkitError, TypeError):  # not in this metric
                continue
            for claim in claims:
                self.claims.setdefault(f"{claim.because}{claim.assuming}{claim.status}", claim)

    def releases(self) -> tuple[PlannedRelease, ...]:
        """What was asked, gathered by query and noise."""
        return tuple(
            PlannedRelease(
                query=name,
                mechanism=type(mechanism).__name__,
                scale=_scale(mechanism),
                times=times,
                error=mechanism.accuracy(shape, CONFIDENCE) if isinstance(mechanism, Accurate) else None,
                shape=shape,
            )
            for (name, _, shape), (_, mechanism, times) in self._seen.items()
        )

    def asked(self) -> tuple[tuple[Query, Mechanism], ...]:
        """One query and mechanism of each kind."""
        return tuple((query, mechanism) for query, mechanism, _ in self._seen.values())


def _scale(mechanism: Mechanism) -> float | None:
    found: object = mechanism.scale if isinstance(mechanism, Scaled) else None
    return float(found) if isinstance(found, int | float) else None
