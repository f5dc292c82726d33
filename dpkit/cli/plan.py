"""`dpkit plan`: what an analysis will cost and how good it will be."""

from __future__ import annotations

import json

import click

from dpkit.cli.errors import answers_in_json, file_argument, outside_option


@click.command()
@file_argument
@outside_option
@answers_in_json
def plan(file: str, outside: bool, as_json: bool) -> None:
    """Price an analysis: noise, expected errors, theorems, accountants, ledger. Reads no data, spends nothing.

    Exit code 1 when it does not fit; then the nearest plan that does is named.

    Example: dpkit plan analysis.yaml
    """
    from dpkit.analysis.reading.load import load

    priced = load(file, outside=outside).plan()
    click.echo(json.dumps(priced.as_json(), indent=2) if as_json else str(priced))
