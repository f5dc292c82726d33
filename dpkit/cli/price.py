"""`dpkit price`: what a run costs that is described by a text or a JSON file."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from dpkit.cli.errors import answers_in_json
from dpkit.cli.progress import progress_bar


class _TakesEvents(click.Command):
    """An event with a minus sign before it is an event that is refused with a reason, and no option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        signed = [arg for arg in args if arg.startswith("-") and "(" in arg]
        others = [arg for arg in args if arg not in signed]
        return super().parse_args(ctx, [*others, "--", *signed] if signed and "--" not in args else args)


@click.command(cls=_TakesEvents)
@click.argument("run", metavar="EVENT|FILE|-")
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

    A single - reads either from the standard input.

    Prints the certified interval, the theorems, what each accountant says, and what had to be assumed.

    Example: dpkit price "1000 x gaussian(ratio=1.0) sampled at 0.01" --delta 1e-6
    """
    from dpkit.interchange import price as priced
    from dpkit.privacy.neighbours import Neighbours

    source = sys.stdin.read().strip() if run == "-" else Path(run) if _is_file(run) else run
    with progress_bar("pricing", quiet=as_json):
        found = priced(source, delta=delta, accountant=accountant, neighbours=Neighbours(neighbours), steps=steps)
        shown = json.dumps(found.as_json(), indent=2) if as_json else str(found)
    click.echo(shown)


def _is_file(run: str) -> bool:
    try:
        return Path(run).is_file()
    except (OSError, ValueError):  # too long for a name, or with a zero in it
        return False
