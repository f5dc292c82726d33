"""A rehearsal: an algorithm runs through a curator that has no data, to see which noise it will use and what it relies on. And
what it expects its errors to be, from declarations or from public rows that stand in for the data.

What comes out of the rehearsal's releases is noise around zero from a fixed generator; the algorithm's answer is thrown away.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpkit.analysis.reading.spec import StepSpec
from dpkit.contracts.algorithm import AnyAlgorithm, Foretelling, ForetellingLike, RestsOn
from dpkit.contracts.mechanism import Accurate, Mechanism, Scaled
from dpkit.contracts.query import Query
from dpkit.contracts.setting import Setting
from dpkit.debugging import show_of_no_data
from dpkit.errors import DpkitError, InvalidValueError, PlanExceededError, SourceError
from dpkit.privacy.claims import Claim
from dpkit.release.curator import Purse
from dpkit.release.driver import states_of
from dpkit.release.simulated_curator import Asked, Request, SimulatedCurator
from dpkit.values import dataclass

if TYPE_CHECKING:
    from dpkit.analysis.stand_in import StandIn

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

    `iterations` is how many it took; `complete` is False where the algorithm cannot be run without data, or goes on for long.
    """

    releases: tuple[PlannedRelease, ...]
    claims: tuple[Claim, ...]
    asked: tuple[tuple[Query, Mechanism], ...]
    complete: bool
    iterations: int


def rehearse(algorithm: AnyAlgorithm, *, noise: float, setting: Setting, step: str) -> Rehearsal:
    """Run an algorithm without data; `PlanExceededError` when it asks for more than it planned."""
    rng = np.random.default_rng(0)
    claims: dict[str, Claim] = {}

    def noise_around_zero(asked: Request) -> npt.NDArray[np.float64]:
        for distance in setting.distances(asked.query):
            with suppress(DpkitError, TypeError):  # not in this metric
                for claim in asked.mechanism.claims(distance):
                    claims.setdefault(f"{claim.because}{claim.assuming}{claim.status}", claim)
        return np.asarray(asked.mechanism.release(np.zeros(asked.query.shape), rng), dtype=np.float64)

    curator = SimulatedCurator(noise_around_zero, setting=setting, purse=Purse(algorithm.plan(noise), run=step))
    complete, iterations = False, 0
    try:
        states = states_of(algorithm, curator, noise=noise, until=lambda: len(curator.asked) >= MOST_RELEASES)
        for count, state in enumerate(states):
            iterations, complete = count, algorithm.finished(state)
    except PlanExceededError:
        raise
    except (DpkitError, ArithmeticError, ValueError, TypeError, LookupError) as error:
        show_of_no_data(error, of=f"step {step!r}, rehearsed,")
        complete = False  # made-up values may be beyond what an algorithm can continue from; its plan still binds it
    kinds: dict[tuple[str, str, tuple[int, ...]], list[Asked]] = {}
    for query, mechanism in curator.asked:
        kinds.setdefault((query.name, repr(mechanism), query.shape), []).append((query, mechanism))
    releases = []
    for asked in kinds.values():
        query, mechanism = asked[-1]
        scale: object = mechanism.scale if isinstance(mechanism, Scaled) else None
        release = PlannedRelease(
            query=query.name,
            mechanism=type(mechanism).__name__,
            scale=float(scale) if isinstance(scale, int | float) else None,
            times=len(asked),
            error=mechanism.accuracy(query.shape, CONFIDENCE) if isinstance(mechanism, Accurate) else None,
            shape=query.shape,
        )
        releases.append(release)
    return Rehearsal(
        releases=tuple(releases),
        claims=tuple(claims.values()),
        asked=tuple(asked[-1] for asked in kinds.values()),
        complete=complete,
        iterations=iterations,
    )


def expected_errors(step: StepSpec, noise: float, stand_in: StandIn | None) -> tuple[Mapping[str, float], str]:
    """The errors of an algorithm's answers at 95%, where it is `Foretelling`, and what they rest on. Rows that stand in for the
    data are tried where it is `ForetellingLike`.
    """
    algorithm, found = step.algorithm, None
    rest_on = str(algorithm.rests_on()) if isinstance(algorithm, RestsOn) else ""
    if stand_in is not None and isinstance(algorithm, ForetellingLike):
        found, rest_on = _errors_like(algorithm, noise, step, stand_in)
    elif isinstance(algorithm, Foretelling):
        found = algorithm.accuracy(noise, CONFIDENCE)
        if stand_in is not None:
            rest_on = f"what is declared: `{step.run}` does not try rows, so {stand_in.name} is not used. {rest_on}".strip()
    named: Mapping[object, Any] = found if isinstance(found, Mapping) else {"answer": found}
    errors = {
        str(name): float(error)
        for name, error in named.items()
        if isinstance(error, int | float) and not isinstance(error, bool) and math.isfinite(error)
    }
    return errors, rest_on if errors else ""


def _errors_like(algorithm: ForetellingLike, noise: float, step: StepSpec, stand_in: StandIn) -> tuple[object, str]:
    """The errors where data are like those that stand in for them, and a sentence that says so."""
    rows = stand_in.codes(step.setting.schema)
    try:
        found: object = algorithm.accuracy_like(noise, CONFIDENCE, rows)
    except InvalidValueError as error:
        raise SourceError(
            source=stand_in.name, reason=f"it cannot stand in for the data of step {step.id!r}. {error}"
        ) from None
    return found, f"rows drawn from {stand_in.name}, which has {stand_in.rows}: right where the data are like it."
