"""`dpkit explain`: where epsilon went, theorem by theorem."""

from __future__ import annotations

import json

import click

from dpkit.cli.errors import answers_in_json, file_argument, outside_option


@click.command()
@file_argument
@outside_option
@answers_in_json
def explain(file: str, outside: bool, as_json: bool) -> None:
    """Where epsilon goes, theorem by theorem, for the plan of an analysis. Reads no data, spends nothing.

    Example: dpkit explain analysis.yaml
    """
    from dpkit.analysis.reading.load import load

    priced = load(file, outside=outside).plan()
    if as_json:
        document = priced.as_json()
        wanted = ("epsilon", "delta", "guarantee", "steps", "relies_on", "claims", "accountants", "cannot_price")
        click.echo(json.dumps({name: document[name] for name in wanted}, indent=2))
        return
    click.echo(str(priced.explanation))
    for step in priced.steps:
        click.echo(f"  {step.part:7.2%}  step {step.id!r} ({step.run})")
    for claim in priced.claims:
        assuming = f", assuming {', '.join(claim.assuming)}" if claim.assuming else ""
        click.echo(f"  claim    {claim.because} [{claim.status}]{assuming}")
