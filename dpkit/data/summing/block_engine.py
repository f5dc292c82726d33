"""The engines of one machine, by name: several queries in one pass, block by block, whether rows are in memory or on disk."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from dpkit.contracts.engine import Closing, CountsRows, DeclaresSetting, Engine
from dpkit.contracts.factories import EngineFactory
from dpkit.contracts.parameters import Parameter
from dpkit.contracts.private_keys import HoldsKeys, KeyHolders
from dpkit.contracts.query import Block, Query
from dpkit.contracts.table import InMemory, KnowsMissing, Source
from dpkit.data.setting import DeclaredSetting
from dpkit.data.summing.parallel import map_on_threads, usable_threads
from dpkit.data.summing.query_sums import Prepared, QuerySums, Totals, dry_run, plan_sums
from dpkit.data.tables.cached_source import CachedSource
from dpkit.data.tables.source import DataSource
from dpkit.errors import SourceError, UnknownNameError
from dpkit.numerics.exact_sums import ExactSum
from dpkit.privacy.checks import whole_number

BLOCK_BYTES = 4 << 20
"""Rows in memory that are summed at a time. Smaller blocks fit better into a core's cache, but then threads wait for Python."""

READ_BYTES = 1 << 20
"""Rows of a file that are read at a time: cells take many times the memory of their codes."""

CACHE_BYTES = 256 << 20
"""The most that is kept of what queries prepare, for later passes."""

MERGED_BYTES = 4 << 20
"""Smaller blocks are kept as one: threads that sum few rows at a time wait for Python."""

DEFAULT = "blocks"
"""What an analysis runs on when it names no engine."""


