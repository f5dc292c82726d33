"""How mistakes leave the command line: a message and an exit code, never a traceback."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import IO, Any

import click

from dpkit.errors import (
    BudgetExceededError,
    BudgetUnreachableError,
    DpkitError,
    PlanExceededError,
    PlanRefusedError,
    SpecError,
)

OVER_BUDGET = (PlanRefusedError, BudgetExceededError, BudgetUnreachableError, PlanExceededError)


class Refused(click.ClickException):
    """A message and exit code 2; as JSON where the verb was asked for JSON."""

    exit_code = 2

    def __init__(self, error: DpkitError, *, as_json: bool = False) -> None:
        super().__init__(str(error))
        self._error = error
        self._as_json = as_json

    def show(self, file: IO[Any] | None = None) -> None:
        """To stderr; JSON to stdout, where the caller reads it."""
        if not self._as_json:
            click.echo(f"Error: {self.message}", err=True)
            return
        problems = [problem.as_json() for problem in self._error.problems] if isinstance(self._error, SpecError) else []
        document = {"error": type(self._error).__name__, "message": self.message, "problems": problems}
        click.echo(json.dumps(document, indent=2))


class OverBudget(Refused):
    """A message and exit code 1: the input is fine, and what it asks for is refuted or does not fit."""

    exit_code = 1


def refused(error: DpkitError, *, as_json: bool = False) -> Refused:
    """The error as the command line shows it."""
    return (OverBudget if isinstance(error, OVER_BUDGET) else Refused)(error, as_json=as_json)


DEBUG = "dpkit.debug"
"""Whether `--debug` was given, in the meta data of the command line."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
outside_option = click.option("--outside", is_flag=True, help="Results may go outside of the folder of the analysis.")
file_argument = click.argument("file", type=click.Path(dir_okay=False))


def answers_in_json(verb: Callable[..., None]) -> Callable[..., None]:
    """A verb with `--json` says also in JSON what went wrong."""

    @functools.wraps(verb)
    def wrapped(*arguments: Any, **options: Any) -> None:
        try:
            verb(*arguments, **options)
        except DpkitError as error:
            raise refused(error, as_json=bool(options.get("as_json"))) from error

    return json_option(wrapped)
