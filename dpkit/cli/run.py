"""`dpkit run`: carry an analysis out, and write the result."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from dpkit.cli.errors import DEBUG, answers_in_json, file_argument, outside_option
from dpkit.cli.progress import RunProgress, price_plan, progress_bar

if TYPE_CHECKING:
    from dpkit.analysis.plan import Plan


@click.command()
@file_argument
@click.option("--yes", is_flag=True, help="Charge the ledger without asking.")
@click.option("--dry-run", is_flag=True, help="Stop before anything is charged or read; print the plan.")
@click.option("--simulate", is_flag=True, help="On made-up data of the declared columns, with seeded noise; stamped, and free.")
@click.option("--seed", default=0, show_default=True, help="The seed of a simulation.")
@click.option("--no-wait", is_flag=True, help="Where the ledger asks for approval: reserve, and stop.")
@click.option("--again", is_flag=True, help="Pay for a new draw of an analysis that the ledger has seen already.")
@click.option("--tables", type=click.Choice(["csv", "parquet"]), help="Also write the table of each step, as NAME-STEP.csv.")
@outside_option
@answers_in_json
@click.pass_context
def run(
    context: click.Context,
    file: str,
    yes: bool,
    dry_run: bool,
    simulate: bool,
    seed: int,
    no_wait: bool,
    again: bool,
    tables: str | None,
    outside: bool,
    as_json: bool,
) -> None:
    """Run an analysis: plan, charge, then release. Writes the report, the result and the trace,
    named after the analysis; what other runs wrote stays.

    With a ledger, an analysis that was interrupted goes on, and one that was run gives back its answers; neither pays twice.
    Exit code 1 when it does not fit, or was interrupted; 2 for wrong input, which costs nothing.

    Example: dpkit run analysis.yaml --yes
    """
    from dpkit.analysis.ledger_standing import wait_for_approval
    from dpkit.analysis.outputs import check_outputs, outputs_of
    from dpkit.analysis.reading.load import load
    from dpkit.analysis.run_plan import check_writable, open_data, run_plan
    from dpkit.errors import ApprovalNeededError
    from dpkit.report.html import write_outputs

    plan = price_plan(load(file, outside=outside), quiet=as_json)
    if dry_run:
        click.echo(json.dumps(plan.as_json(), indent=2) if as_json else f"{plan}\nDry run: nothing was charged or read.")
        return
    outputs = outputs_of(plan.spec, simulated=simulate)
    check_outputs(plan.spec, outputs)
    check_writable(outputs["report"])
    if simulate:
        with progress_bar("simulating", quiet=as_json):
            result = plan.simulate(seed=seed)
    else:
        if context.meta.get(DEBUG):
            raise click.UsageError("--debug shows what plugins raise, which may quote rows: say --simulate with it.")
        with progress_bar("opening the data", quiet=as_json):
            source = open_data(plan.spec)  # whatever is wrong with the source is said before anybody is asked to pay
        _confirm(plan, yes=yes, again=again)
        while True:
            try:
                with progress_bar("running", quiet=as_json) as bar:
                    progress = None if bar is None else RunProgress(plan, source, bar)
                    result = run_plan(plan, source=source, progress=progress, again=again)
                break
            except ApprovalNeededError as error:
                if no_wait:
                    raise
                click.echo(f"{error.reason} `dpkit ledger approve {error.path} {error.run}` lets it go on.", err=True)
                wait_for_approval(plan.spec, error.run)
                again = False  # the new run is reserved; it goes on
    # answers are shown even when they cannot be written: they are paid for
    click.echo(json.dumps(result.as_json(), indent=2) if as_json else str(result))
    new, places = write_outputs(result)
    if tables is not None:
        places += result.write_tables(outputs["report"].parent, format=tables)
    if not as_json:
        click.echo("\n".join(f"{'wrote' if new else 'there already'} {place}" for place in places))
    context.exit(0 if result.is_complete else 1)


def _confirm(plan: Plan, *, yes: bool, again: bool) -> None:
    """Ask on a terminal before a ledger is charged; a script says --yes."""
    from dpkit.release.ledger.balance_in_epsilon import loss_text

    ledger = plan.ledger
    if ledger is None or yes or (ledger.is_paid and not again):
        return
    if not sys.stdin.isatty():
        raise click.UsageError(f"This run charges the ledger {str(ledger.path)!r}. Say --yes to let it.")
    price = loss_text(ledger.price_epsilon, ledger.price, up=True)
    lines = [plan.sentence, f"price   {price}", *(f"{name:<7} {words}" for name, words in ledger.purse.lines())]
    lines += [ledger.purse.adding()] if ledger.purse.adding() else []
    click.echo("\n".join(lines), err=True)
    click.confirm(f"Charge {ledger.path}?", abort=True, err=True)
