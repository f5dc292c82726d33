"""The message where there is no such file of data."""

from __future__ import annotations

import difflib
import os

from dpkit.errors import SourceError


def no_such_file(path: str) -> SourceError:
    """That a file is not there, with the names beside it that are like its own: a mistyped one is seen at once."""
    folder, name = os.path.split(path)
    try:
        beside = [entry.name for entry in os.scandir(folder or ".") if entry.is_file()]
    except (OSError, ValueError):
        beside = []
    near = difflib.get_close_matches(name, sorted(beside), n=3)
    fix = f"Did you mean {' or '.join(repr(other) for other in near)}?" if near else ""
    return SourceError(source=path, reason="there is no such file.", fix=fix)
