"""`dpkit init`: a commented analysis to start from."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import click

from dpkit.cli.errors import answers_in_json
from dpkit.errors import MissingExtraError, OutputError

SCHEMA = "dpkit-schema.json"
"""The file by which editors complete and check analyses; its name is in the first lines of an analysis."""

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_ ./-]*[A-Za-z0-9]|[A-Za-z]")
_OTHER = {
    "add-remove": "replace-one, where the number of rows is public",
    "replace-one": "add-remove, where it is a secret who is in the data",
}
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
@click.option(
    "--from-parquet",
    type=click.Path(exists=True),
    help="A Parquet file or folder as the data: its columns are written down with their types, and no value is read.",
)
@click.option(
    "--schema/--no-schema", default=True, help="Write dpkit-schema.json beside it, by which editors complete and check."
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
    from_parquet: str | None,
    schema: bool,
    epsilon: float | None,
    delta: float | None,
    person: str | None,
    at_most: int,
    replace_one: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Write a commented analysis. Of the data, only the names of the columns are read: bounds are yours to declare.

    The first line of a CSV is read where `--header` says that it holds names: without a header it is somebody's record. Of
    Parquet the types are read, too. Where a name says what a column may hold (`age`, `latitude`), that is suggested.

    On a terminal it asks for what is not given, bounds included.

    Example: dpkit init people.csv --header --epsilon 1 --to analysis.yaml
    """
    from dpkit.analysis.outputs import check_replaceable, write_output

    if force:
        check_replaceable(to, "analysis")
    elif os.path.lexists(to):
        raise OutputError(path=to, reason="it is there already.", fix="Name another file with --to, or say --force.")
    if from_parquet is not None and source is not None:
        raise click.UsageError("State the data once: as SOURCE, or by --from-parquet.")
    asking = sys.stdin.isatty() and not as_json
    source, types = source or from_parquet, {}
    names: tuple[str, ...] = ()
    if source is not None or asking:
        source = source or str(click.prompt("Data (CSV or Parquet)", err=True))
        header = True if from_parquet is not None else _has_header(source, header, asking=asking)
        names = _names(source) if header else ()
        types = _types(source, required=from_parquet is not None)
    source = source or "data.csv"
    if epsilon is None:
        epsilon = click.prompt("Epsilon of the run", default=1.0, err=True) if asking else 1.0
    if delta is None:
        delta = click.prompt("Delta", default=1e-6, err=True) if asking else 1e-6
    if asking and person is None and names:
        person = _answer("The column that names persons, if one person has several rows") or None
        at_most = int(_answer("The most rows of one person", str(at_most))) if person else at_most
    columns = [_column(name, types.get(name, ""), asking=asking) for name in names if name != person]
    text = _rendered(
        source=os.path.relpath(source, to.parent),
        columns=columns,
        schema=SCHEMA if schema else "",
        epsilon=epsilon,
        delta=delta,
        unit="row" if person is None else f"{{column: {_quoted(person)}, at_most: {at_most}}}",
        relation="replace-one" if replace_one else "add-remove",
        report=f"out/{to.stem}-report.html",
    )
    if schema:
        _write_schema(to.parent / SCHEMA)
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


def _types(source: str, *, required: bool) -> dict[str, str]:
    """The types that Parquet files state; none of other data, which `required` refuses."""
    from dpkit.data.tables.open_source import expanded_paths, holds_csv

    if holds_csv(source):
        if required:
            raise click.UsageError(f"--from-parquet takes Parquet, and {source} is a text file: give it as SOURCE.")
        return {}
    try:
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError(package="pyarrow", extra="arrow", purpose="Parquet tables") from None
    try:
        found = parquet.read_schema(expanded_paths(source)[0])
    except (OSError, ValueError):  # pyarrow's own message may quote bytes of the file
        if required:
            raise click.UsageError(f"{source} is no Parquet file.") from None
        return {}
    return {field.name: str(field.type) for field in found}


def _answer(question: str, default: str = "") -> str:
    """What is typed; the default where no more comes, as from a file of answers."""
    try:
        return str(click.prompt(question, default=default, err=True)).strip()
    except click.Abort as ended:
        if isinstance(ended.__context__, EOFError):
            return default
        raise


def _column(name: str, kind: str, *, asking: bool) -> str:
    """The line of a column: declared where a type says everything or somebody answers, else a comment to fill in."""
    from dpkit.cli.suggested_columns import declared_by_type, suggested_by_name

    suggested = suggested_by_name(name)
    fitting = suggested if kind in ("", "bool") or not _fights(kind, suggested) else ""
    declared = declared_by_type(kind) if kind else "[LOWER, UPPER]"
    if asking:
        question = f"What may {name} be ([lower, upper], {{levels: [a, b]}}, boolean, date; empty: decide later)"
        answer = _answer(question, fitting or ("boolean" if declared == "boolean" else ""))
        if answer:
            return f"    {_quoted(name)}: {answer}"
    if declared in ("boolean", "date", "time"):
        return f"    {_quoted(name)}: {declared}"
    hint = f"  # its name suggests {fitting}: is that so?" if fitting else ""
    return f"    # {_quoted(name)}: {declared}{hint}"


def _fights(kind: str, suggested: str) -> bool:
    """Whether a type cannot hold what a name suggests."""
    is_text = "string" in kind or kind.startswith("dictionary")
    return suggested.startswith("[") if is_text else suggested.startswith("{levels")


def _write_schema(path: Path) -> None:
    """The JSON Schema for editors; one that dpkit wrote is brought up to date, anything else stays."""
    from dpkit.analysis.reading.json_schema import analysis_schema
    from dpkit.hooks.manager import installed_plugins

    schema = analysis_schema(installed_plugins().registry)
    if path.exists() and f'"title": "{schema["title"]}"' not in path.read_text(encoding="utf-8", errors="replace")[:500]:
        fix = "Move it away, or say --no-schema."
        raise OutputError(path=path, reason="it is there, and is no schema of an analysis.", fix=fix)
    path.write_text(json.dumps(schema, indent=2), encoding="utf-8")


def _rendered(
    *,
    source: str,
    columns: list[str],
    schema: str,
    epsilon: float,
    delta: float,
    unit: str,
    relation: str,
    report: str,
) -> str:
    from dpkit.hooks.manager import installed_plugins
    from dpkit.numerics.rounding import in_full

    algorithms = ", ".join(factory.name for factory in installed_plugins().registry.algorithms) or "none; see `dpkit plugins`"
    tokens = {
        "source": _quoted(source),
        "unit": unit,
        "relation": relation,
        "other": _OTHER[relation],
        "editor": f"# yaml-language-server: $schema={schema}\n" if schema else "",
        "columns": "\n".join(columns) or "    # age: [0, 120]",
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
