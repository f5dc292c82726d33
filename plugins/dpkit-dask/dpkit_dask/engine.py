"""The engine: parts of the files are summed on the workers, and their exact sums are merged in a tree on the workers, too."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

import cloudpickle

from dpkit import BlockEngine, DeclaredSetting, ExactSum, InvalidValueError, Query, Source
from dpkit.authoring.engines import READ_BYTES, Bounding, DataSource, QuerySums, SourcePart, plan_sums
from dpkit_dask import tasks
from dpkit_dask.cluster import Cluster

FAN_IN = 16
"""How many exact sums one task merges."""

MOST_SHARES = 256
"""Into how many shares persons are divided, at most, while their rows are bounded."""

_RETRIES = 3
_PATIENCE = 60.0
"""How long all workers may be gone, in seconds, before a step is given up."""

_MOST_PROBED = 1000


class DaskEngine:
    """Sums queries over the parts of a source on a cluster; the same bits as every other engine, whatever the parts are.

    No row leaves the workers. With persons as the unit, keyed hashes of persons and rows go from worker to worker, once.
    """

    def __init__(self, source: Source, *, cluster: Cluster, partition_bytes: int, borrowed: bool = False) -> None:
        if not isinstance(source, DataSource):
            allowed = "a source that `open_source` opened over files"
            raise InvalidValueError(field="source", found=type(source).__name__, allowed=allowed, where="DaskEngine")
        self._source = source
        self._cluster = cluster
        self._partition_bytes = partition_bytes
        self._borrowed = borrowed
        self._here = BlockEngine(source)
        source.confirm_unchanged()  # parts are places in files: from here on these may not change
        self._parts = source.parts(partition_bytes)
        self._masks: list[Any] | None = None
        self._machine = cluster.machine_kind()
        self._check_files()

    def __repr__(self) -> str:
        return f"DaskEngine(address={self._cluster.address!r}, parts={len(self._parts)})"

    @property
    def setting(self) -> DeclaredSetting | None:
        """What the source declares."""
        return self._here.setting

    def public_rows(self) -> int | None:
        """How many rows there are, where that is public."""
        return self._here.public_rows()

    def over(self, source: Source) -> DaskEngine:
        """An engine over another view of the data, on the same workers."""
        return DaskEngine(source, cluster=self._cluster, partition_bytes=self._partition_bytes, borrowed=True)

    def close(self) -> None:
        """Leave the cluster, unless another engine goes on with it."""
        self._masks = None
        if not self._borrowed:
            self._cluster.close()

    def check(self, queries: Sequence[Query]) -> None:
        """Refuse what is publicly wrong, from made-up rows: here first, then on a worker, which must answer."""
        self._here.check(queries)
        plan = plan_sums(queries, self._source.columns)
        sample = self._source.sample(plan.columns)
        if self._cluster.machine_kind() != self._machine:
            raise self._cluster.error("its workers are of another kind than when it was reached.")
        future = self._cluster.client.submit(tasks.rehearsed, _packed(plan), sample, pure=False)
        try:
            future.result(timeout=self._cluster.timeout)
        except Exception as error:  # noqa: BLE001 - from made-up rows alone: what is lacking is the cluster, or its environment
            future.cancel()
            fix = "Are the plugins of this analysis installed there?"
            raise self._cluster.error(f"a worker cannot evaluate the queries ({type(error).__name__}).", fix=fix) from None

    def evaluate(self, queries: Sequence[Query]) -> tuple[ExactSum, ...]:
        """The exact total of each query: one pass over the parts, and a tree of sums of depth log(parts) to the base 16."""
        self._here.ensure_checked(queries)
        plan = plan_sums(queries, self._source.columns)
        if not queries or not self._parts:
            return plan.zero()
        self._source.confirm_unchanged()
        client = self._cluster.client
        rows = max(1, READ_BYTES // (8 * max(1, len(plan.columns))))
        sent = client.submit(tasks.unpacked, _packed(plan), pure=False)
        level = client.map(
            tasks.partial_sum,
            self._parts,
            self._used_rows(),
            plan=sent,
            rows=rows,
            machine=self._machine,
            pure=False,
            retries=_RETRIES,
        )
        while len(level) > 1:
            groups = [level[start : start + FAN_IN] for start in range(0, len(level), FAN_IN)]
            level = [client.submit(tasks.merged, group, pure=False, retries=_RETRIES) for group in groups]
        total = plan.finish(self._result(level[0]))
        self._source.confirm_unchanged()
        return total

    def _result(self, future: Any) -> tuple[ExactSum, ...]:
        """What a task comes to. Workers may come and go meanwhile; when all are gone for long, the step is given up."""
        last_seen = time.monotonic()
        try:
            while True:
                try:
                    found: tuple[ExactSum, ...] = future.result(timeout=1.0)
                    return found
                except TimeoutError:
                    if self._cluster.count_workers():
                        last_seen = time.monotonic()
                    elif time.monotonic() - last_seen > _PATIENCE:
                        raise self._cluster.error("all its workers are gone.") from None
        except BaseException:
            future.cancel()
            raise

    def _used_rows(self) -> list[Any]:
        """For each part, which of its rows bounded contributions leave: futures, which stay on the workers; None for all."""
        bounding = self._source.bounding
        if bounding is None:
            return [None] * len(self._parts)
        if self._masks is None:
            self._masks = self._bounded(bounding, self._parts)
        return self._masks

    def _bounded(self, bounding: Bounding, parts: Sequence[SourcePart]) -> list[Any]:
        """A first pass: all rows of a person, wherever they are, meet as hashes in one task, which chooses among them."""
        client = self._cluster.client
        shares = min(len(parts), MOST_SHARES)
        options: dict[str, Any] = {"pure": False, "retries": _RETRIES}
        found = [client.submit(tasks.persons_of, part, bounding, shares, **options) for part in parts]
        kept = []
        for share in range(shares):
            mine = [client.submit(tasks.share_of, rows, share, **options) for rows in found]
            kept.append(client.submit(tasks.kept_of, mine, bounding, **options))
        masks = []
        for place, rows in enumerate(found):
            positions = [client.submit(_item, share, place, **options) for share in kept]
            masks.append(client.submit(tasks.mask_of, rows, positions, **options))
        return masks

    def _check_files(self) -> None:
        """Every worker must see the files that are seen here; some of them are looked at, where there are very many."""
        paths = sorted({path for part in self._parts if isinstance(path := getattr(part.table, "path", None), str)})
        probed = paths[:: max(1, -(-len(paths) // _MOST_PROBED))]
        sizes = [os.path.getsize(path) for path in probed]
        for seen in self._cluster.everywhere(tasks.file_sizes, probed):
            for path, there, here in zip(probed, seen, sizes, strict=True):
                if there != here:
                    state = "is not there" if there is None else "has another size there"
                    fix = "Workers read the files themselves: put them where all see them under one name."
                    raise self._cluster.error(f"{path} {state}.", fix=fix)


def _item(items: Sequence[Any], place: int) -> Any:
    return items[place]


def _packed(plan: QuerySums) -> bytes:
    try:
        packed: bytes = cloudpickle.dumps(plan)
    except Exception as error:  # noqa: BLE001 - a query is code and released values: what it says shows no data
        raise InvalidValueError(
            field="queries",
            found=f"{type(error).__name__}: {error}",
            allowed="queries that can be pickled: functions of rows and released values",
            where="DaskEngine",
        ) from None
    return packed
