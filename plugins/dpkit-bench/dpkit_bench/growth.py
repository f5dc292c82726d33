"""How cost grows: with compositions, by accountant; with rows, columns and partitions, of a pass over the data."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from dpkit import (
    BlockEngine,
    Closing,
    Compose,
    Event,
    GaussianEvent,
    InvalidValueError,
    LaplaceEvent,
    Number,
    Repeat,
    Schema,
    Subsample,
    UnknownNameError,
    account,
    default_registry,
    open_source,
)
from dpkit.authoring.engines import DataSource, plan_sums
from dpkit.data.summing.block_engine import BLOCK_BYTES
from dpkit_bench.accounting import forget
from dpkit_bench.counted_rows import CountedRows, moments
from dpkit_bench.progress import measured
from dpkit_bench.timing import seconds, summary

DELTA = 1e-6
LAPLACE = ("pure", "advanced")
GAUSSIAN = ("cdp", "zcdp", "rdp", "gdp", "pld", "best")
ROWS, COLUMNS, PARTITIONS, COMPOSITIONS = "rows", "columns", "partitions", "compositions"


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthRow:
    """Seconds at one size (median and spread of the runs), and the ratio to the smallest size of its series."""

    axis: str
    series: str
    size: int
    seconds: float
    spread: float
    ratio: float

    @property
    def name(self) -> str:
        """As it stands in a picture."""
        return f"{self.series}, {self.size:,} {self.axis}"


def measure_growth(
    *,
    most_compositions: int = 1_000_000,
    most_distinct: int = 1_000,
    most_rows: int = 100_000_000,
    most_columns: int = 500,
    most_partitions: int = 16,
    width: int = 10,
    file_rows: int = 1_000_000,
    repeats: int = 3,
    cluster: bool = True,
) -> tuple[list[GrowthRow], tuple[str, ...]]:
    """All four axes, each from small to the most; notes on what is left out."""
    rows = list(compositions_growth(most_compositions, most_distinct, repeats))
    rows += rows_growth(most_rows, width, repeats)
    rows += columns_growth(most_columns, repeats)
    found, notes = partitions_growth(most_partitions, file_rows, width, repeats, cluster=cluster)
    return rows + found, notes


def compositions_growth(most: int, most_distinct: int, repeats: int) -> Iterator[GrowthRow]:
    """epsilon of k releases by each accountant: one release repeated, which is counted, and releases that all differ."""
    kinds: dict[str, Callable[[float], Event]] = {
        **{name: lambda size: LaplaceEvent(ratio=size) for name in LAPLACE},
        **{name: lambda size: GaussianEvent(ratio=size) for name in GAUSSIAN},
    }
    for name, event in kinds.items():
        yield from _series(COMPOSITIONS, name, decades(most), partial(_repeated, name, event), repeats)
        yield from _series(
            COMPOSITIONS, f"{name}, all different", decades(most_distinct), partial(_distinct, name, event), repeats
        )

    def sampled(size: float) -> Event:
        return Subsample(rate=0.01, event=GaussianEvent(ratio=100.0 * size))

    yield from _series(COMPOSITIONS, "pld, subsampled", decades(most), partial(_repeated, "pld", sampled), repeats)


def _repeated(accountant: str, event: Callable[[float], Event], count: int) -> Callable[[], object]:
    """Noise grows with the root of the count, as a fixed budget asks for."""
    tree = Repeat(event=event(0.01 * math.sqrt(1.0 / count)), times=count)
    return partial(_epsilon, tree, accountant)


def _distinct(accountant: str, event: Callable[[float], Event], count: int) -> Callable[[], object]:
    scales = np.linspace(0.5, 1.5, count) if count > 1 else np.ones(1)
    tree = Compose(events=tuple(event(0.01 * float(scale) / math.sqrt(count)) for scale in scales))
    return partial(_epsilon, tree, accountant)


def _epsilon(tree: Event, accountant: str) -> float:
    forget()
    return account(tree, accountant).epsilon(delta=DELTA)


def rows_growth(most: int, width: int, repeats: int) -> Iterator[GrowthRow]:
    """A pass of second moments over rows that are made by block, and making the rows alone."""
    sizes = [size for size in decades(most) if size >= min(most, 1_000)]
    yield from _series(ROWS, f"moments, d = {width}", sizes, lambda size: _moments_pass(size, width), repeats)
    yield from _series(ROWS, f"making the rows, d = {width}", sizes, lambda size: _making(size, width), repeats)


def columns_growth(most: int, repeats: int, *, cells: int = 2_000_000) -> Iterator[GrowthRow]:
    """The same number of cells in more and more columns."""
    cells = min(cells, 20_000 * most)
    sizes = sorted({min(size, most) for size in (2, 5, 10, 20, 50, 100, 200, 500, most)})
    yield from _series(COLUMNS, f"moments, {cells:,} cells", sizes, lambda d: _moments_pass(max(1, cells // d), d), repeats)
    yield from _series(COLUMNS, f"making {cells:,} cells", sizes, lambda d: _making(max(1, cells // d), d), repeats)


def _moments_pass(rows: int, width: int) -> Callable[[], object]:
    engine = BlockEngine(CountedRows(rows=rows, width=width), cache_bytes=0)
    query = moments(width)
    return lambda: engine.evaluate([query])


def _making(rows: int, width: int) -> Callable[[], object]:
    source = CountedRows(rows=rows, width=width)
    at_once = max(1, BLOCK_BYTES // (8 * width))
    return lambda: sum(len(block) for block in source.blocks(source.columns, at_once))


def partitions_growth(
    most: int, rows: int, width: int, repeats: int, *, cluster: bool
) -> tuple[list[GrowthRow], tuple[str, ...]]:
    """The same Parquet file in more and more parts: summed here one after the other, and on a local Dask cluster."""
    sizes = [2**power for power in range(most.bit_length()) if 2**power <= most]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        if not _written(path, CountedRows(rows=rows, width=width), groups=most):
            return [], ("partitions are left out: pyarrow is not installed (pip install 'dpkit[arrow]').",)
        names = CountedRows(rows=1, width=width).columns
        schema = Schema(columns=tuple(Number(name=name, lower=-1.0, upper=1.0, missing=0.0) for name in names))
        source = open_source(str(path), schema)
        series = f"moments of {rows:,} rows"
        found = list(_series(PARTITIONS, f"{series}, in turn", sizes, partial(_parts_pass, source, width, path), repeats))
        if not cluster:
            return found, ("the cluster is left out: --quick starts none.",)
        try:
            factory = default_registry().engine("dask")
        except UnknownNameError:
            return found, ("the cluster is left out: dpkit-dask is not installed.",)

        def on_cluster(count: int) -> Iterator[GrowthRow]:
            engine, query = factory.over(source, partition_bytes=_part_bytes(path, count)), moments(width)
            try:
                run = partial(engine.evaluate, [query])
                yield from _series(PARTITIONS, f"{series}, on a local cluster", [count], lambda _: run, repeats)
            finally:
                if isinstance(engine, Closing):
                    engine.close()

        measured = [row for count in sizes for row in on_cluster(count)]
        return found + _against_first(measured), ()


def _parts_pass(source: DataSource, width: int, path: Path, count: int) -> Callable[[], object]:
    """What an engine elsewhere does, without the elsewhere: each part summed on its own, then merged."""
    parts, plan = source.parts(_part_bytes(path, count)), plan_sums([moments(width)], source.columns)
    if len(parts) != count:
        found = f"{len(parts)} parts"
        raise InvalidValueError(field="partitions", found=found, allowed=f"{count}, a divisor of the row groups", where="bench")
    at_once = max(1, BLOCK_BYTES // (8 * width))

    def run() -> object:
        totals = plan.zero()
        for part in parts:
            for block in part.blocks(plan.columns, at_once):
                totals = plan.merge(totals, plan.partial(block))
        return plan.finish(totals)

    return run


def _part_bytes(path: Path, count: int) -> int:
    return max(1, path.stat().st_size // count)


def _written(path: Path, rows: CountedRows, *, groups: int) -> bool:
    """A Parquet file with this number of row groups, group by group; False without pyarrow."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return False
    size = -(-rows.rows // groups)
    first = next(rows.blocks(rows.columns, 1))
    schema = pa.table({name: first[:, place] for place, name in enumerate(rows.columns)}).schema
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        held: list[np.ndarray[tuple[int, ...], np.dtype[np.float64]]] = []
        for block in (*rows.blocks(rows.columns, size), None):
            if block is not None:
                held.append(block)
            while held and (sum(map(len, held)) >= size or block is None):
                together = np.concatenate(held)
                part, held = together[:size], [together[size:]] if len(together) > size else []
                writer.write_table(pa.table({name: part[:, place] for place, name in enumerate(rows.columns)}))
    return True


def decades(most: int) -> list[int]:
    """1, 10, 100 ... and the most."""
    return sorted({min(10**power, most) for power in range(len(str(most)) + 1)})


def _series(
    axis: str, series: str, sizes: Sequence[int], make: Callable[[int], Callable[[], object]], repeats: int
) -> Iterator[GrowthRow]:
    found: list[GrowthRow] = []
    for size in sizes:
        run = make(size)
        if not found:
            run()  # what is imported and prepared once belongs to no size
        median, spread = summary([seconds(run) for _ in range(repeats)])
        found.append(GrowthRow(axis=axis, series=series, size=size, seconds=median, spread=spread, ratio=1.0))
        measured(f"{series}, {size:,} {axis}")
    yield from _against_first(found)


def _against_first(rows: Sequence[GrowthRow]) -> list[GrowthRow]:
    return [replace(row, ratio=row.seconds / rows[0].seconds) for row in rows]


def as_markdown(rows: Sequence[GrowthRow]) -> str:
    """A table for docs/benchmarks.md: a line a series, from its smallest to its largest size."""
    lines = ["| axis | series | from | ms | to | ms | ratio | largest spread |", "|---|---|---|---|---|---|---|---|"]
    for axis, series in dict.fromkeys((row.axis, row.series) for row in rows):
        mine = [row for row in rows if (row.axis, row.series) == (axis, series)]
        lines.append(
            f"| {axis} | {series} | {mine[0].size:,} | {1e3 * mine[0].seconds:.3g} | {mine[-1].size:,} "
            f"| {1e3 * mine[-1].seconds:.3g} | {mine[-1].ratio:.3g} | {max(row.spread for row in mine):.0%} |"
        )
    return "\n".join(lines)
