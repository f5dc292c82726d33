"""The page docs/hooks.md, written from the specs: `python -m dpkit.hooks.reference > docs/hooks.md`. A test holds it true."""

from __future__ import annotations

import inspect

from dpkit.core import command, factories, parameters, zoo
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
work. [Write a mechanism in an hour](write-a-mechanism.md) shows the whole way.

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
    parts.append("## What factories and entries declare\n")
    kinds = (factories.Factory, factories.MechanismFactory, factories.QueryFactory, factories.EngineFactory)
    for kind in (parameters.Parameter, *kinds, zoo.ZooEntry, command.Command):
        fields = "\n".join(f"- `{name}`: `{annotation}`" for name, annotation in inspect.get_annotations(kind).items())
        parts.append(f"### `{kind.__name__}`\n\n{inspect.getdoc(kind)}\n\n{fields}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    print(hook_reference(), end="")
