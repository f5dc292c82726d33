"""Where a plan stands with its ledger: what it would cost there, what is left, and the nearest plan that fits."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress

from dpkit.analysis.outputs import kind_of_file
from dpkit.analysis.reading.spec import Spec
from dpkit.contracts.ledger_store import LedgerPlace
from dpkit.data.tables.files import no_such_file
from dpkit.data.tables.open_source import expanded_paths
from dpkit.errors import DpkitError, LedgerDisagreementError, PlanRefusedError, RunStateError, SourceError
from dpkit.numerics.bracketing import first_true
from dpkit.numerics.rounding import format_down, format_up, in_full
from dpkit.privacy.events import Event
from dpkit.privacy.losses import RDP, ZCDP, Loss
from dpkit.release.ledger.balance_in_epsilon import LedgerPurse, epsilon_of, in_words, purse_of
from dpkit.release.ledger.budget_terms import ExpectedTerms, fingerprint
from dpkit.release.ledger.ledger import Balance, Ledger
from dpkit.release.ledger.ledger_address import may_only_read
from dpkit.values import dataclass

_MOST_NOISE = 1e6
"""A plan with more than this multiple of the noise that was asked for is not offered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerStanding:
    """What the ledger says. `is_paid` when this very analysis was run on it before: running it again costs nothing."""

    path: LedgerPlace
    accountant: str
    because: str
    price: Loss
    price_epsilon: float | None
    balance: Balance
    purse: LedgerPurse
    run: str
    is_paid: bool
    id: str = ""


def schema_fingerprint(spec: Spec) -> str:
    """The fingerprint of the declared columns, as ledgers keep it."""
    return fingerprint([repr(column) for column in spec.data.schema.columns])


def run_id(spec: Spec, attempt: int = 1, *, given: str = "") -> str:
    """The same analysis of the same data has the same name, so that what it released is not paid twice; another attempt has
    another. `given` is what `name_of_given` calls data in place of the declared source.
    """
    of = f"-on-{given}" if given else ""
    return f"{spec.path.stem}-{spec.fingerprint[:16]}{of}" + (f"-{attempt}" if attempt > 1 else "")


def latest_attempt(ledger: Ledger, spec: Spec, *, given: str = "") -> int:
    """The number of the latest run of this analysis that the ledger has seen; 0 where there is none."""
    attempt = 0
    with suppress(RunStateError):  # of the first that it does not know
        while ledger.run(run_id(spec, attempt + 1, given=given)):
            attempt += 1
    return attempt


def open_ledger(spec: Spec) -> Ledger:
    """The spec's ledger, held against what the spec says of the dataset, the unit, the relation and the columns."""
    path = spec.budget.ledger
    assert path is not None
    expect = ExpectedTerms(neighbours=spec.data.neighbours, unit=spec.data.unit.terms)
    ledger = Ledger.open(path, expect=expect, registry=spec.registry, read_only=may_only_read(path))
    try:
        if ledger.terms.dataset != spec.data.name:
            raise _other_dataset(spec, ledger)
        if ledger.terms.schema:
            ExpectedTerms(schema=schema_fingerprint(spec)).check(ledger.terms, path=path, registry=spec.registry)
    except BaseException:
        ledger.close()
        raise
    return ledger


def kept_digests(spec: Spec, ledger: Ledger) -> dict[str, str]:
    """Where results beside the report say that this ledger once ended, each digest with the name of its file."""
    found: dict[str, str] = {}
    with suppress(OSError):
        for path in sorted(spec.report.parent.glob("*.json")):
            with suppress(OSError, ValueError, AttributeError, RecursionError):
                if kind_of_file(path) != "result":
                    continue
                document = json.loads(path.read_bytes())
                digest, plan = document.get("ledger_digest"), document.get("plan") or {}
                kept = plan.get("ledger") or {}
                # a restored ledger may have another address; results of earlier versions know the address alone
                if isinstance(digest, str) and (
                    kept["id"] == ledger.id if kept.get("id") else kept.get("path") == str(ledger.path)
                ):
                    found[digest] = path.name
    return found


def wait_for_approval(spec: Spec, run: str) -> None:
    """Return once somebody has approved a run; a pause of two seconds between looks."""
    with open_ledger(spec) as ledger:
        while not ledger.is_approved(run):
            ledger.close()  # nothing is held while it waits
            time.sleep(2.0)


def _other_dataset(spec: Spec, ledger: Ledger) -> DpkitError:
    """Why a ledger is of another dataset: a mistyped file, which is not there; a file of another name; or another dataset."""
    if not spec.data.is_named and spec.data.source_parameters is None:
        for pattern in (spec.data.source,) if isinstance(spec.data.source, str) else spec.data.source:
            try:
                missing = [name for name in expanded_paths(pattern) if not os.path.exists(name)]
            except SourceError as error:
                return error
            if missing:
                return no_such_file(missing[0])
    fix = "Use the ledger of this dataset."
    if not spec.data.is_named:
        fix = (
            f"{spec.data.name!r} is read off `data.source`, since `data.name` is not written. Where the data is the ledger's, "
            f"write `name: {ledger.terms.dataset}` under `data`; otherwise use the ledger of this dataset."
        )
    return LedgerDisagreementError(
        path=ledger.path, field="dataset", ledger=ledger.terms.dataset, given=spec.data.name, fix=fix
    )


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
                reason=_does_not_fit(plan, ledger),
                nearest=_no_delta_left(ledger, ledger.price(plan)) or _nearest(ledger, rescaled),
            )
        return LedgerStanding(
            path=ledger.path,
            accountant=ledger.terms.accountant.name,
            because=str(ledger.pricer.filter.because),
            price=ledger.price(plan),
            price_epsilon=epsilon_of(ledger.price(plan), ledger),
            balance=balance,
            purse=purse_of(ledger, like=plan),
            run=name,
            is_paid=paid,
            id=ledger.id,
        )


def check_affordable(plan: Event, ledger: Ledger, *, was_paid: bool) -> None:
    """`PlanRefusedError` where a run does not fit, as a new draw of one that was paid before, or on data given in memory."""
    if not ledger.fits(plan):
        nearest = "Its earlier answers are in the ledger, and cost nothing." if was_paid else ""
        raise PlanRefusedError(reason=_does_not_fit(plan, ledger), nearest=nearest)


def _does_not_fit(plan: Event, ledger: Ledger) -> str:
    asked, purse = in_words(ledger.price(plan), ledger), "; ".join(" ".join(line) for line in purse_of(ledger).lines())
    return f"The plan does not fit into the ledger {str(ledger.path)!r}: asked {asked}; {purse}."


def _no_delta_left(ledger: Ledger, asked: Loss) -> str:
    """Why no noise makes a plan fit, where it takes more delta of its own than is left for such; else nothing."""
    left = ledger.balance().remaining
    if not isinstance(asked, ZCDP | RDP) or not isinstance(left, ZCDP | RDP) or asked.delta <= left.delta:
        return ""
    return (
        f"It takes a delta of {format_up(asked.delta)} for releases that more noise does not make cheaper, as of private keys; "
        f"{format_down(left.delta)} is left for such. `dpkit ledger create --slack DELTA` sets a part of its delta aside."
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
