"""`dpkit run`: carry an analysis out, and write the result."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from dpkit.cli.analyses import priced
from dpkit.cli.errors import DEBUG, answers_in_json, file_argument, outside_option
from dpkit.cli.progress import RunProgress, progress_bar

if TYPE_CHECKING:
    from dpkit.analysis.plan import Plan


@click.command()
@file_argument
@click.option("--yes", is_flag=True, help="Charge the ledger without asking.")
@click.option("--dry-run", is_flag=True, help="Stop before anything is charged or read; print the plan.")
@click.option("--simulate", is_flag=True, help="On made-up data of the declared columns, with seeded noise; stamped, and free.")
@click.option("--seed", default=0, show_default=True, help="The seed of a simulation.")
@click.option("--again", is_flag=True, help="Pay for a new draw of an analysis that the ledger has seen already.")
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
    again: bool,
    outside: bool,
    as_json: bool,
) -> None:
    """Run an analysis: plan, charge, then release. Writes result.json, trace.json and the report.

    With a ledger, an analysis that was interrupted goes on, and one that was run gives back its answers; neither pays twice.
    Exit code 1 when it does not fit, or was interrupted; 2 for wrong input, which costs nothing.

    Example: dpkit run analysis.yaml --yes
    """
    from dpkit.analysis.outputs import check_outputs, outputs_of
    from dpkit.analysis.reading.load import load
    from dpkit.analysis.run_plan import check_writable, open_data, run_plan
    from dpkit.report.html import write_report

    plan = priced(load(file, outside=outside), quiet=as_json)
    if dry_run:
        click.echo(json.dumps(plan.as_json(), indent=2) if as_json else f"{plan}\nDry run: nothing was charged or read.")
        return
    report = plan.spec.report.with_name(f"simulation-{plan.spec.report.name}") if simulate else plan.spec.report
    prefix = "simulation-" if simulate else ""
    check_outputs(plan.spec, outputs_of(report, prefix=prefix))
    check_writable(report)
    if simulate:
        with progress_bar("simulating", quiet=as_json):
            result = plan.simulate(seed=seed)
    else:
        if context.meta.get(DEBUG):
            raise click.UsageError("--debug shows what plugins raise, which may quote rows: say --simulate with it.")
        with progress_bar("opening the data", quiet=as_json):
            source = open_data(plan.spec)  # whatever is wrong with the source is said before anybody is asked to pay
        _confirm(plan, yes=yes, again=again)
        with progress_bar("running", quiet=as_json) as bar:
            progress = None if bar is None else RunProgress(plan, source, bar)
            result = run_plan(plan, source=source, progress=progress, again=again)
    # answers are shown even when they cannot be written: they are paid for
    click.echo(json.dumps(result.as_json(), indent=2) if as_json else str(result))
    written = [*result.write(report.parent, prefix=prefix), write_report(result, report)]
    if not as_json:
        click.echo("\n".join(f"wrote {name}" for name in written))
    context.exit(0 if result.is_complete else 1)


def _confirm(plan: Plan, *, yes: bool, again: bool) -> None:
    """Ask on a terminal before a ledger is charged; a script says --yes."""
    ledger = plan.ledger
    if ledger is None or yes or (ledger.is_paid and not again):
        return
    if not sys.stdin.isatty():
        raise click.UsageError(f"This run charges the ledger {str(ledger.path)!r}. Say --yes to let it.")
    click.echo(f"{plan.sentence}\nprice  {ledger.price}\nleft   {ledger.balance.remaining}", err=True)
    click.confirm(f"Charge {ledger.path}?", abort=True, err=True)
