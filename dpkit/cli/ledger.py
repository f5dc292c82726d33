"""`dpkit ledger`: create, show, verify and export a dataset's budget, close what was abandoned; and what stewards do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TextIO

import click

from dpkit.cli.ledger_steward import approve, copy, page, write_off
from dpkit.cli.ledger_summary import JSON_OPTION, budget_of, ledger_summary, opened_ledger


@click.group()
def ledger() -> None:
    """A dataset's budget in one place, which many runs share: a file, an address of a database, or a name of your list.

    Exit codes: 0 fine, 1 a check failed, 2 wrong input.

    Example: dpkit ledger create flights.ledger --dataset flights --epsilon 1 --delta 1e-6
    """


@ledger.command()
@click.argument("path", metavar="LEDGER")
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
@click.option("--approve", "approval", is_flag=True, help="Runs wait until somebody else approves them.")
@JSON_OPTION
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
    approval: bool,
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
    budget, suggested = budget_of(epsilon, delta, rho, mu)
    with Ledger.create(
        path,
        budget=budget,
        dataset=dataset,
        accountant=accountant or suggested,
        neighbours=Neighbours(neighbours),
        unit="row" if column is None else {"column": column, "at_most": at_most},
        schema=schema,
        slack=slack,
        approval=approval,
    ) as made:
        click.echo(ledger_summary(made, as_json=as_json))


@ledger.command()
@click.argument("path", metavar="LEDGER")
@click.option("--run", help="Only this run's entries.")
@click.option("--entries", "with_entries", is_flag=True, help="List the entries, too.")
@JSON_OPTION
def show(path: str, run: str | None, with_entries: bool, as_json: bool) -> None:
    """The terms of a ledger, what is spent, held and left, and on request its entries.

    Example: dpkit ledger show flights.ledger --entries
    """
    with opened_ledger(path) as opened:
        entries = opened.entries(run) if with_entries or run is not None else None
        click.echo(ledger_summary(opened, as_json=as_json, entries=entries))


@ledger.command()
@click.argument("path", metavar="LEDGER")
@click.argument("run")
@click.option("--yes", is_flag=True, help="Do it; without this, only what it would do is shown.")
@JSON_OPTION
def close(path: str, run: str, yes: bool, as_json: bool) -> None:
    """End a run that nobody will resume: what it holds and did not spend is free for others. What it spent stays spent.

    Example: dpkit ledger close flights.ledger 3f2a --yes
    """
    with opened_ledger(path) as opened:
        before = opened.run(run)
        if yes:
            opened.close_run(run)
        elif before.is_open and not as_json:
            click.echo(f"{run} is open. Closed, it cannot be resumed, and its reservation is given back: repeat with --yes.")
        click.echo(ledger_summary(opened, as_json=as_json))


@ledger.command()
@click.argument("path", metavar="LEDGER")
@click.option("--head", type=click.File(), help="A head, or an export, that was kept elsewhere: then a rollback is found, too.")
@click.option(
    "--since", metavar="DIGEST", help="The digest that an earlier run printed: then a log that was cut back is found."
)
@JSON_OPTION
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
@click.argument("path", metavar="LEDGER")
@click.option("--to", type=click.Path(dir_okay=False, writable=True), help="Write to this file instead of the terminal.")
@click.option("--head-only", is_flag=True, help="Only the last line: the head, to be kept where the ledger is not.")
@JSON_OPTION
def export(path: str, to: str | None, head_only: bool, as_json: bool) -> None:
    """The log as JSON lines (with or without --json), its head last. Keep it elsewhere, for `verify --head`.

    Example: dpkit ledger export flights.ledger --head-only --to flights.head
    """
    from dpkit.analysis.outputs import check_replaceable, write_output
    from dpkit.release.ledger.verify import export_lines

    if to is not None:
        check_replaceable(Path(to), "export of a ledger")
    with opened_ledger(path) as opened:
        text = "\n".join([opened.head().as_json()] if head_only else export_lines(opened))
    if to is None:
        click.echo(text)
    else:
        write_output(Path(to), text + "\n")


for verb in (copy, approve, write_off, page):
    ledger.add_command(verb)