class BlockEngine:
    """Sums queries over a source, on `threads` threads (by default one a core). Neither they nor the size of a block change
    a bit of the totals. What queries prepare is kept for later passes, up to `cache_bytes`.
    """

    def __init__(
        self,
        source: Source,
        *,
        block_bytes: int | None = None,
        cache_bytes: int = CACHE_BYTES,
        threads: int | None = None,
    ) -> None:
        self._source = source
        where = "BlockEngine"
        usual = BLOCK_BYTES if isinstance(source, InMemory) and source.is_in_memory else READ_BYTES
        self._block_bytes = whole_number(
            usual if block_bytes is None else block_bytes, field="block_bytes", where=where, minimum=1
        )
        self._kept = KeptRows(most_bytes=whole_number(cache_bytes, field="cache_bytes", where=where, minimum=0))
        self._checked: tuple[Query, ...] = ()
        self._threads = usable_threads() if threads is None else whole_number(threads, field="threads", where=where, minimum=1)

    @property
    def setting(self) -> DeclaredSetting | None:
        """What the source declares: a plan for anything else is a plan for other data. None where a source declares nothing."""
        declared = self._source.setting if isinstance(self._source, DeclaresSetting) else None
        return declared if isinstance(declared, DeclaredSetting) else None

    def public_rows(self) -> int | None:
        """How many rows there are, where that is public; None where a source does not tell. Else `PrivateFactError`."""
        return self._source.public_rows() if isinstance(self._source, CountsRows) else None

    def close(self) -> None:
        """Forget what was kept of the rows."""
        self._kept.end(complete=False)
        if isinstance(self._source, Closing):
            self._source.close()

    def key_holders(self, column: str) -> KeyHolders:
        """Which texts a column holds, and how many people hold each."""
        if not isinstance(self._source, HoldsKeys):
            raise SourceError(source="the data", reason="this source cannot be looked through for keys.")
        return self._source.key_holders(column)

    def check(self, queries: Sequence[Query]) -> None:
        """Refuse queries of unknown columns, of wrong shapes, and such as fail on made-up rows. Reads no data."""
        self._plan(queries)
        for query in queries:
            dry_run(query, self._source.sample(query.columns))
        self._checked = tuple(queries)

    def ensure_checked(self, queries: Sequence[Query]) -> None:
        """The same, but not twice: whoever pays for a release has had its queries checked before."""
        known = self._checked
        if len(known) != len(queries) or any(one is not other for one, other in zip(known, queries, strict=True)):
            self.check(queries)

    def evaluate(self, queries: Sequence[Query]) -> tuple[ExactSum, ...]:
        """The exact total of each query, from one pass over the columns that they need."""
        self.ensure_checked(queries)
        plan = self._plan(queries)
        blocks = self._kept.blocks_of(plan.prepared)
        if blocks is not None:  # of an earlier pass
            totals = plan.zero()
            for partial in map_on_threads(plan.prepared_partial, blocks, threads=self._threads):
                if partial is None:  # rows are needed
                    return self._from_source(plan)
                totals = plan.merge(totals, partial)
            return plan.finish(totals)
        return self._from_source(plan)

    def _from_source(self, plan: QuerySums) -> Totals:
        totals = plan.zero()
        if not plan.sums:
            return totals
        rows = max(1, self._block_bytes // (8 * max(1, len(plan.columns))))
        keeping = self._kept.begin(plan.prepared)
        blocks = self._source.blocks(plan.columns, rows)
        if keeping:
            for partial, prepared in map_on_threads(plan.partial_and_prepared, blocks, threads=self._threads):
                keeping = keeping and prepared is not None and self._kept.add(prepared)
                totals = plan.merge(totals, partial)
        else:
            for partial in map_on_threads(plan.partial, blocks, threads=self._threads):
                totals = plan.merge(totals, partial)
        self._kept.end(complete=keeping)
        return plan.finish(totals)

    def _plan(self, queries: Sequence[Query]) -> QuerySums:
        declared = self._source.columns
        for query in queries:
            for name in query.columns:
                if name not in declared:
                    raise UnknownNameError(kind="declared column", name=name, known=declared)
        return plan_sums(queries, declared, complete=isinstance(self._source, KnowsMissing) and self._source.is_complete)


class KeptRows:
    """Prepared rows in memory between the passes of one algorithm, up to a number of bytes: the blocks that one preparation
    made of some columns of all rows, the latest ones, if all of them fit. Where they did not, nothing as wide is tried again.
    """

    def __init__(self, *, most_bytes: int) -> None:
        self._most = most_bytes
        self._asked: Prepared | None = None
        self._complete = False
        self._blocks: list[Block] = []
        self._small: list[Block] = []
        self._former: list[Block] = []
        self._bytes = 0
        self._too_wide = math.inf

    def blocks_of(self, asked: Prepared | None) -> list[Block] | None:
        """What is kept of this preparation of these columns, or None."""
        return self._blocks if self._complete and asked is not None and asked == self._asked else None

    def begin(self, asked: Prepared | None) -> bool:
        """A pass over the source begins: whether to keep what it prepares."""
        former = self._blocks
        self._forget()
        self._asked = asked
        keeping = asked is not None and self._most > 0 and asked[0].width < self._too_wide
        self._former = former if keeping else []
        return keeping

    def add(self, block: Block) -> bool:
        """Keep one more block; False, and all is forgotten, where that is too much.

        For each an older one is let go: memory that goes back to the system all at once is slow to get again.
        """
        self._bytes += block.nbytes
        if self._former:
            self._former.pop()
        while self._former and self._bytes + sum(old.nbytes for old in self._former) > self._most:
            self._former.pop()
        if self._bytes > self._most:
            self._too_wide = block.shape[1]
            self._forget()
            return False
        self._small.append(block)
        if sum(small.nbytes for small in self._small) >= MERGED_BYTES:
            self._merge()
        return True

    def end(self, *, complete: bool) -> None:
        """The pass is over; `complete` when every block was kept."""
        self._complete, self._former = complete, []
        self._merge()
        if not complete:
            self._forget()

    def _merge(self) -> None:
        """Blocks as they were read make fewer and larger ones, each column contiguous."""
        if len(self._small) == 1:
            self._blocks += self._small
        elif self._small:
            merged = np.concatenate([block.T for block in self._small], axis=1).T
            merged.flags.writeable = False
            self._blocks.append(merged)
        self._small = []

    def _forget(self) -> None:
        self._complete, self._blocks, self._small, self._former, self._bytes = False, [], [], [], 0


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
                kind="path",
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
