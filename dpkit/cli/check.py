"""`dpkit check`: whether an analysis is as it should be."""

from __future__ import annotations

import json

import click

from dpkit.cli.errors import answers_in_json, file_argument, outside_option


@click.command()
@file_argument
@outside_option
@answers_in_json
def check(file: str, outside: bool, as_json: bool) -> None:
    """Check an analysis; every mistake is listed with its line. Reads no data, spends nothing.

    Example: dpkit check analysis.yaml
    """
    from dpkit.analysis.ledger_standing import schema_fingerprint
    from dpkit.analysis.reading.load import load
    from dpkit.analysis.showing.text import counted

    spec = load(file, outside=outside)
    if as_json:
        document = {
            "ok": True,
            "analysis": spec.fingerprint,
            "schema": schema_fingerprint(spec),  # what `dpkit ledger create --schema` takes
            "steps": [step.id for step in spec.steps],
        }
        click.echo(json.dumps(document, indent=2))
    else:
        click.echo(f"{file}: fine. {counted(len(spec.steps), 'step')}, {counted(len(spec.data.schema.columns), 'column')}.")
