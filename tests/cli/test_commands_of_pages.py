"""Every command that a page writes has a verb and options that dpkit has, whether the command runs in a test or not."""

import re
from pathlib import Path

import click
import pytest

from dpkit.cli import main

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([*ROOT.glob("[A-Z]*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*/*/README.md")])
PAGES = [page for page in PAGES if page.name != "CHANGELOG.md"]  # it tells of commands that were there
BLOCK = re.compile(r"^```(?:sh|console)?\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)


def commands_of(text):
    """What stands in `...` or begins a line of a block, up to a pipe or a comment."""
    found = re.findall(r"`(dpkit [a-z][^`]*)`", text)
    for block in BLOCK.findall(text):
        found += [
            line.removeprefix("$ ")
            for line in block.splitlines()
            if re.match(r"(\$ )?dpkit [a-z]+( |$)", line) and "`" not in line
        ]
    return [re.split(r" [#|>;&]|   ", command)[0] for command in found]


def objection(command):
    """What of a command dpkit does not know; empty where it knows all."""
    words, place = command.split()[1:], main
    context = click.Context(main)
    while isinstance(place, click.Group) and words:
        inner = place.get_command(context, words[0])
        if inner is None and "run" in place.list_commands(context) and place is not main:
            inner, words = place.get_command(context, "run"), ["run", *words]  # `dpkit audit` of anything is `dpkit audit run`
        if inner is None and words[0].startswith("-"):
            break
        if inner is None:
            return f"no verb {words[0]!r}" if words[0].islower() and words[0].replace("-", "").isalpha() else ""
        place, words = inner, words[1:]
    if type(place).__module__ == "dpkit.cli.plugin_verbs":  # a plugin's verb, which reads its own
        return ""
    known = {option for part in place.params for option in (*part.opts, *part.secondary_opts)} | {"--help", "-h"}
    unknown = [word for word in (re.split("[=,.:)]", word)[0] for word in words) if word.startswith("--") and word not in known]
    return f"no option {unknown[0]}" if unknown else ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_are_known(page):
    wrong = {command: found for command in commands_of(page.read_text(encoding="utf-8")) if (found := objection(command))}
    assert not wrong


@pytest.mark.parametrize(
    "command", ["dpkit plna a.yaml", "dpkit plan --jsn", "dpkit ledger sho x", "dpkit ledger show --no-such"]
)
def test_a_wrong_command_is_seen(command):
    assert objection(command)


@pytest.mark.parametrize("command", ["dpkit plan a.yaml --json", "dpkit ledger show x.ledger --json", "dpkit audit FILE.yaml"])
def test_a_right_command_is_not(command):
    assert not objection(command)
