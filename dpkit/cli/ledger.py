"""`dpkit ledger`: create, show, verify and export a dataset's budget, and close what was abandoned."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

if TYPE_CHECKING:
    from dpkit.privacy.losses import Loss
    from dpkit.release.ledger.entries import Entry
    from dpkit.release.ledger.ledger import Ledger


_FILE = click.Path(dir_okay=False)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


@click.group()
def ledger() -> None:
    """A dataset's budget in one file, which many runs share. Exit codes: 0 fine, 1 a check failed, 2 wrong input.

    Example: dpkit ledger create flights.ledger --dataset flights --epsilon 1 --delta 1e-6
    """


@ledger.command()
@click.argument("path", type=_FILE)
@click.option("--dataset", required=True, help="The name of the dataset.")
@click.option("--epsilon", type=float, help="The budget's epsilon (alone: pure; with --delta: approximate).")
@click.option("--delta", type=float, help="The budget's delta.")
@click.option("--rho", type=float, help="Instead of epsilon: a zCDP budget.")
@click.option("--mu", type=float, help="Instead of epsilon: a Gaussian DP budget.")
@click.option("--accountant", help="pure, advanced, zcdp, rdp or gdp. [default: what the budget suggests]")
@click.option("--neighbours", type=click.Choice(["add-remove", "replace-one"]), default="add-remove", show_default=True)
@click.option("--column", help="The privacy unit is a person, named by this column (with --at-most). [default: a row]")
@click.option("--at-most", type=int, help="The most rows that one person has.")
@click.option("--schema", default="", help="The fingerprint of the declared columns.")
@click.option("--slack", type=float, default=0.0, help="The part of delta set aside for approximate releases.")
@_JSON
def create(
    path: str,
    dataset: str,
    epsilon: float | None,
    delta: float | None,
    rho: float | None,
    mu: float | None,
    accountant: str | None,
    neighbours: str,
    column: str | None,
    at_most: int | None,
    schema: str,
    slack: float,
    as_json: bool,
) -> None:
    """Make a new ledger; what is fixed here stays fixed.

    Example: dpkit ledger create flights.ledger --dataset flights --epsilon 1 --delta 1e-6 --column passenger --at-most 3
    """
    from dpkit.privacy.neighbours import Neighbours
    from dpkit.release.ledger.ledger import Ledger

    if (column is None) != (at_most is None):
        raise click.UsageError(
            "--column and --at-most belong together: name the person's column, and the most rows of one person."
        )
    budget, suggested = _budget(epsilon, delta, rho, mu)
    with Ledger.create(
        path,
        budget=budget,
        dataset=dataset,
        accountant=accountant or suggested,
        neighbours=Neighbours(neighbours),
        unit="row" if column is None else {"column": column, "at_most": at_most},
        schema=schema,
        slack=slack,
    ) as made:
        click.echo(_summary(made, as_json=as_json))


@ledger.command()
@click.argument("path", type=_FILE)
@click.option("--run", help="Only this run's entries.")
@click.option("--entries", "with_entries", is_flag=True, help="List the entries, too.")
@_JSON
def show(path: str, run: str | None, with_entries: bool, as_json: bool) -> None:
    """The terms of a ledger, what is spent, held and left, and on request its entries.

    Example: dpkit ledger show flights.ledger --entries
    """
    with _opened(path) as opened:
        entries = opened.entries(run) if with_entries or run is not None else None
        click.echo(_summary(opened, as_json=as_json, entries=entries))


@ledger.command()
@click.argument("path", type=_FILE)
@click.argument("run")
@click.option("--yes", is_flag=True, help="Do it; without this, only what it would do is shown.")
@_JSON
def close(path: str, run: str, yes: bool, as_json: bool) -> None:
    """End a run that nobody will resume: what it holds and did not spend is free for others. What it spent stays spent.

    Example: dpkit ledger close flights.ledger 3f2a --yes
    """
    with _opened(path) as opened:
        before = opened.run(run)
        if yes:
            opened.close_run(run)
        elif before.is_open and not as_json:
            click.echo(f"{run} is open. Closed, it cannot be resumed, and its reservation is given back: repeat with --yes.")
        click.echo(_summary(opened, as_json=as_json))


@ledger.command()
@click.argument("path", type=_FILE)
@click.option("--head", type=click.File(), help="A head, or an export, that was kept elsewhere: then a rollback is found, too.")
@click.option(
    "--since", metavar="DIGEST", help="The digest that an earlier run printed: then a log that was cut back is found."
)
@_JSON
@click.pass_context
def verify(context: click.Context, path: str, head: TextIO | None, since: str | None, as_json: bool) -> None:
    """Recompute the chain, every price and every total. Exit code 1 when anything is not as it was written.

    A digest, or a head, that was kept outside the file finds what the file alone cannot show. One that is unknown: exit code 1.

    Example: dpkit ledger verify flights.ledger --since 6dfd1363600a...
    """
    from dpkit.release.ledger.entries import Head
    from dpkit.release.ledger.verify import verify_file

    found = verify_file(path, head=None if head is None else Head.from_json(head.read()), since=since)
    if as_json:
        document = {
            "dpkit": 1,
            "ok": found.ok,
            "entries": found.entries,
            "head": json.loads(found.head.as_json()),
            "since": found.since,
            "problems": [{"entry": problem.seq, "what": problem.what} for problem in found.problems],
            "cannot_find": found.cannot_find,
        }
        click.echo(json.dumps(document, indent=2))
    else:
        for problem in found.problems:
            click.echo(f"PROBLEM {problem}")
        click.echo(f"{found.entries} entries, {'all as they were written' if found.ok else f'{len(found.problems)} problems'}.")
        if found.since is not None:
            click.echo(f"The digest given is that of entry {found.since}; {found.head.seq - found.since} came after it.")
        if found.cannot_find:
            click.echo(found.cannot_find)
    context.exit(0 if found.ok else 1)


@ledger.command()
@click.argument("path", type=_FILE)
@click.option("--to", type=click.Path(dir_okay=False, writable=True), help="Write to this file instead of the terminal.")
@click.option("--head-only", is_flag=True, help="Only the last line: the head, to be kept where the ledger is not.")
@_JSON
def export(path: str, to: str | None, head_only: bool, as_json: bool) -> None:
    """The log as JSON lines (with or without --json), its head last. Keep it elsewhere, for `verify --head`.

    Example: dpkit ledger export flights.ledger --head-only --to flights.head
    """
    from dpkit.analysis.outputs import check_replaceable, write_output
    from dpkit.release.ledger.verify import export_lines

    if to is not None:
        check_replaceable(Path(to), "export of a ledger")
    with _opened(path) as opened:
        text = "\n".join([opened.head().as_json()] if head_only else export_lines(opened))
    if to is None:
        click.echo(text)
    else:
        write_output(Path(to), text + "\n")


def _opened(path: str) -> Ledger:
    from dpkit.release.ledger.ledger import Ledger

    return Ledger.open(path, read_only=os.path.exists(path) and not os.access(path, os.W_OK))


def _budget(epsilon: float | None, delta: float | None, rho: float | None, mu: float | None) -> tuple[Loss, str]:
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


def _summary(opened: Ledger, *, as_json: bool, entries: tuple[Entry, ...] | None = None) -> str:
    from dpkit.pricing.serialise import dump

    terms, balance, head = opened.terms, opened.balance(), opened.head()
    losses = {"spent": balance.spent, "held": balance.held, "remaining": balance.remaining, "limit": balance.limit}
    if as_json:
        document: dict[str, object] = {
            "dpkit": 1,
            "path": str(opened.path),
            "ledger": opened.id,
            "terms": terms.as_json(),
            "because": str(opened.pricer.filter.because),
            **{name: json.loads(dump(loss)) for name, loss in losses.items()},
            "digest": head.hash,
            "head": json.loads(head.as_json()),
        }
        if entries is not None:
            document["entries"] = [{**entry.body, "hash": entry.hash} for entry in entries]
        return json.dumps(document, indent=2)
    lines = [
        f"ledger      {opened.path}",
        f"dataset     {terms.dataset}" + (f" (schema {terms.schema})" if terms.schema else ""),
        f"budget      {terms.budget}",
        f"accountant  {terms.accountant.name}: {opened.pricer.filter.because}",
        f"neighbours  {terms.neighbours}, unit {terms.unit}",
        *(f"{name:<11} {loss}" for name, loss in losses.items()),
        f"digest      {head.hash} (entry {head.seq})",
    ]
    for entry in entries or ():
        state = f" -> {entry.state}" if entry.state else ""
        lines.append(f"{entry.seq:>6}  {entry.when}  {entry.who}  {entry.kind}{state}  {entry.run} {entry.key}".rstrip())
    return "\n".join(lines)
