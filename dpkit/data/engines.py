"""The built-in engines by name, as an analysis names them under `engine`. Both run on this machine and give the same bits."""

from __future__ import annotations

from dpkit.core.engine import Engine
from dpkit.core.factories import EngineFactory
from dpkit.core.source import Source
from dpkit.data.engine import BlockEngine
from dpkit.data.source import DataSource

DEFAULT = "blocks"
"""What an analysis runs on when it names no engine."""


def _blocks(source: Source) -> Engine:
    return BlockEngine(source)


def _memory(source: Source) -> Engine:
    return BlockEngine(source.in_memory() if isinstance(source, DataSource) else source)


ENGINES = (
    EngineFactory(
        name=DEFAULT,
        doc="This machine, block by block: files are read in every pass and never held, so that memory stays within a bound.",
        make=_blocks,
    ),
    EngineFactory(
        name="memory",
        doc="This machine, in memory: files are read in the first pass, and their declared columns are kept, 8 bytes a cell.",
        make=_memory,
    ),
)
