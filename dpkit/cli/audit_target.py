"""What the command line audits: a target by its path or as Python writes it, and a pair of datasets as JSON."""

from __future__ import annotations

import importlib
import json
import sys

import click


def load_target(text: str) -> object:
    """The function or mechanism of this name: module:function, or a mechanism of dpkit as Python writes it."""
    from dpkit.auditing.certificates.recipe import mechanism_of
    from dpkit.hooks.manager import default_registry

    if ":" not in text:
        return mechanism_of(text, default_registry())
    module, _, name = text.partition(":")
    sys.path.insert(0, "")
    try:
        item: object = importlib.import_module(module)
        for part in name.split("."):
            item = getattr(item, part)
    except (ImportError, AttributeError) as error:
        raise click.UsageError(f"There is no {text}: {error}") from None
    finally:
        sys.path.remove("")
    return item


def read_pair(text: str | None) -> tuple[object, object] | None:
    """Two datasets."""
    if text is None:
        return None
    try:
        one, two = json.loads(text)
    except (TypeError, ValueError):
        raise click.UsageError(f'--pair must be two datasets as JSON, such as "[0.0, 1.0]"; got {text!r}.') from None
    return one, two
