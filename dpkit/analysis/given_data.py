"""Data that a caller gives in place of the declared source: which it is, so that a ledger tells runs on it apart.

What is told of data in memory is a random name, by which nobody learns anything of its rows. The same rows have the same name
for as long as this process lives; no other process knows it.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import threading

from dpkit.analysis.reading.spec import Spec
from dpkit.data.tables.open_source import expanded_paths
from dpkit.data.tables.source import DataSource
from dpkit.errors import DpkitError, SourceError, kind_of, raise_alone

_names: dict[bytes, str] = {}
_lock = threading.Lock()


def name_of_given(source: DataSource, spec: Spec) -> str:
    """How runs on this data are called; empty for the declared source. Files are known by their paths, which are public."""
    if source.paths:
        if tuple(map(os.path.realpath, source.paths)) == _declared_paths(spec):
            return ""
        return hashlib.sha256(json.dumps(source.paths).encode("ascii")).hexdigest()[:12]
    contents = source.contents()
    with _lock:
        return _names.setdefault(contents, secrets.token_hex(6))


def _declared_paths(spec: Spec) -> tuple[str, ...]:
    if spec.data.source_parameters is not None:
        return ()
    declared = (spec.data.source,) if isinstance(spec.data.source, str) else spec.data.source
    try:
        return tuple(os.path.realpath(path) for pattern in declared for path in expanded_paths(pattern))
    except DpkitError:
        return ()


def made_source(spec: Spec) -> object:
    """What a plugin's source makes. What it raises may quote rows or passwords, so of its errors only the kind is passed on.

    Paths that it returns are relative to the analysis, as all paths in it.
    """
    try:
        made = spec.registry.source(str(spec.data.source)).build(**dict(spec.data.source_parameters or {}))
        folder = spec.path.absolute().parent
        if isinstance(made, str | os.PathLike):
            return str(folder / os.fspath(made))
        if isinstance(made, list | tuple) and made and all(isinstance(item, str | os.PathLike) for item in made):
            return [str(folder / os.fspath(item)) for item in made]
        return made
    except (DpkitError, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 - as above
        kind = kind_of(error)
        raise_alone(SourceError(source=str(spec.data.source), reason=f"the plugin could not open it ({kind})."))
