"""`dpkit plugins`, `dpkit plugins check NAME` and `dpkit new-plugin NAME`."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dpkit.errors import PluginError

if TYPE_CHECKING:
    from dpkit.hooks.manager import Plugin
    from dpkit.testing.run_laws import CheckResult

_MARKS = {"passed": "ok", "failed": "FAILED", "skipped": "skipped", "unchecked": "UNCHECKED"}
"""How each outcome of a law is shown."""


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option("--only", multiple=True, metavar="NAME", help="Load this plugin and no other; may be repeated.")
@click.pass_context
def plugins(context: click.Context, as_json: bool, only: tuple[str, ...]) -> None:
    """List the installed plugins: version, hooks, what each adds, and why one was left out.

    Example: dpkit plugins --json
    """
    if context.invoked_subcommand is not None:
        return
    from dpkit.hooks.manager import load_plugins

    found = load_plugins(only=only or None).plugins
    if as_json:
        click.echo(json.dumps([_as_dict(plugin) for plugin in found], indent=2))
    else:
        click.echo("\n".join(line for plugin in found for line in _lines(plugin)))


@plugins.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option("--law", "wanted", multiple=True, metavar="LAW", help="Run this law only; may be repeated.")
@click.option("--seed", default=0, show_default=True, help="The seed of the kit's searches and samples.")
@click.option("--seconds", type=click.FloatRange(min=0.0, min_open=True), help="CPU time of one law; 120 unless given.")
def check(name: str, as_json: bool, wanted: tuple[str, ...], seed: int, seconds: float | None) -> None:
    """Run the conformance kit on an installed plugin. Exit code 1 where a law is broken.

    `skipped` says that a law does not speak of the subject, `UNCHECKED` that it does and that the kit cannot try it.

    Example: dpkit plugins check hello
    """
    try:
        from dpkit.testing.plugin_laws import laws_of_installed
        from dpkit.testing.run_laws import LAW_SECONDS, run_checks
    except ModuleNotFoundError as missing:
        fix = 'Install it with `pip install "dpkit[testing]"`.'
        raise PluginError(plugin=name, reason=f"the kit needs {missing.name}.", fix=fix) from None
    checks = [item for item in laws_of_installed(name, seed=seed) if not wanted or item.law in wanted]
    if not checks:
        raise PluginError(plugin=name, reason="no law of that name applies to it.", fix="Leave out --law to run all of them.")
    results = []
    for result in run_checks(checks, seconds=LAW_SECONDS if seconds is None else seconds):
        results.append(result)
        if not as_json:
            click.echo(_result_line(results[-1]))
    counts: Counter[str] = Counter(result.outcome for result in results)
    if as_json:
        click.echo(json.dumps([result._asdict() for result in results], indent=2))
    else:
        click.echo(", ".join(f"{counts[outcome]} {outcome}" for outcome in _MARKS))
    if counts["failed"]:
        raise click.exceptions.Exit(1)


@click.command("new-plugin")
@click.argument("name")
@click.option(
    "--kind",
    type=click.Choice(["mechanism", "algorithm", "query", "source", "accountant", "engine"]),
    default="mechanism",
    show_default=True,
    help="What the plugin adds.",
)
@click.option("--into", type=click.Path(file_okay=False, path_type=Path), default=".", help="Where its folder is made.")
@click.option("--json", "as_json", is_flag=True, help="Print the files written as JSON.")
def new_plugin(name: str, kind: str, into: Path, as_json: bool) -> None:
    """Write a complete plugin, dpkit-NAME: what it adds, its laws as tests, README and CI.

    Example: dpkit new-plugin my-noise --kind mechanism
    """
    from dpkit.cli.scaffold import write_plugin

    files = write_plugin(name, into, kind)
    if as_json:
        click.echo(json.dumps([str(path) for path in files], indent=2))
        return
    for path in files:
        click.echo(f"wrote {path}")
    click.echo(f'Next: cd {into / f"dpkit-{name}"} && pip install -e ".[test]" && pytest')


def _as_dict(plugin: Plugin) -> dict[str, object]:
    return {
        "name": plugin.name,
        "distribution": plugin.distribution,
        "version": plugin.version,
        "location": plugin.location,
        "hooks": list(plugin.hooks),
        "adds": {kind: list(names) for kind, names in plugin.adds.items()},
        "healthy": plugin.healthy,
        "problems": list(plugin.problems),
        "unused": list(plugin.unused),
        "slow": plugin.slow,
    }


def _lines(plugin: Plugin) -> list[str]:
    title = f"{plugin.name}  {plugin.distribution} {plugin.version}".rstrip()
    lines = [f"{title}  {'' if plugin.healthy else 'LEFT OUT'}".rstrip(), f"  from   {plugin.location}"]
    lines.append(f"  hooks  {', '.join(plugin.hooks) or 'none'}")
    # names of zoo entries may hold commas
    lines += [f"  adds   {kind}: {('; ' if kind == 'zoo' else ', ').join(names)}" for kind, names in plugin.adds.items()]
    lines += [f"  unused {words}" for words in plugin.unused]
    lines += [f"  slow   {plugin.slow}"] if plugin.slow else []
    lines += [f"  error  {problem}" for problem in plugin.problems]
    return lines


def _result_line(result: CheckResult) -> str:
    detail = f": {result.detail}" if result.detail else ""
    return f"{_MARKS[result.outcome]:10}{result.subject:28} {result.law}{detail}"
