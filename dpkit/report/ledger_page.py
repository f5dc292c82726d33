"""The page of ledgers: what is spent, held and left, the runs, and what everything together tells of a person. No write.

It holds what the log says of runs (names, authors, prices), which is public to whoever may read the ledger, and no released
value. This file says what is shown, the template ledger_page.html how; it escapes every value.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path

from markupsafe import Markup

from dpkit._version import __version__
from dpkit.accounting import account
from dpkit.analysis.showing.html import render
from dpkit.analysis.showing.text import release_sentence
from dpkit.contracts.registry import Registry
from dpkit.errors import DpkitError
from dpkit.numerics.rounding import percent_up
from dpkit.pricing.event_text import event_text
from dpkit.pricing.serialise import parse
from dpkit.privacy.events import Compose, Event, Repeat
from dpkit.privacy.filter_amounts import Amounts
from dpkit.release.ledger.balance_in_epsilon import LedgerPurse, epsilon_of, loss_text, purse_of, reading_delta
from dpkit.release.ledger.entries import Entry, RunAccount, Totals
from dpkit.release.ledger.ledger import Ledger
from dpkit.release.ledger.verify import verify
from dpkit.report.found_audits import FoundAudit
from dpkit.report.pictures import Point, curves, gauge
from dpkit.values import dataclass

_MOMENTS = 60
_RATES = 40
_UNITS = (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0), ("seconds", 1.0))
_MORE = (1, 2, 5, 10, 20, 50, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRun:
    """One run as the page lists it; prices in words."""

    id: str
    who: str
    when: str
    machine: str
    versions: str
    analysis: str
    state: str
    planned: str
    spent: str
    spent_epsilon: float
    releases: int
    sentence: str
    plan: str
    approval: str
    audit: FoundAudit | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownLedger:
    """One ledger as the page shows it."""

    place: str
    dataset: str
    terms: tuple[tuple[str, str], ...]
    purse: LedgerPurse
    runs: tuple[ShownRun, ...]
    more: tuple[tuple[int, str], ...]
    gauge: Markup
    over_time: Markup
    tradeoff: Markup
    power: str
    problems: tuple[str, ...]
    closed: str
    entries: int


def ledger_page(ledgers: Sequence[Ledger], *, audits: Mapping[str, FoundAudit] | None = None) -> str:
    """The whole page, self-contained: no request leaves it. `audits` are shown with the runs of their analyses."""
    shown = [shown_ledger(ledger, audits or {}) for ledger in ledgers]
    title = f"Privacy budget of {shown[0].dataset}" if len(shown) == 1 else f"Privacy budgets of {len(shown)} datasets"
    return str(
        render(
            "report/ledger_page.html",
            ledgers=shown,
            title=title,
            version=__version__,
            script=Markup(script()),
            policy=content_policy(),
        )
    )


def content_policy() -> str:
    """What a browser may do with the page: show it, and run its one script."""
    digest = base64.b64encode(hashlib.sha256(script().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


@cache
def script() -> str:
    """The script that searches and sorts the table of runs."""
    return (Path(__file__).parent / "ledger_page.js").read_text(encoding="utf-8")


def shown_ledger(ledger: Ledger, audits: Mapping[str, FoundAudit]) -> ShownLedger:
    """What the page says of one ledger."""
    entries, terms, checked = ledger.entries(), ledger.terms, verify(ledger)
    unit = (
        terms.unit if isinstance(terms.unit, str) else f"person ({terms.unit['column']}), at most {terms.unit['at_most']} rows"
    )
    charged = [entry for entry in entries if entry.is_paid]
    tradeoff, power = _tradeoff(charged, ledger)
    purse = purse_of(ledger)
    return ShownLedger(
        place=str(ledger.path),
        dataset=terms.dataset,
        terms=(
            ("neighbours", str(terms.neighbours)),
            ("unit", unit),
            ("accountant", terms.accountant.name),
            ("approval", "runs wait until somebody else approves them" if terms.approval else "not asked for"),
            ("digest", f"{checked.head.hash} (entry {checked.head.seq})"),
        ),
        purse=purse,
        gauge=gauge(*purse.parts),
        runs=_runs(entries, ledger, audits),
        more=_more(entries, ledger),
        over_time=_over_time(entries, ledger, purse.budget[0]),
        tradeoff=tradeoff,
        power=power,
        problems=tuple(map(str, checked.problems)),
        closed=ledger.why_closed(),
        entries=checked.entries,
    )


def _runs(entries: Sequence[Entry], ledger: Ledger, audits: Mapping[str, FoundAudit]) -> tuple[ShownRun, ...]:
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.run:
            found.setdefault(entry.run, []).append(entry)
    return tuple(_run(run, of_run, ledger, audits) for run, of_run in found.items())[::-1]


def _run(run: str, entries: Sequence[Entry], ledger: Ledger, audits: Mapping[str, FoundAudit]) -> ShownRun:
    first, now = entries[0], RunAccount.from_json(entries[-1].body)
    kinds = Counter(entry.kind for entry in entries)
    waits = ledger.terms.approval and not kinds["approve"]
    spent = ledger.pricer.gauge.spent(now.spent)
    versions = first.body.get("versions")
    epsilon = epsilon_of(spent, ledger)
    return ShownRun(
        id=run,
        who=first.who,
        when=first.when[:19].replace("T", " "),
        machine=str(first.body.get("machine") or ""),
        versions=", ".join(f"{name} {version}" for name, version in versions.items()) if isinstance(versions, dict) else "",
        analysis=now.analysis,
        state="closed" if not now.is_open else "waits for approval" if waits else "open",
        planned="pays as it goes" if now.plan is None else _in_words(now.plan, ledger),
        spent=_in_words(now.spent, ledger),
        spent_epsilon=float("inf") if epsilon is None else epsilon,
        releases=kinds["release"],
        sentence=_sentence(epsilon, ledger),
        plan=reserved_text(first.body.get("event"), ledger.registry),
        approval=next((_approval(entry) for entry in entries if entry.kind == "approve"), ""),
        audit=audits.get(now.analysis),
    )


def _sentence(epsilon: float | None, ledger: Ledger) -> str:
    """What the run has told so far of one that is protected; losses that no epsilon bounds have none."""
    if epsilon is None:
        return ""
    unit = ledger.terms.unit
    who = "one row" if isinstance(unit, str) else f"one person ({unit['column']}, at most {unit['at_most']} rows)"
    return release_sentence(epsilon, reading_delta(ledger), who=who, neighbours=ledger.terms.neighbours) + "."


def reserved_text(written: object, registry: Registry) -> str:
    """What was reserved, as `dpkit price` reads it; as it was written where a plugin that is not here knows it."""
    if written is None:
        return ""
    try:
        event = parse(json.dumps(written), registry=registry)
    except DpkitError:
        return json.dumps(written, indent=1)
    assert isinstance(event, Event)
    return event_text(event)


def _approval(entry: Entry) -> str:
    audit = entry.body.get("audit")
    tried = ", after an audit that refuted nothing" if isinstance(audit, dict) else ", without an audit"
    return f"approved by {entry.who} on {entry.when[:19].replace('T', ' ')}{tried}"


def _in_words(amounts: Amounts, ledger: Ledger) -> str:
    loss = ledger.pricer.gauge.spent(amounts)
    return loss_text(epsilon_of(loss, ledger), loss, up=True)


def _more(entries: Sequence[Entry], ledger: Ledger) -> tuple[tuple[int, str], ...]:
    """What would be spent in all after more runs like the last one that had a plan; None fits beyond the last row."""
    plans = [RunAccount.from_json(entry.body).plan for entry in entries if entry.kind == "reserve"]
    known = [plan for plan in plans if plan is not None]
    if not known:
        return ()
    held, gauge = Totals.from_json(entries[-1].body.get("totals")).held, ledger.pricer.gauge
    rows = []
    for count in _MORE:
        total = tuple(one + count * part for one, part in zip(held, known[-1], strict=True))
        if not gauge.fits(total):
            break
        rows.append((count, _in_words(total, ledger)))
    return tuple(rows)


def _over_time(entries: Sequence[Entry], ledger: Ledger, budget: float | None) -> Markup:
    """Epsilon against the time since the ledger was created: what is spent, that with what is held, and the budget above."""
    begin, end = (datetime.fromisoformat(entry.when) for entry in (entries[0], entries[-1]))
    unit, seconds = next((unit for unit in _UNITS if (end - begin).total_seconds() >= 2 * unit[1]), _UNITS[-1])
    step = max(1, len(entries) // _MOMENTS)
    spent: list[Point] = []
    taken: list[Point] = []
    for entry in [*entries[::step], *entries[-1:]]:
        totals = Totals.from_json(entry.body.get("totals"))
        epsilons = [epsilon_of(ledger.pricer.gauge.spent(one), ledger) for one in (totals.spent, totals.held)]
        since = (datetime.fromisoformat(entry.when) - begin).total_seconds() / seconds
        since = max(since, spent[-1][0] if spent else 0.0)
        if epsilons[0] is not None and epsilons[1] is not None:
            spent.append((since, epsilons[0]))
            taken.append((since, epsilons[1]))
    if len(spent) < 2 or spent[-1][0] <= 0.0 or max(one for _, one in taken) <= 0.0:
        return Markup("")
    series = [("spent", spent), ("spent and held", taken)]
    if budget is not None:
        series.append(("budget", [(0.0, budget), (spent[-1][0], budget)]))
    return curves(series, title="spent and held over time", across=f"{unit} since it was created", up="epsilon")


def _tradeoff(charged: Sequence[Entry], ledger: Ledger) -> tuple[Markup, str]:
    """The best attack on everything that was charged so far, and its power at 5% false alarms; nothing where none is known."""
    counts = Counter(json.dumps(entry.body.get("event"), sort_keys=True) for entry in charged)
    if not counts:
        return Markup(""), ""
    try:
        events: list[Event] = []
        for text, times in counts.items():
            event = parse(text, registry=ledger.registry)
            assert isinstance(event, Event)
            events.append(Repeat(event=event, times=times))
        guarantee = account(
            Compose(events=tuple(events)), ledger.pricer.filter.theorem.accountant, neighbours=ledger.terms.neighbours
        )
        rates = [(place / _RATES) ** 2 for place in range(_RATES + 1)]
        whole = [(rate, guarantee.power(rate)) for rate in rates]
        power = percent_up(guarantee.power(0.05))
    except DpkitError:
        return Markup(""), ""
    series = [("any attack on what was released", whole), ("a mere guess", [(rate, rate) for rate in rates])]
    return curves(series, title="trade-off curve", across="false-alarm rate", up="true-positive rate", height=300.0), power
