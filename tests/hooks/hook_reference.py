"""The page docs/hooks.md, from the specs: `python tests/hooks/hook_reference.py > docs/hooks.md`. A test holds it true."""

from __future__ import annotations

import inspect
from typing import Any

from dpkit.contracts import command, factories, parameters, zoo
from dpkit.hooks import specs
from dpkit.hooks.catalogue import CATALOGUE

_HEAD = """# Hooks

A plugin is a distribution with an entry point of the group `dpkit`, which names a module (or an object) with hook
implementations: functions of these names, marked with `@dpkit.hookimpl`. Each takes no argument and returns a list.

```toml
[project.entry-points.dpkit]
hello = "dpkit_hello"
```

What a plugin returns is checked by type and by name. A plugin with any fault (an import that fails, a misspelt hook, a wrong
signature, a name that another one has) is left out as a whole and says why, in a warning and in `dpkit plugins`; the others
work. There is a guide for each kind: [mechanism](write-a-mechanism.md), [algorithm](write-an-algorithm.md),
[query](write-a-query.md), [source](write-a-source.md), [accountant](write-an-accountant.md), [engine](write-an-engine.md).

This page is generated from `dpkit/hooks/specs.py`.
"""


def hook_reference() -> str:
    """The page, in Markdown."""
    parts = [_HEAD]
    for contribution in CATALOGUE:
        spec = getattr(specs, contribution.hook)
        parts.append(
            f"## `{contribution.hook}`\n\n{inspect.getdoc(spec)}\n\nReturns: `{inspect.signature(spec).return_annotation}`."
            f" In the registry: `{contribution.field}`.\n"
        )
    parts.append(_kinds())
    parts.append("## What factories and entries declare\n")
    kinds = (factories.Factory, factories.MechanismFactory, factories.QueryFactory, factories.EngineFactory)
    for kind in (parameters.Parameter, *kinds, zoo.ZooEntry, command.Command):
        fields = "\n".join(f"- `{name}`: `{annotation}`" for name, annotation in inspect.get_annotations(kind).items())
        parts.append(f"### `{kind.__name__}`\n\n{inspect.getdoc(kind)}\n\n{fields}\n")
    return "\n".join(parts)


_ARRIVES = {
    "number": "a float, within `minimum` and `maximum`",
    "integer": "an int, within `minimum` and `maximum`",
    "boolean": "True or False",
    "text": "a str",
    "choice": "a str, one of `choices`",
    "numbers": "a tuple of floats, each within the limits",
    "texts": "a tuple of str",
    "number_by_name": "a dict from str to floats, each within the limits",
    "numbers_by_name": "a dict from str to tuples of floats, each within the limits",
    "path": "a str; a relative path in an analysis is relative to its file",
    "paths": "a tuple of such paths",
    "mechanism": "a `Choice`: a registered mechanism with its parameters",
    "query": "a `Choice`: a registered query with its parameters",
}


def _kinds() -> str:
    """The kinds of parameters, from what they check."""
    rows = []
    for kind in parameters.KINDS:
        made: Any = parameters.Parameter
        words = made(name="p", kind=kind, doc="p", choices=("a", "b") if kind == "choice" else ()).allowed
        rows.append(f"| `{kind}` | {words} | {_ARRIVES[kind]} |")
    head = "## The kinds of `Parameter`\n\n| kind | what an analysis may say | what `make` gets |\n|---|---|---|\n"
    tail = (
        "\nA parameter without a `default` is required; one whose default is None may be left out or be null.\n`examples` are"
        " what the kit tries first: give those at which your code branches, in combinations that are valid together."
    )
    return head + "\n".join(rows) + "\n" + tail + "\n"


if __name__ == "__main__":
    print(hook_reference(), end="")
