"""The stamp of a table's files: by it a run on a ledger notices that it would go on with other data than it began with.

It is made of the names and times of change of the files. Sizes and contents stay out of it: they depend on rows, and a ledger
keeps nothing that was not paid for.
"""

from __future__ import annotations

import hashlib
import json
import os

from dpkit.contracts.table import OfFiles, Table


def stamp_of(table: Table) -> str:
    """A digest, equal while the files are; empty for a table that names no files, of which nothing can be told."""
    paths: object = table.paths if isinstance(table, OfFiles) else None
    if not isinstance(paths, tuple) or not paths:
        return ""
    try:
        seen = [(os.path.basename(path), os.stat(path).st_mtime_ns) for path in map(os.fspath, paths)]
    except (OSError, TypeError):
        return ""
    return hashlib.sha256(json.dumps(seen).encode("ascii")).hexdigest()
