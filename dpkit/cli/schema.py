"""`dpkit schema`: the JSON Schema of an analysis."""

from __future__ import annotations

import json

import click

from dpkit.cli.errors import answers_in_json


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
