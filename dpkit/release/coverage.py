"""Whether a plan covers what is charged: every release must be one that the plan counted, or a cheaper one of its kind."""

from __future__ import annotations

from dpkit.errors import PlanExceededError
from dpkit.privacy.events import Event, flatten


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
    """The cheapest that covers it first, by the order that events of its kind declare: the same one, where it is left."""
    dearer = sorted((planned for planned in left if planned.covers(leaf)), key=_size)
    for planned in dearer:
        used = min(times, left[planned])
        left[planned] -= used
        times -= used
        if not times:
            return
    raise PlanExceededError(run=run, plan="a plan without room for it", asked=repr(leaf))


def _size(event: Event) -> tuple[float, ...]:
    """Where an event stands in the order of its class."""
    return tuple(float(getattr(event, name)) for name in event.cheaper_below)
