"""The built-in engines by name, as an analysis names them under `engine`. Both run on this machine and give the same bits."""

from __future__ import annotations

from typing import Literal

from dpkit.core.engine import Engine
from dpkit.core.factories import EngineFactory
from dpkit.core.parameters import Parameter
from dpkit.core.source import Source
from dpkit.data.cached_source import CachedSource
from dpkit.data.engine import BlockEngine
from dpkit.data.source import DataSource

DEFAULT = "blocks"
"""What an analysis runs on when it names no engine."""


def _blocks(source: Source, *, cache: Literal["none", "float64", "float32"], folder: str | None) -> Engine:
    if cache == "none" or not isinstance(source, DataSource) or source.is_in_memory:
        return BlockEngine(source)
    return BlockEngine(CachedSource(source, cells=cache, folder=folder))


def _memory(source: Source) -> Engine:
    return BlockEngine(source.in_memory() if isinstance(source, DataSource) else source)


ENGINES = (
    EngineFactory(
        name=DEFAULT,
        doc="This machine, block by block: files are read in every pass, within a bound of memory whatever their size.",
        make=_blocks,
        parameters=(
            Parameter(
                name="cache",
                kind="choice",
                doc="Whether codes are kept on a local disk after the first pass, in private files that end with the run; with "
                "`float32` in half the room where that is exact.",
                choices=("none", "float64", "float32"),
                default="none",
            ),
            Parameter(
                name="folder",
                kind="text",
                doc="Where these files are; the folder for temporary files unless it is given.",
                default=None,
                only_with={"cache": ("float64", "float32")},
            ),
        ),
    ),
    EngineFactory(
        name="memory",
        doc="This machine, in memory: files are read in the first pass, and their declared columns are kept, 8 bytes a cell.",
        make=_memory,
    ),
)
