"""Compiled templates are kept where Python keeps compiled modules, by the same rules: never if it is told to write no bytecode.

Compiling them takes as long as everything else that a report is made of. What is kept bears a hash of its source, which jinja2
compares; a folder that cannot be written costs time and nothing else.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from pickle import UnpicklingError

from jinja2 import BytecodeCache
from jinja2.bccache import Bucket

from dpkit._version import __version__


class TemplateBytecode(BytecodeCache):
    """One file a template, in the `__pycache__` beside it, or below PYTHONPYCACHEPREFIX."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load_bytecode(self, bucket: Bucket) -> None:
        """What is kept of a template, if that is its own; jinja2 looks at its version and its source."""
        with suppress(OSError), self._place(bucket).open("rb") as file:
            try:
                bucket.load_bytecode(file)
            except (EOFError, UnpicklingError):  # only a part of it is there
                bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep it. Readers see the old file or the new one, and never a part of one."""
        if sys.dont_write_bytecode:
            return
        place = self._place(bucket)
        with suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=place.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    bucket.write_bytecode(file)
                os.replace(name, place)
            except OSError:
                os.unlink(name)
                raise

    def _place(self, bucket: Bucket) -> Path:
        """Where a template is kept, for this version of dpkit and of Python."""
        name = f"{bucket.key[:16]}-{__version__}.py"
        return Path(importlib.util.cache_from_source(str(self._folder / name))).with_suffix(".jinja")
