"""`dpkit doctor`: what is installed here, which path runs, and whether ledgers verify."""

from __future__ import annotations

import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

import click

from dpkit._version import __version__
from dpkit.cli.ledger_summary import JSON_OPTION
from dpkit.values import dataclass

_OFFERS = {
    "pyarrow": ("arrow", "Parquet and Arrow tables"),
    "pandas": ("frames", "results as data frames"),
    "sqlglot": ("sql", "`where` and `let`"),
    "psycopg": ("postgres", "ledgers in PostgreSQL"),
    "dp-accounting": ("exchange", "writing events of dp-accounting"),
    "opacus": ("opacus", "training with Opacus"),
    "starlette": ("serve", "`dpkit serve`"),
    "cryptography": ("signing", "signed certificates"),
    "hypothesis": ("testing", "`dpkit plugins check`"),
}
"""What a package of an extra is for. A test holds this against pyproject.toml."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """One line: what was looked at, how it is, and how to mend it where it is wrong (`ok` is False)."""

    subject: str
    state: str
    ok: bool = True
    fix: str = ""


@click.command()
@click.argument("ledgers", metavar="[LEDGER...]", nargs=-1)
@JSON_OPTION
@click.pass_context
def doctor(context: click.Context, ledgers: tuple[str, ...], as_json: bool) -> None:
    """Say what is installed, what it is good for, which path computes, and whether ledgers verify.

    Ledgers are those given, else the files *.ledger of this folder. Exit code 1 where something is wrong; an extra that is not
    installed is not wrong.

    Example: dpkit doctor flights.ledger
    """
    from pathlib import Path

    places = ledgers or tuple(str(path) for path in sorted(Path().glob("*.ledger")))
    found = [*_itself(), *_plugins(), *_extras(), *(_ledger(place) for place in places)]
    healthy = all(one.ok for one in found)
    if as_json:
        lines = [{"subject": one.subject, "state": one.state, "ok": one.ok, "fix": one.fix} for one in found]
        click.echo(json.dumps({"dpkit": 1, "ok": healthy, "findings": lines}, indent=2))
    else:
        width = max(len(one.subject) for one in found)
        for one in found:
            click.echo(f"{'  ' if one.ok else '! '}{one.subject:<{width}}  {one.state}{f' {one.fix}' if one.fix else ''}")
        click.echo("All is well." if healthy else "Something is wrong: see the lines that begin with `!`.")
    context.exit(0 if healthy else 1)


def _itself() -> list[Diagnosis]:
    found = [
        Diagnosis(subject="dpkit", state=__version__),
        Diagnosis(subject="python", state=f"{platform.python_version()} on {platform.system()} ({platform.machine()})"),
    ]
    for name in ("numpy", "scipy"):
        found.append(Diagnosis(subject=name, state=version(name)))
    compiled = _version("numba")
    found.append(
        Diagnosis(
            subject="passes over rows",
            state=f"numpy; compiled by numba {compiled} where that pays, with the same answers"
            if compiled
            else "numpy alone; `pip install 'dpkit-irls[fast]'` compiles them, with the same answers",
        )
    )
    if sys.flags.optimize:
        fix = "Run Python without -O."
        found.append(Diagnosis(subject="python -O", state="checks are switched off.", ok=False, fix=fix))
    return found


def _plugins() -> list[Diagnosis]:
    from dpkit.hooks.manager import load_plugins

    found = []
    for plugin in load_plugins().plugins:
        if plugin.name == "dpkit":
            continue
        subject = f"plugin {plugin.name}"
        if plugin.problems:
            fix = "`dpkit plugins` says more."
            found.append(Diagnosis(subject=subject, state=f"left out: {plugin.problems[0]}", ok=False, fix=fix))
        else:
            adds = sorted(kind for kind, names in plugin.adds.items() if names)
            slow = f"; {plugin.slow}" if plugin.slow else ""
            found.append(Diagnosis(subject=subject, state=f"{plugin.version}: {', '.join(adds)}{slow}"))
    return found


def _extras() -> list[Diagnosis]:
    found = []
    for package, (extra, purpose) in _OFFERS.items():
        known = _version(package)
        state = f"{known}: {purpose}" if known else f"not installed; for {purpose}: pip install 'dpkit[{extra}]'"
        found.append(Diagnosis(subject=package, state=state))
    return found


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _ledger(place: str) -> Diagnosis:
    from dpkit.errors import DpkitError
    from dpkit.release.ledger.ledger_address import ledger_place
    from dpkit.release.ledger.verify import verify_file

    shown = place
    try:
        shown = str(ledger_place(place))  # without a password
        checked = verify_file(place)
    except DpkitError as error:
        return Diagnosis(subject=f"ledger {shown}", state=str(error), ok=False)
    if checked.problems:
        first = f"does not verify: {checked.problems[0]}"
        return Diagnosis(subject=f"ledger {shown}", state=first, ok=False, fix="`dpkit ledger verify` lists everything.")
    return Diagnosis(subject=f"ledger {shown}", state=f"verifies, {checked.entries} entries")
