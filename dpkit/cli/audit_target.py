"""What the command line audits: a target by its path, a program, a service; its datasets; and which pairs are searched."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dpkit.errors import InvalidValueError
    from dpkit.privacy.losses import Loss

_OPTIONS = (
    click.option("--command", help='Audit a program instead: "./prog {data}", given the path of a dataset, {seed} a number.'),
    click.option("--http", help="Audit a service instead: an address that is sent a dataset as JSON by POST."),
    click.option("--data", nargs=2, type=click.Path(exists=True, dir_okay=False), help="Two neighbouring files, CSV or JSON."),
    click.option(
        "--neighbours", type=click.Choice(["add-remove", "replace-one"]), help="The relation; where not given, the rows tell."
    ),
    click.option("--unit", help="The column of people: neighbours differ in the rows of one of them."),
    click.option("--search", help="module:function that draws pairs of neighbours of a generator; the worst is audited."),
    click.option("--table", type=click.Path(exists=True, dir_okay=False), help="Search hard pairs of tables like this CSV."),
    click.option("--bounds", help='With --table: the bounds of its columns as JSON, such as {"age": [0, 100]}.'),
    click.option("--tries", default=64, show_default=True, help="Pairs that a search draws."),
    click.option("--jobs", default=1, show_default=True, help="Processes that draw the outputs of a slow target."),
)


_CLAIMS = (
    click.option("--epsilon", type=float, help="Claim epsilon-DP, or (epsilon, delta)-DP with --delta."),
    click.option("--delta", type=float, default=0.0, help="See --epsilon."),
    click.option("--rho", type=float, help="Claim rho-zCDP."),
    click.option("--mu", type=float, help="Claim mu-GDP."),
)


def claim_options(command: Callable[..., None]) -> Callable[..., None]:
    """What is claimed."""
    for option in reversed(_CLAIMS):
        command = option(command)
    return command


def claim_of(epsilon: float | None, delta: float, rho: float | None, mu: float | None) -> Loss | None:
    """The loss that the options claim; None where they claim nothing."""
    from dpkit.privacy.losses import GDP, ZCDP, ApproxDP, PureDP

    if sum(number is not None for number in (epsilon, rho, mu)) > 1:
        raise click.UsageError("Give one of --epsilon, --rho and --mu.")
    if epsilon is not None:
        return ApproxDP(epsilon=epsilon, delta=delta) if delta else PureDP(epsilon=epsilon)
    if rho is not None:
        return ZCDP(rho=rho, delta=delta)
    return None if mu is None else GDP(mu=mu)


def target_options(command: Callable[..., None]) -> Callable[..., None]:
    """What is audited, where it is no mechanism of dpkit, and at which pairs."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def program_options(command: Callable[..., None]) -> Callable[..., None]:
    """A program or a service, as it was audited, and its files."""
    for option in reversed(_OPTIONS[:3]):
        command = option(command)
    return command


def audited(
    target: str | None, command: str | None, http: str | None, *, jobs: int = 1, timeout: float | None = None
) -> object:
    """The one target that was named: a function, a mechanism, a program or a service; None where none was."""
    if sum(one is not None for one in (target, command, http)) > 1:
        raise click.UsageError("Give one of a target, --command and --http.")
    if command is not None or http is not None:
        from dpkit.auditing.targets.programs import CommandTarget, HttpTarget

        if command is not None:
            return CommandTarget(command, jobs=jobs, timeout=timeout)
        assert http is not None
        return HttpTarget(http, jobs=jobs, timeout=timeout)
    return None if target is None else load_target(target)


def load_target(text: str) -> object:
    """What this names: module:function, file.py:function, notebook.ipynb:function, or a mechanism as Python writes it."""
    from dpkit.auditing.certificates.recipe import mechanism_of
    from dpkit.auditing.targets.load_function import load_function
    from dpkit.hooks.manager import default_registry

    return load_function(text) if ":" in text else mechanism_of(text, default_registry())


def read_pair(
    text: str | None, data: tuple[str, str] | tuple[()] | None = None, *, paths: bool = False
) -> tuple[object, object] | None:
    """Two datasets: JSON of the command line, or two files; a program is given the files themselves."""
    if data and text is not None:
        raise click.UsageError("Give one of --pair and --data.")
    if data:
        one, two = (Path(file) if paths else _read_file(Path(file)) for file in data)
        return one, two
    if text is None:
        return None
    try:
        one, two = json.loads(text)
    except (TypeError, ValueError):
        raise click.UsageError(f'--pair must be two datasets as JSON, such as "[0.0, 1.0]"; got {text!r}.') from None
    return one, two


def _read_file(path: Path) -> object:
    """A table as a data frame of pandas, JSON as Python has it."""
    try:
        if path.suffix == ".json":
            return json.loads(path.read_text(encoding="utf-8"))
        import pandas
    except ImportError:
        raise click.UsageError("--data with CSV files needs pandas: pip install 'dpkit[frames]'.") from None
    except ValueError:
        raise click.UsageError(f"{path} is no JSON.") from None
    return pandas.read_csv(path)


def pair_options(
    neighbours: str | None, unit: str | None, search: str | None, tries: int, table: str | None, bounds: str | None
) -> dict[str, Any]:
    """The options of `dpkit.audit` that say which pairs there are."""
    from dpkit.privacy.neighbours import Neighbours

    if (table is None) != (bounds is None) or (table is not None and search is not None):
        raise click.UsageError("Give --table with --bounds, or --search.")
    relation = None if neighbours is None else Neighbours(neighbours)
    found = None if search is None else load_target(search)
    if table is not None and bounds is not None:
        found = _table_pairs(Path(table), bounds, relation or Neighbours.ADD_REMOVE)
    return {
        "neighbours": relation,
        "unit": unit,
        "search": found,
        "tries": tries,
    }


def _table_pairs(path: Path, bounds: str, neighbours: Any) -> object:
    from dpkit.auditing.search.table_pairs import hard_pairs

    try:
        given = json.loads(bounds)
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise click.UsageError('--bounds must be JSON by column, such as {"age": [0, 100]}.')
    return hard_pairs(_read_file(path), bounds=given, neighbours=neighbours)


_OF_FUNCTIONS = (
    "--at", "--epsilon", "--delta", "--rho", "--mu", "--family", "--rate", "--steps", "--data", "--neighbours", "--search",
    "--unit", "--table", "--bounds", "--tries", "--jobs", "--pair", "--timeout", "--floating-point",
)  # fmt: skip


def check_unused(what: str, *used: str) -> None:
    """Refuse options that would do nothing: whoever gives one believes that it is heard."""
    from click.core import ParameterSource

    ctx = click.get_current_context()
    given = [one for one in ctx.command.params if ctx.get_parameter_source(one.name or "") is ParameterSource.COMMANDLINE]
    unheard = [option for one in given for option in one.opts if option in _OF_FUNCTIONS and option not in used]
    if unheard:
        raise click.UsageError(f"{unheard[0]} says nothing of {what}, which brings its own claims and pairs: leave it out.")


_MISSING = {
    "claim": "Say what is claimed: --epsilon (and --delta), --rho or --mu.",
    "pair": "Say where to look: --pair, --data, --search, or --table with --bounds.",
}


def in_options(error: InvalidValueError) -> Exception:
    """The error as somebody at the command line can repair it: by options, where nothing was given."""
    missing = error.where == "audit" and error.found is None and str(error.field) in _MISSING
    return click.UsageError(_MISSING[str(error.field)]) if missing else error
