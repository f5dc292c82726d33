"""Where a plan stands with its ledger: what it would cost there, what is left, and the nearest plan that fits."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dpkit.analysis.reading.spec import Spec
from dpkit.errors import PlanRefusedError, RunStateError
from dpkit.numerics.bracketing import first_true
from dpkit.numerics.rounding import format_down, in_full
from dpkit.privacy.events import Event
from dpkit.privacy.losses import Loss
from dpkit.release.ledger.ledger import Balance, Ledger
from dpkit.release.ledger.terms import ExpectedTerms, fingerprint

_MOST_NOISE = 1e6
"""A plan with more than this multiple of the noise that was asked for is not offered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerStanding:
    """What the ledger says. `is_paid` when this very analysis was run on it before: running it again costs nothing."""

    path: Path
    accountant: str
    because: str
    price: Loss
    balance: Balance
    run: str
    is_paid: bool


def schema_fingerprint(spec: Spec) -> str:
    """The fingerprint of the declared columns, as ledgers keep it."""
    return fingerprint([repr(column) for column in spec.data.schema.columns])


def run_id(spec: Spec, attempt: int = 1) -> str:
    """The same analysis has the same name, so that what it released is not paid twice; another attempt has another."""
    return f"{spec.path.stem}-{spec.fingerprint[:16]}" + (f"-{attempt}" if attempt > 1 else "")


def latest_attempt(ledger: Ledger, spec: Spec) -> int:
    """The number of the latest run of this analysis that the ledger has seen; 0 where there is none."""
    attempt = 0
    with suppress(RunStateError):  # of the first that it does not know
        while ledger.run(run_id(spec, attempt + 1)):
            attempt += 1
    return attempt


def open_ledger(spec: Spec) -> Ledger:
    """The spec's ledger, held against what the spec says of the dataset, the unit, the relation and the columns."""
    path = spec.budget.ledger
    assert path is not None
    expect = ExpectedTerms(neighbours=spec.data.neighbours, unit=spec.data.unit.terms, dataset=spec.data.name)
    read_only = os.path.exists(path) and not os.access(path, os.W_OK)
    ledger = Ledger.open(path, expect=expect, registry=spec.registry, read_only=read_only)
    if ledger.terms.schema:
        try:
            ExpectedTerms(schema=schema_fingerprint(spec)).check(ledger.terms, path=path, registry=spec.registry)
        except BaseException:
            ledger.close()
            raise
    return ledger


def standing(plan: Event, spec: Spec, rescaled: Callable[[float], tuple[Event, float]]) -> LedgerStanding:
    """What the ledger says of a plan; `PlanRefusedError`, with the nearest plan that fits, where it does not fit.

    `rescaled(factor)` is the plan with all noise larger by that factor, and the epsilon of that plan.
    """
    with open_ledger(spec) as ledger:
        attempt = latest_attempt(ledger, spec)
        name, paid = run_id(spec, max(attempt, 1)), attempt > 0
        balance = ledger.balance()
        if not paid and not ledger.fits(plan):
            raise PlanRefusedError(
                reason=f"The plan does not fit into the ledger {str(ledger.path)!r}: asked {ledger.price(plan)}, "
                f"spent {balance.spent}, held {balance.held}, left {balance.remaining}.",
                nearest=_nearest(ledger, rescaled),
            )
        return LedgerStanding(
            path=ledger.path,
            accountant=ledger.terms.accountant.name,
            because=str(ledger.pricer.filter.because),
            price=ledger.price(plan),
            balance=balance,
            run=name,
            is_paid=paid,
        )


def _nearest(ledger: Ledger, rescaled: Callable[[float], tuple[Event, float]]) -> str:
    def holds(factor: float) -> bool:
        return factor >= _MOST_NOISE or (factor >= 1.0 and ledger.fits(rescaled(factor)[0]))

    bracket = first_true(holds, relative=1e-3)
    if bracket is None or bracket[1] >= _MOST_NOISE:
        return "Nothing is left for any plan of this kind."
    epsilon = rounded_down(rescaled(bracket[1])[1])
    return f"The nearest plan that fits: set `budget.epsilon` to {in_full(epsilon)}."


def rounded_down(value: float, digits: int = 3) -> float:
    """The largest number with this many digits that is not larger."""
    return float(format_down(value, digits=digits))
