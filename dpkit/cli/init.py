"""`dpkit init`: a commented analysis to start from."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import click

from dpkit.cli.errors import answers_in_json
from dpkit.errors import OutputError

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_ ./-]*[A-Za-z0-9]|[A-Za-z]")
_WORDS = ("true", "false", "null", "yes", "no", "on", "off", "y", "n")


@click.command()
@click.argument("source", required=False)
@click.option(
    "--to",
    type=click.Path(dir_okay=False, path_type=Path),
    default="analysis.yaml",
    show_default=True,
    help="The file to write.",
)
@click.option(
    "--header/--no-header",
    default=None,
    help="The first line of a CSV names its columns: write them down. [default: asks on a terminal, else no]",
)
@click.option("--epsilon", type=float, help="The budget of the run. [default: 1.0]")
@click.option("--delta", type=float, help="Its delta. [default: 1e-6]")
@click.option("--person", help="The column that names persons. [default: each row is one person]")
@click.option("--at-most", type=int, default=1, show_default=True, help="The most rows of one person that are used.")
@click.option("--replace-one", is_flag=True, help="The number of rows is public, and neighbours differ in one of them.")
@click.option("--force", is_flag=True, help="Replace an analysis that is there.")
@answers_in_json
def init(
    source: str | None,
    to: Path,
    header: bool | None,
    epsilon: float | None,
    delta: float | None,
    person: str | None,
    at_most: int,
    replace_one: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Write a commented analysis. Of the data, only the names of the columns are read: bounds are yours to declare.

    The first line of a CSV is read where `--header` says that it holds names: without a header it is somebody's record.

    On a terminal it asks for what is not given.

    Example: dpkit init people.csv --header --epsilon 1 --to analysis.yaml
    """
    from dpkit.analysis.outputs import check_replaceable, write_output

    if force:
        check_replaceable(to, "analysis")
    elif os.path.lexists(to):
        raise OutputError(path=to, reason="it is there already.", fix="Name another file with --to, or say --force.")
    asking = sys.stdin.isatty() and not as_json
    names: tuple[str, ...] = ()
    if source is not None or asking:
        source = source or str(click.prompt("Data (CSV or Parquet)", err=True))
        header = _has_header(source, header, asking=asking)
        names = _names(source) if header else ()
    source = source or "data.csv"
    if epsilon is None:
        epsilon = click.prompt("Epsilon of the run", default=1.0, err=True) if asking else 1.0
    if delta is None:
        delta = click.prompt("Delta", default=1e-6, err=True) if asking else 1e-6
    text = _rendered(
        source=os.path.relpath(source, to.parent),
        names=names,
        epsilon=epsilon,
        delta=delta,
        unit="row" if person is None else f"{{column: {_quoted(person)}, at_most: {at_most}}}",
        relation="replace-one" if replace_one else "add-remove",
        report=f"out/{to.stem}-report.html",
    )
    write_output(to, text)
    if as_json:
        click.echo(json.dumps({"wrote": str(to), "columns": list(names)}, indent=2))
    else:
        click.echo(f"wrote {to}\nNext: declare the columns and steps in it, then `dpkit plan {to}`.")
        if header is False:
            click.echo(
                "The first line of the data was not read. `--header` writes the names down that it holds; a CSV needs them."
            )


def _has_header(source: str, said: bool | None, *, asking: bool) -> bool:
    """Whether the file holds names, and no record in their place: Parquet does, of a CSV only its owner knows."""
    from dpkit.data.tables.open_source import holds_csv

    is_csv = holds_csv(source)
    if said is not None:
        return said
    question = "Does its first line name the columns? They are written down; a record would be, too"
    return not is_csv or (asking and click.confirm(question, default=False, err=True))


def _names(source: str) -> tuple[str, ...]:
    from dpkit.data.tables.open_source import open_table

    return open_table(source).names


def _rendered(
    *, source: str, names: tuple[str, ...], epsilon: float, delta: float, unit: str, relation: str, report: str
) -> str:
    from dpkit.hooks.manager import installed_plugins
    from dpkit.numerics.rounding import in_full

    algorithms = ", ".join(factory.name for factory in installed_plugins().registry.algorithms) or "none; see `dpkit plugins`"
    tokens = {
        "source": _quoted(source),
        "unit": unit,
        "relation": relation,
        "columns": "\n".join(f"    # {_quoted(name)}: [LOWER, UPPER]" for name in names) or "    # age: [0, 120]",
        "epsilon": in_full(epsilon),
        "delta": in_full(delta),
        "algorithms": algorithms,
        "report": _quoted(report),
    }
    template = Path(__file__).with_name("analysis.yaml.tmpl").read_text(encoding="utf-8")
    return re.sub("@([a-z]+)@", lambda token: tokens[token.group(1)], template)


def _quoted(text: str) -> str:
    """A text as YAML reads it back."""
    plain = _PLAIN.fullmatch(text) and text.casefold() not in _WORDS
    return text if plain else json.dumps(text)
