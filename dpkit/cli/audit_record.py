"""`dpkit audit record`: run a function on two datasets with the same noisy answers, and say what still differs."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from dpkit.cli.audit_output import Output
from dpkit.cli.audit_target import claim_of, claim_options, load_target, read_pair


@click.command()
@click.argument("target")
@claim_options
@click.option("--pair", "pair_text", help="The two neighbouring datasets as JSON.")
@click.option("--data", nargs=2, type=click.Path(exists=True, dir_okay=False), help="Two neighbouring files, CSV or JSON.")
@click.option(
    "--neighbours", type=click.Choice(["add-remove", "replace-one"]), help="The relation; where not given, rows tell."
)
@click.option("--unit", help="The column of people: neighbours differ in the rows of one of them.")
@click.option(
    "--primitive", "primitives", multiple=True, help="What noise is drawn with, such as numpy.random; else all known."
)
@click.option("--runs", default=3, show_default=True, help="How often, in each direction.")
@click.option("--audit-primitives", is_flag=True, help="Audit by samples what primitives draw; otherwise they are trusted.")
@click.option("--samples", default=20_000, show_default=True, help="Budget of samples for each primitive.")
@click.option("--seed", type=int, help="Makes the runs repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print the certificates as JSON.")
@click.option("--sarif", type=click.Path(dir_okay=False), help="Also write a SARIF file.")
def record(
    target: str,
    pair_text: str | None,
    data: tuple[str, str] | None,
    neighbours: str | None,
    unit: str | None,
    primitives: tuple[str, ...],
    runs: int,
    audit_primitives: bool,
    samples: int,
    seed: int | None,
    as_json: bool,
    sarif: str | None,
    **claim: Any,
) -> None:
    """Record the noise that TARGET draws on one dataset, replay the same noisy answers on its neighbour, and say what differs.

    Exit codes: 0 nothing was found, 1 something was, 2 wrong input. A few runs are enough: with the same answers a program must
    go the same way and return the same, and the answers together may cost no more than is claimed.

    Example: dpkit audit record mymodule:release --epsilon 1 --pair "[[1], [1, 2]]"
    """
    from dpkit.auditing.recording.record import record as run
    from dpkit.privacy.neighbours import Neighbours

    output = Output(as_json=as_json, junit=None, sarif=sarif, html=None)
    output.check()
    pair, loss = read_pair(pair_text, data), claim_of(**claim)
    if pair is None or loss is None:
        raise click.UsageError("Give a claim (--epsilon, --rho or --mu) and two datasets (--pair or --data).")
    found = run(
        load_target(target),  # type: ignore[arg-type]
        loss,
        pair,
        primitives=primitives or None,
        runs=runs,
        audited=audit_primitives,
        samples=samples,
        rng=seed,
        neighbours=None if neighbours is None else Neighbours(neighbours),
        unit=unit,
    )
    if as_json:
        body = {"findings": found.findings, "certificates": [json.loads(one.to_json()) for one in found.certificates]}
        click.echo(json.dumps(body, indent=2))
        output.files(found.certificates)
    else:
        output.write(found.certificates)
    sys.exit(1 if found.refuted else 0)
