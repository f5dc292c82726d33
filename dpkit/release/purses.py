"""Who pays for a release: a run of a ledger, or a plan in memory; and whether the plan covers what is charged."""

from __future__ import annotations

from typing import Protocol

from dpkit.errors import PlanExceededError
from dpkit.privacy.events import Event, flatten
from dpkit.release.ledger.entries import Charge
from dpkit.release.ledger.ledger import Ledger


class Purse(Protocol):
    """Charges before anything is released, and keeps what was released."""

    def charge(self, event: Event, *, key: str) -> Charge:
        """Pay, or raise and pay nothing."""
        ...

    def released(self, charge: Charge, value: object) -> None:
        """Record the value; only then may it go out."""
        ...

    def failed(self, charge: Charge, reason: str) -> None:
        """Record that a charge came to nothing; it stays spent."""
        ...


class PlanPurse:
    """A plan without a ledger: what was planned can be charged, once. It forgets when the process ends."""

    def __init__(self, plan: Event, *, run: str = "run") -> None:
        self._coverage = PlanCoverage(plan, run=run)
        self._run = run
        self._count = 0

    def charge(self, event: Event, *, key: str) -> Charge:
        """Take the event out of the plan."""
        self._coverage.take(event)
        self._count += 1
        return Charge(run=self._run, key=key, seq=self._count)

    def released(self, charge: Charge, value: object) -> None:
        """Nothing to record."""

    def failed(self, charge: Charge, reason: str) -> None:
        """It stays spent."""


class LedgerPurse:
    """A run of a ledger, whose whole plan is reserved before the first release."""

    def __init__(self, ledger: Ledger, plan: Event, *, run: str, analysis: str = "", data: str = "") -> None:
        self._ledger = ledger
        self._run = run
        self._coverage = PlanCoverage(plan, run=run)
        self.reserved = ledger.reserve(run, plan, analysis=analysis, data=data)

    def charge(self, event: Event, *, key: str) -> Charge:
        """Take the event out of the plan, then pay, durably. What was released under this key before comes back unpaid."""
        self._coverage.take(event)
        return self._ledger.charge(self._run, event, key=key)

    def released(self, charge: Charge, value: object) -> None:
        """Record the value in the ledger."""
        self._ledger.released(charge, value)

    def failed(self, charge: Charge, reason: str) -> None:
        """Record the failure in the ledger."""
        self._ledger.failed(charge, reason)

    def close(self) -> None:
        """Give back what was reserved and never charged."""
        self._ledger.close_run(self._run)


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
