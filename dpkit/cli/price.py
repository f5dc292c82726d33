"""`dpkit price`: what a run costs that is described by a text or a JSON file."""

from __future__ import annotations

import json

import click

from dpkit.cli.errors import answers_in_json
from dpkit.cli.progress import progress_bar


@click.command()
@click.argument("run", metavar="EVENT|FILE")
@click.option("--delta", type=float, default=1e-6, show_default=True, help="The delta at which epsilon is read.")
@click.option("--accountant", default="best", show_default=True, help="Whose price is reported; the others are compared.")
@click.option(
    "--neighbours",
    type=click.Choice(["add-remove", "replace-one"]),
    default="add-remove",
    show_default=True,
    help="What one record may do.",
)
@click.option("--steps", type=int, help="How many steps were taken, where the file does not say.")
@answers_in_json
def price(run: str, delta: float, accountant: str, neighbours: str, steps: int | None, as_json: bool) -> None:
    """What a run costs: an event as text, or a JSON file of dpkit, dp-accounting, Opacus or jax_privacy. Spends nothing.

    Prints the certified interval, the theorems, what each accountant says, and what had to be assumed.

    Example: dpkit price "1000 x gaussian(ratio=1.0) sampled at 0.01" --delta 1e-6
    """
    from dpkit.interchange import price as priced
    from dpkit.privacy.neighbours import Neighbours

    with progress_bar("pricing", quiet=as_json):
        found = priced(run, delta=delta, accountant=accountant, neighbours=Neighbours(neighbours), steps=steps)
        shown = json.dumps(found.as_json(), indent=2) if as_json else str(found)
    click.echo(shown)
