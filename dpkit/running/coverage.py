"""Whether a plan covers what is charged: every release must be one that the plan counted, or a cheaper one of its kind."""

from __future__ import annotations

from dataclasses import fields

from dpkit.core.events import Event, flatten
from dpkit.errors import PlanExceededError


class PlanCoverage:
    """What is left of a plan. A charge takes the releases that it is made of, or is refused as a whole."""

    def __init__(self, plan: Event, *, run: str) -> None:
        self._left = dict(flatten(plan))
        self._run = run

    def take(self, event: Event) -> None:
        """Take the event out of the plan; `PlanExceededError`, and nothing taken, where it is not in it."""
        left = dict(self._left)
        for leaf, times in flatten(event).items():
            _take(left, leaf, times, run=self._run)
        self._left = left


def _take(left: dict[Event, int], leaf: Event, times: int, *, run: str) -> None:
    """The same event first; then the cheapest dearer one of its kind."""
    dearer = sorted((planned for planned in left if covers(planned, leaf)), key=lambda planned: _size(planned))
    for planned in dearer:
        used = min(times, left[planned])
        left[planned] -= used
        times -= used
        if not times:
            return
    raise PlanExceededError(run=run, plan="a plan without room for it", asked=repr(leaf))


def covers(planned: Event, charged: Event) -> bool:
    """Whether a planned release bounds the charged one: equal, or a built-in noise with a smaller `ratio` and all else equal.

    Of the built-in noises it is known that a smaller ratio of distance and noise costs less. Of a plugin's event nothing is
    known but its name, so it must be the very event that was planned.
    """
    if planned == charged:
        return True
    if type(planned) is not type(charged) or not type(planned).__module__.startswith("dpkit.mechanisms."):
        return False
    theirs, ours = ({field.name: getattr(event, field.name) for field in fields(event)} for event in (planned, charged))  # type: ignore[arg-type]
    most, asked = theirs.pop("ratio", None), ours.pop("ratio", None)
    return most is not None and asked is not None and bool(asked <= most) and theirs == ours


def _size(event: Event) -> float:
    return float(getattr(event, "ratio", 0.0))
