"""`dpkit check`, `plan`, `explain`, `compare` and `schema`: what is known of an analysis before data is read and paid for."""

from __future__ import annotations

import json
import math
from pathlib import Path

import click

from dpkit.cli.errors import answers_in_json, file_argument, outside_option
from dpkit.cli.progress import price_plan, progress_bar


@click.command()
@file_argument
@click.option("--without-data", is_flag=True, help="Also where the data is not here: do not look for its files.")
@outside_option
@answers_in_json
def check(file: str, without_data: bool, outside: bool, as_json: bool) -> None:
    """Check an analysis; every mistake is listed with its line. Reads no row, spends nothing.

    Of the data, whether the files are there and have the declared columns. What is allowed and looks like a mistake is warned
    of: an epsilon above 10, a delta above 1 / rows, a run without the ledger that its data has, a ledger that is not there or
    of other data, levels that look alike.

    Example: dpkit check analysis.yaml
    """
    from dpkit.analysis.public_warnings import check_files, public_warnings
    from dpkit.analysis.reading.load import load
    from dpkit.analysis.showing.text import counted, one_line

    spec = load(file, outside=outside)
    if not without_data:
        check_files(spec)
    warnings = public_warnings(spec)
    if as_json:
        from dpkit.analysis.ledger_standing import schema_fingerprint

        document = {
            "ok": True,
            "analysis": spec.fingerprint,
            "schema": schema_fingerprint(spec),  # what `dpkit ledger create --schema` takes
            "steps": [step.id for step in spec.steps],
            "warnings": list(warnings),
        }
        click.echo(json.dumps(document, indent=2))
    else:
        click.echo("".join(f"WARNING {one_line(text)}\n" for text in warnings), nl=False)
        click.echo(f"{file}: fine. {counted(len(spec.steps), 'step')}, {counted(len(spec.data.schema.columns), 'column')}.")


@click.command()
@file_argument
@click.option(
    "--like", metavar="FILE", help="Public rows that stand in for the data where errors are foretold, as `data.like`."
)
@outside_option
@answers_in_json
def plan(file: str, like: str | None, outside: bool, as_json: bool) -> None:
    """Price an analysis: noise, expected errors, theorems, accountants, ledger. Reads no data, spends nothing.

    With public rows that are like the data (last year's published sample, or a table that you made up), errors are foretold by
    trying the analysis on rows that are drawn from them. Never give private rows: the plan would tell of them.

    Exit code 1 when it does not fit; then the nearest plan that does is named.

    Example: dpkit plan analysis.yaml --like last-year.csv
    """
    from dpkit.analysis.reading.load import load

    found = price_plan(load(file, outside=outside), quiet=as_json, like=like)
    click.echo(json.dumps(found.as_json(), indent=2) if as_json else str(found))


@click.command()
@file_argument
@outside_option
@answers_in_json
def explain(file: str, outside: bool, as_json: bool) -> None:
    """Where epsilon goes, theorem by theorem, for the plan of an analysis. Reads no data, spends nothing.

    Example: dpkit explain analysis.yaml
    """
    from dpkit.analysis.reading.load import load

    found = price_plan(load(file, outside=outside), quiet=as_json)
    if as_json:
        document = found.as_json()
        wanted = ("epsilon", "delta", "guarantee", "steps", "relies_on", "claims", "accountants", "cannot_price")
        click.echo(json.dumps({name: document[name] for name in wanted}, indent=2))
        return
    click.echo(str(found.explanation))
    for step in found.steps:
        click.echo(f"  {step.part:7.2%}  step {step.id!r} ({step.run})")
    for claim in found.claims:
        assuming = f", assuming {', '.join(claim.assuming)}" if claim.assuming else ""
        click.echo(f"  claim    {claim.because} [{claim.status}]{assuming}")


@click.command()
@file_argument
@click.option("--picture", type=click.Path(dir_okay=False, path_type=Path), help="Also draw epsilon against delta, as SVG.")
@outside_option
@answers_in_json
def compare(file: str, picture: Path | None, outside: bool, as_json: bool) -> None:
    """What each accountant charges for the plan of an analysis, and how much noise each would need for its budget.

    Example: dpkit compare analysis.yaml --picture accountants.svg
    """
    from dpkit.analysis.outputs import check_outputs, write_output
    from dpkit.analysis.reading.load import load
    from dpkit.analysis.showing.comparison import compare_accountants
    from dpkit.analysis.showing.text import table
    from dpkit.numerics.rounding import format_up, in_full

    spec = load(file, outside=outside)
    if picture is not None:
        check_outputs(spec, {"picture": picture})
    planned = price_plan(spec, quiet=as_json)
    with progress_bar("comparing accountants", quiet=as_json) as bar:
        found = compare_accountants(planned, progress=None if bar is None else bar.tell)
    if as_json:
        click.echo(json.dumps(found.as_json(), indent=2))
    else:
        rows = []
        for row in found.rows:
            cells = [format_up(epsilon) if math.isfinite(epsilon) else "-" for epsilon in row.epsilons]
            noise = "-" if row.noise is None else format_up(row.noise, digits=4)
            rows.append((row.accountant, *cells, noise, row.why))
        head = ("accountant", *(f"eps({in_full(delta)})" for delta in found.deltas), "relative noise", "")
        click.echo("\n".join(table(head, rows)))
    if picture is not None:
        from dpkit.report.pictures import curves

        drawn = [place for place, delta in enumerate(found.deltas) if delta]
        series = [(row.accountant, [(math.log10(found.deltas[at]), row.epsilons[at]) for at in drawn]) for row in found.rows]
        title = "epsilon of each accountant against delta"
        write_output(picture, str(curves(series, title=title, across="log10 delta", up="epsilon")))
        if not as_json:
            click.echo(f"wrote {picture}")


@click.command()
@click.option("--only", multiple=True, metavar="NAME", help="With the parts of this plugin and no other; may be repeated.")
@answers_in_json
def schema(only: tuple[str, ...], as_json: bool) -> None:
    """Print the JSON Schema of an analysis with the parts of the installed plugins (with or without --json), for editors.

    Example: dpkit schema > analysis.schema.json
    """
    from dpkit.analysis.reading.json_schema import analysis_schema
    from dpkit.hooks.manager import load_plugins

    click.echo(json.dumps(analysis_schema(load_plugins(only=only or None).registry), indent=2))
