"""The engine of one machine: several queries in one pass, block by block, whether the rows are in memory or on disk."""

from __future__ import annotations

from collections.abc import Sequence

from dpkit.contracts.engine import Closing, CountsRows, DeclaresSetting
from dpkit.contracts.query import Query
from dpkit.contracts.table import InMemory, Source
from dpkit.data.setting import DeclaredSetting
from dpkit.data.summing.kept_rows import KeptRows
from dpkit.data.summing.parallel import mapped, usable_threads
from dpkit.data.summing.sums import QuerySums, Totals, dry_run, plan_sums
from dpkit.errors import UnknownNameError
from dpkit.numerics.exact_sums import ExactSum
from dpkit.privacy.checks import whole_number

BLOCK_BYTES = 4 << 20
"""Rows in memory that are summed at a time. Smaller blocks fit better into a core's cache, but then threads wait for Python."""

READ_BYTES = 1 << 20
"""Rows of a file that are read at a time: cells take many times the memory of their codes."""

CACHE_BYTES = 256 << 20
"""The most that is kept of what queries prepare, for later passes."""


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
        totals = self._from_kept(plan)
        return self._from_source(plan) if totals is None else totals

    def _from_kept(self, plan: QuerySums) -> Totals | None:
        """The totals from what an earlier pass prepared; None where there is no such thing, or where rows are needed."""
        blocks = self._kept.blocks_of(plan.prepared)
        if blocks is None:
            return None
        totals = plan.zero()
        for partial in mapped(plan.prepared_partial, blocks, threads=self._threads):
            if partial is None:
                return None
            totals = plan.merge(totals, partial)
        return plan.finish(totals)

    def _from_source(self, plan: QuerySums) -> Totals:
        totals = plan.zero()
        if not plan.sums:
            return totals
        rows = max(1, self._block_bytes // (8 * max(1, len(plan.columns))))
        keeping = self._kept.begin(plan.prepared)
        work = plan.partial_and_prepared if keeping else plan.partial_alone
        for partial, prepared in mapped(work, self._source.blocks(plan.columns, rows), threads=self._threads):
            keeping = keeping and prepared is not None and self._kept.add(prepared)
            totals = plan.merge(totals, partial)
        self._kept.end(complete=keeping)
        return plan.finish(totals)

    def _plan(self, queries: Sequence[Query]) -> QuerySums:
        declared = self._source.columns
        for query in queries:
            for name in query.columns:
                if name not in declared:
                    raise UnknownNameError(kind="declared column", name=name, known=declared)
        return plan_sums(queries, declared)
