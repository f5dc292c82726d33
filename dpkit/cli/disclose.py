"""`dpkit disclose`: what the public should know of an analysis or a ledger."""

from __future__ import annotations

import json
from pathlib import Path

import click

from dpkit.cli.errors import answers_in_json, outside_option
from dpkit.cli.progress import price_plan


@click.command()
@click.argument("source", metavar="FILE|LEDGER")
@click.option("--to", "folder", type=click.Path(file_okay=False, path_type=Path), help="The folder to write into.")
@outside_option
@answers_in_json
def disclose(source: str, folder: Path | None, outside: bool, as_json: bool) -> None:
    """Disclose an analysis or a ledger: an entry for the deployments registry of OpenDP and NIST, a page along NIST SP 800-226,
    and a label for the public. Reads no data, spends nothing.

    Writes three files beside the report, or beside the ledger, and prints the entry. What only a person knows says TO FILL IN.

    Example: dpkit disclose analysis.yaml
    """
    from dpkit.analysis.reading.load import load
    from dpkit.report.disclosure import disclose_ledger, disclose_plan

    if source.lower().endswith((".yaml", ".yml")):
        plan = price_plan(load(source, outside=outside), quiet=as_json)
        found, place = disclose_plan(plan), plan.spec.report.parent
    else:
        from dpkit.release.ledger.ledger import Ledger

        with Ledger.open(source, read_only=True) as ledger:
            found = disclose_ledger(ledger, ledger.terms.dataset)
            place = Path(source).parent if "://" not in source else Path()
    target = place if folder is None else folder
    target.mkdir(parents=True, exist_ok=True)
    written = found.write(target)
    click.echo(json.dumps(found.document, indent=2) if as_json else found.yaml, nl=as_json)
    for path in written:
        click.echo(f"wrote {path}", err=True)
