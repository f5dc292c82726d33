"""What stewards do with a ledger: approve runs, count what a lost copy had charged, and notice that one is behind."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping, Sequence

from dpkit.contracts.ledger_store import LedgerAddress, has_role_of
from dpkit.errors import InvalidValueError, LedgerBehindError, RunStateError
from dpkit.privacy.events import Event, as_event
from dpkit.privacy.filter_amounts import plus
from dpkit.privacy.losses import Loss
from dpkit.release.ledger.entries import APPROVAL, Entry, Totals, read_entry, written_amounts
from dpkit.release.ledger.ledger import Ledger
from dpkit.release.ledger.log import surroundings
from dpkit.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What a run asked for when it was reserved: who, when and where, and what its plan costs; None where it has no plan."""

    who: str
    when: str
    machine: str
    versions: Mapping[str, str]
    analysis: str
    price: Loss | None
    event: object


def request_of(ledger: Ledger, run: str) -> RunRequest:
    """The request of a run; `RunStateError` where the ledger knows none of this name."""
    with ledger.log() as log:
        account = ledger.account(log, run)
        first = log.check_since(run)
    versions = first.body.get("versions")
    return RunRequest(
        who=first.who,
        when=first.when,
        machine=str(first.body.get("machine") or ""),
        versions={str(name): str(version) for name, version in versions.items()} if isinstance(versions, dict) else {},
        analysis=account.analysis,
        price=None if account.plan is None else ledger.pricer.gauge.spent(account.plan),
        event=first.body.get("event"),
    )


def approve(ledger: Ledger, run: str, *, certificates: Sequence[str] | None = None) -> Entry:
    """Let a run charge, on a ledger that asks for it; by somebody else than who reserved it. Approving twice is fine.

    `certificates` are the digests of the audit that came before; None where there was none.
    """
    with ledger.log(writes=True) as log:
        account, first = ledger.account(log, run), log.check_since(run)
        known = log.latest(run, APPROVAL)
        if known is not None and known.kind == "approve":
            return known
        if not ledger.terms.approval:
            raise RunStateError(path=ledger.path, reason="its runs need no approval.", fix="Nothing was written.")
        same = has_role_of if isinstance(ledger.path, LedgerAddress) else operator.eq
        if same(first.who, ledger.author):
            raise RunStateError(
                path=ledger.path,
                reason=f"{ledger.author!r} reserved the run {run!r}, and cannot approve it.",
                fix="Nothing was written. Somebody else approves it.",
            )
        more: dict[str, object] = {**surroundings()}
        if certificates is not None:
            more["audit"] = {"certificates": list(certificates)}
        log.append("approve", run=run, key=APPROVAL, account=account, totals=log.totals, more=more)
        return log.entry(log.seq)


def write_off(ledger: Ledger, event: Event | Iterable[Event], *, since: str) -> None:
    """Count what was charged after this ledger was copied, and is missing from it: a backup was put in its place.

    `since` is the digest that a result has kept and this log does not hold. Results with that digest are accepted again. It may
    be more than is left: it was spent, whatever the budget says. Then nothing more is granted.
    """
    if not re.fullmatch(r"[0-9a-f]{64}", since.strip().lower()):
        allowed = "the digest that a result has kept: 64 hexadecimal digits"
        raise InvalidValueError(field="since", found=since, allowed=allowed, where="write_off")
    priced = ledger.pricer.price(as_event(event))
    if not any(priced.amounts):
        allowed = "a loss above zero: a result was kept of what was charged"
        raise InvalidValueError(field="loss", found="nothing", allowed=allowed, where="write_off")
    digest = since.strip().lower()
    if any(entry.hash == digest or entry.body.get("since") == digest for entry in ledger.entries()):
        allowed = "a digest that this ledger lacks, and that was not written off before"
        raise InvalidValueError(field="since", found=since, allowed=allowed, where="write_off")
    with ledger.log(writes=True) as log:
        more = Totals(spent=plus(log.totals.spent, priced.amounts), held=plus(log.totals.held, priced.amounts))
        said: dict[str, object] = {
            "event": priced.written,
            "price": written_amounts(priced.amounts),
            "since": digest,
            **surroundings(),
        }
        log.append("write-off", run="", account=None, totals=more, more=said)


def check_not_behind(ledger: Ledger, digests: Mapping[str, str]) -> None:
    """Refuse a ledger that lacks what was charged: `digests` that results have kept, each with where it was found."""
    wanted = {kept.strip().lower(): where for kept, where in digests.items()}
    if not wanted:
        return
    with ledger.store.transaction(writes=False) as found:
        for seq, text, value, hash, *_ in found.rows():
            wanted.pop(hash, None)
            if wanted and '"kind":"write-off"' in text:
                wanted.pop(str(read_entry(seq, text, value, hash).body.get("since")), None)
    for wanting, where in wanted.items():
        raise LedgerBehindError(
            path=ledger.path,
            reason=f"{where} says that it once ended at {wanting[:12]}..., and it holds no such entry: charges are missing.",
            fix="Nothing was charged. Put the newer ledger back. If it is lost, a steward says how much to count as spent: "
            f"`dpkit ledger write-off LEDGER --since {wanting} ...`. If the result is of another ledger, move it away.",
        )
