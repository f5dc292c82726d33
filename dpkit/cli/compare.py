"""`dpkit compare`: accountants side by side for one plan."""

from __future__ import annotations

import json
import math
from pathlib import Path

import click

from dpkit.cli.errors import answers_in_json, file_argument, outside_option


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
    found = compare_accountants(spec.plan())
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

        finite = [place for place, delta in enumerate(found.deltas) if delta]
        series = [
            (row.accountant, [(math.log10(found.deltas[place]), row.epsilons[place]) for place in finite]) for row in found.rows
        ]
        title = "epsilon of each accountant against delta"
        write_output(picture, str(curves(series, title=title, across="log10 delta", up="epsilon")))
        if not as_json:
            click.echo(f"wrote {picture}")
