"""What the verbs of `dpkit ledger` share: opening one, reading a budget off options, and showing one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from dpkit.privacy.losses import Loss
    from dpkit.release.ledger.entries import Entry
    from dpkit.release.ledger.ledger import Ledger

JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


def opened_ledger(path: str) -> Ledger:
    """The ledger of a path, an address or a name."""
    from dpkit.release.ledger.ledger import Ledger
    from dpkit.release.ledger.ledger_address import may_only_read

    return Ledger.open(path, read_only=may_only_read(path))


def budget_of(epsilon: float | None, delta: float | None, rho: float | None, mu: float | None) -> tuple[Loss, str]:
    """The budget that the options state, and the accountant that suits it."""
    from dpkit.privacy.losses import GDP, ZCDP, ApproxDP, PureDP

    if sum(option is not None for option in (epsilon, rho, mu)) != 1:
        raise click.UsageError("State one budget: --epsilon (with --delta, or alone), --rho, or --mu.")
    if mu is not None and delta is None:
        return GDP(mu=mu), "gdp"
    if rho is not None:
        return ZCDP(rho=rho, delta=delta or 0.0), "zcdp"
    if epsilon is None:
        raise click.UsageError("--mu has no --delta: Gaussian DP is one number.")
    return (ApproxDP(epsilon=epsilon, delta=delta), "zcdp") if delta else (PureDP(epsilon=epsilon), "pure")


def ledger_summary(opened: Ledger, *, as_json: bool, entries: tuple[Entry, ...] | None = None) -> str:
    """What `dpkit ledger` prints of a ledger: its terms, what is spent, held and left, and entries where they are asked for."""
    from dpkit.pricing.serialise import dump
    from dpkit.release.ledger.balance_in_epsilon import purse_of

    terms, balance, head = opened.terms, opened.balance(), opened.head()
    losses = {"spent": balance.spent, "reserved": balance.reserved, "held": balance.held, "remaining": balance.remaining}
    losses["limit"] = balance.limit
    purse = purse_of(opened)
    if as_json:
        document: dict[str, object] = {
            "dpkit": 1,
            "path": str(opened.path),
            "ledger": opened.id,
            "terms": terms.as_json(),
            "because": str(opened.pricer.filter.because),
            **{name: json.loads(dump(loss)) for name, loss in losses.items()},
            "epsilon": purse.as_json(),
            "closed": opened.why_closed() or None,
            "digest": head.hash,
            "head": json.loads(head.as_json()),
        }
        if entries is not None:
            document["entries"] = [{**entry.body, "hash": entry.hash} for entry in entries]
        return json.dumps(document, indent=2)
    lines = [
        f"ledger      {opened.path}",
        *([f"CLOSED      {opened.why_closed()}"] if opened.why_closed() else []),
        f"dataset     {terms.dataset}" + (f" (schema {terms.schema})" if terms.schema else ""),
        *(f"{name:<11} {words}" for name, words in purse.lines()),
        *(f"{'':<11} {words}" for words in [purse.adding()] if words),
        f"accountant  {terms.accountant.name}: {opened.pricer.filter.because}",
        f"neighbours  {terms.neighbours}, unit {terms.unit}",
        *(["approval    runs wait until somebody else approves them"] if terms.approval else []),
        f"limit       {balance.limit}",
        f"digest      {head.hash} (entry {head.seq})",
    ]
    for entry in entries or ():
        state = f" -> {entry.state}" if entry.state else ""
        lines.append(f"{entry.seq:>6}  {entry.when}  {entry.who}  {entry.kind}{state}  {entry.run} {entry.key}".rstrip())
    return "\n".join(lines)
