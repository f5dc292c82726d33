"""`dpkit completion`: the shell completes verbs, options and paths."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from dpkit.cli.ledger_summary import JSON_OPTION

_MARK = "# Completion of dpkit, written by `dpkit completion --install`."
_SHELLS = ("bash", "zsh", "fish")


def place_of(shell: str, home: Path) -> Path:
    """Where a shell looks for what a user has installed."""
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local/share")
    settings = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return {
        "bash": data / "bash-completion/completions/dpkit",
        "zsh": home / ".zfunc/_dpkit",
        "fish": settings / "fish/completions/dpkit.fish",
    }[shell]


@click.command()
@click.option("--shell", type=click.Choice(_SHELLS), help="The shell; without this, that of $SHELL.")
@click.option("--install", is_flag=True, help="Write the script where the shell looks for it; without this, it is printed.")
@JSON_OPTION
def completion(shell: str | None, install: bool, as_json: bool) -> None:
    """Complete verbs and options in your shell: print the script that does it, or install it for this user.

    Example: dpkit completion --install
    """
    from click.shell_completion import get_completion_class

    from dpkit.cli.lazy_verbs import main

    found = shell or Path(os.environ.get("SHELL", "")).name
    if found not in _SHELLS:
        raise click.UsageError(f"--shell is one of {', '.join(_SHELLS)}; $SHELL says {found or 'nothing'!r}.")
    kind = get_completion_class(found)
    assert kind is not None
    source = kind(main, {}, "dpkit", "_DPKIT_COMPLETE").source()
    first, rest = source.split("\n", 1) if source.startswith("#compdef") else ("", source)
    text = f"{first}\n{_MARK}\n{rest}" if first else f"{_MARK}\n{source}"
    if not install:
        click.echo(json.dumps({"dpkit": 1, "shell": found, "script": text}) if as_json else text)
        return
    place = place_of(found, Path.home())
    if place.exists() and _MARK not in place.read_text(encoding="utf-8", errors="replace"):
        raise click.UsageError(f"{place} is there, and dpkit did not write it: move it away first. Nothing was written.")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")
    click.echo(
        json.dumps({"dpkit": 1, "shell": found, "wrote": str(place)})
        if as_json
        else f"wrote {place}: new shells complete dpkit."
    )
    if found == "zsh" and not as_json:
        click.echo("zsh looks there once ~/.zshrc says: fpath+=~/.zfunc; autoload -Uz compinit; compinit")
