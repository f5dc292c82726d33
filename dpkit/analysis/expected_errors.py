"""How far the answers of a plan will be off, and what that rests on: declarations, or rows that stand in for the data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpkit.analysis.reading.spec import Spec, StepSpec
from dpkit.analysis.rehearsal import CONFIDENCE
from dpkit.contracts.algorithm import Foretelling, ForetellingLike, RestsOn
from dpkit.errors import InvalidValueError, SourceError

if TYPE_CHECKING:
    from dpkit.analysis.stand_in import StandIn


def stand_in_of(spec: Spec, like: object) -> StandIn | None:
    """What stands in for the data: what is given, or else what the analysis names; None where nothing does."""
    given = spec.data.like if like is None else like
    if given is None:
        return None
    from dpkit.analysis.stand_in import open_stand_in  # plans without one load none of this

    return open_stand_in(spec, given)


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
