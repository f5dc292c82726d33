"""Audits of what was recorded: does a plan cover what a run charged, and does a ledger add up? No samples are drawn."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from dpkit.accounting import account
from dpkit.auditing.betting.bets import OutputEvent as Witnessed
from dpkit.auditing.betting.campaign import Finding
from dpkit.auditing.betting.profile import points_of
from dpkit.auditing.certificates.certificate import AuditCertificate
from dpkit.auditing.claim_at_pair import ClaimAtPair
from dpkit.auditing.plan_audit import AuditPlan
from dpkit.contracts.ledger_store import LedgerAddress
from dpkit.contracts.registry import Registry
from dpkit.errors import DpkitError, PlanExceededError, SerialisationError
from dpkit.hooks.manager import default_registry
from dpkit.numerics.rounding import in_full
from dpkit.pricing.serialise import parse, strict_json
from dpkit.privacy.claims import Citation, Claim
from dpkit.privacy.events import Event, as_event, flatten
from dpkit.privacy.losses import ApproxDP, Loss
from dpkit.privacy.neighbours import Neighbours
from dpkit.release.curator import Purse
from dpkit.release.ledger.ledger import Ledger
from dpkit.release.ledger.ledger_address import ledger_place, may_only_read
from dpkit.release.ledger.verify import verify
from dpkit.release.run_algorithms import RunResult

COVERAGE = "PlanCoverage(plan).take(event)"
"""What a witness against plan coverage says as code: as the first certificates did, since replays compare it."""

_DELTA = 1e-6
"""Where plan and charges are compared by price; the comparison release by release needs none."""
_ROUNDING = 1e-6
_MOST_KINDS = 64
"""Of more kinds of releases the certified interval is too slow to compute here, and the note says so."""


def audit_run(
    result: RunResult, *, neighbours: Neighbours, accountant: str = "best", registry: Registry | None = None
) -> AuditCertificate:
    """Plan coverage of a run: every release is one that the plan counted, or a cheaper one, and all cost no more than it."""
    events = [(release.key, release.event) for release in result.releases]
    return _covered(f"run:{result.run}", result.plan, events, neighbours, accountant, registry or default_registry())


def audit_trace(path: str | PathLike[str], *, registry: Registry | None = None) -> AuditCertificate:
    """Plan coverage, from the file that `trace_json` was written to."""
    known = default_registry() if registry is None else registry
    try:
        body = strict_json(Path(path).read_bytes())
        if body["dpkit-trace"] != 1:
            raise SerialisationError(reason=f"it is a trace of version {body['dpkit-trace']!r}.")
        plan = _event(body["plan"], known)
        events = [(str(release["key"]), _event(release["event"], known)) for release in body["releases"]]
        neighbours, accountant = Neighbours(body["neighbours"]), str(body["accountant"])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        if isinstance(error, SerialisationError):
            raise
        raise SerialisationError(reason=f"it is not the trace of a run ({type(error).__name__}).") from None
    return _covered(f"trace:{path}", plan, events, neighbours, accountant, known)


def audit_ledger(path: str | PathLike[str], *, registry: Registry | None = None) -> AuditCertificate:
    """Ledger replay: the chain and every entry are verified, and all that was charged is priced again, independently.

    The second price is the lower end that `pld` certifies for everything together: above the budget, the budget was exceeded
    whatever theorem the ledger spends by. It sees a ledger that does not add up; not a release that was never charged.
    """
    known = default_registry() if registry is None else registry
    with Ledger.open(path, registry=registry, read_only=may_only_read(path)) as ledger:
        verification = verify(ledger, registry=known)
        terms = ledger.terms
        charged = [_event(entry.body["event"], known) for entry in ledger.entries() if entry.is_paid]
    words = "; ".join(map(str, verification.problems))
    code = f"dpkit ledger verify {path}"
    note = verification.cannot_find
    if not words:
        words, more = _beyond(charged, terms.budget, terms.neighbours, known)
        code, note = "account(charged, accountant='pld').interval(delta=...)", f"{note} {more}".strip()
    because = Citation(key="caller", locator=f"the budget of the ledger of {terms.dataset}")
    claim = Claim(loss=terms.budget, neighbours=terms.neighbours, because=because)
    return _certificate(f"ledger:{path}", claim, "ledger replay", words, code, note)


def audit_file(path: str | PathLike[str], *, registry: Registry | None = None) -> AuditCertificate:
    """A ledger or a trace, told apart by how the file begins; what is no file is a ledger elsewhere."""
    if isinstance(ledger_place(path), LedgerAddress):
        return audit_ledger(path, registry=registry)
    with open(path, "rb") as file:
        start = file.read(16)
    return audit_ledger(path, registry=registry) if start.startswith(b"SQLite") else audit_trace(path, registry=registry)


def _covered(
    target: str,
    plan: Event,
    events: Sequence[tuple[str, Event]],
    neighbours: Neighbours,
    accountant: str,
    registry: Registry,
) -> AuditCertificate:
    purse = Purse(plan, run=target)
    planned = account(plan, accountant, neighbours, registry).epsilon(delta=_DELTA)
    words = ""
    for key, event in events:
        try:
            purse.charge(event, key=key)
        except PlanExceededError:
            words = f"the release {key} is not in what is left of the plan: {event!r}"
            break
    if not words and events:
        try:
            spent = account(as_event([event for _, event in events]), accountant, neighbours, registry).epsilon(delta=_DELTA)
        except DpkitError as error:
            words = f"what was charged cannot be priced: {type(error).__name__}"
        else:
            if spent > planned * (1.0 + _ROUNDING):
                words = f"what was charged costs epsilon = {spent!r} at delta = {in_full(_DELTA)}, and the plan {planned!r}"
    because = Citation(key="caller", locator=f"the plan of the run, by the accountant {accountant}")
    claim = Claim(loss=ApproxDP(epsilon=planned, delta=_DELTA), neighbours=neighbours, because=because)
    return _certificate(target, claim, "plan coverage", words, COVERAGE, "")


def _beyond(events: Sequence[Event], budget: Loss, neighbours: Neighbours, registry: Registry) -> tuple[str, str]:
    """In which way the certified lower end is above the budget, and why it could not be computed."""
    if not events:
        return "", ""
    whole = as_event(events)
    if len(flatten(whole)) > _MOST_KINDS:
        return "", f"more than {_MOST_KINDS} kinds of releases: not priced a second time"
    try:
        exact = account(whole, "pld", neighbours, registry)
        for point in points_of(budget):
            lower = exact.interval(delta=point.delta)[0]
            if lower > point.epsilon * (1.0 + 1e-9):
                return (
                    f"everything charged has epsilon >= {lower!r} at delta = {in_full(point.delta)}; the budget says {point}",
                    "",
                )
    except DpkitError as error:
        return "", f"not priced a second time: {type(error).__name__}"
    return "", ""


def _event(node: object, registry: Registry) -> Event:
    found = parse(json.dumps(node), registry=registry)
    if not isinstance(found, Event):
        raise SerialisationError(reason="what was charged is no event.")
    return found


def _certificate(target: str, claim: Claim, falsifier: str, words: str, code: str, note: str) -> AuditCertificate:
    plan = AuditPlan(
        target=target, subjects=(), confidence=1.0, samples=0, seed=0, floating_point=False, falsifiers=(falsifier,)
    )
    found = Finding(
        falsifier=falsifier,
        verdict="refuted" if words else "not refuted",
        log_e=math.inf if words else 0.0,
        event=Witnessed(words=words, code=code) if words else None,
        note=note,
    )
    subject = ClaimAtPair(sampler=_nothing, claim=claim, pair=("no dataset", "no dataset"))
    return plan.certify(subject, found, hypothesis="records", level=1.0)


def _nothing(dataset: object, n: int, rng: object) -> Sequence[float]:
    raise AssertionError("records are audited without samples")
