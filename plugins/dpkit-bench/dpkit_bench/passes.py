"""How long a pass over the data takes: beside reading it once, beside plain numpy, and private beside not private.

What is timed are the queries of the plugin dpkit-irls, by numpy and, where numba is installed, compiled. The rows are prepared,
as they are after the first pass of a fit. Everything is timed alternately in one run, on the same number of threads; BLAS has
one thread under ours, and its own under plain numpy.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from dpkit_irls.rows.kernels import can_compile, compiled_passes

from dpkit import (
    BlockEngine,
    DeclaredSetting,
    ExactSum,
    Neighbours,
    Number,
    Query,
    Schema,
    default_registry,
    open_source,
    run_algorithms,
)
from dpkit.authoring.engines import DataSource, QuerySums, Totals
from dpkit.data.summing.block_engine import BLOCK_BYTES
from dpkit.data.summing.parallel import usable_threads
from dpkit_bench.plain_passes import Pass, PlainPasses
from dpkit_bench.progress import measured

Array = npt.NDArray[np.float64]
Work = Callable[[], object]

ENOUGH = 1 << 40
"""A cache that holds whatever is measured here."""
STREAM = "streaming the features once"
BY_NUMPY, COMPILED = "by numpy", "compiled"


@dataclass(frozen=True, slots=True, kw_only=True)
class PassRow:
    """Seconds of ours and of what it is compared with: medians of alternate runs, and the spread of their ratio."""

    name: str
    rows: int
    columns: int
    seconds: float
    beside: str
    beside_seconds: float
    ratio: float
    spread: float
    bar: float | None


def measure_passes(*, rows: int = 10_000_000, repeats: int = 7, threads: int | None = None) -> list[PassRow]:
    """Gradient and moment passes at 10 columns (and a tenth of the rows at 100), and the whole fit."""
    count = usable_threads() if threads is None else threads
    found: list[PassRow] = []
    for way in _ways():
        found += _passes(rows, 10, repeats, count, way)
        if way != COMPILED:  # with this number of columns nothing is compiled
            found += [row for row in _passes(max(1, rows // 10), 100, repeats, count, way) if row.beside == STREAM]
        found.append(_fit(max(1, rows // 10), 10, repeats, count, way))
    return found


def _ways() -> tuple[str, ...]:
    return (BY_NUMPY, COMPILED) if can_compile() else (BY_NUMPY,)


def _passes(rows: int, columns: int, repeats: int, threads: int, way: str) -> Iterator[PassRow]:
    table = np.random.default_rng(columns).uniform(-1.0, 1.0, size=(rows, columns + 1))
    features, target = np.ascontiguousarray(table[:, :-1]), np.ascontiguousarray(table[:, -1])
    gradient, moments = _queries(columns)
    source = _source(table)
    stream = _streaming(features, threads)
    theta = np.full(columns, 0.5 / columns)

    def plain_gradient() -> object:
        scores = np.clip((target - features @ theta) / 0.5, -1.0, 1.0)
        return features.T @ scores

    def plain_moments() -> object:
        roots = np.sqrt(1.0 / np.maximum(np.abs(target - features @ theta), 0.1))
        weighted = features * roots[:, None]
        return weighted.T @ weighted

    for name, query, plain, bar in (
        ("gradient", gradient, plain_gradient, 3.0 if columns <= 10 else 2.5),
        ("moments", moments, plain_moments, 9.0),
    ):
        with compiled_passes(wanted=way == COMPILED):
            ours, label = _kept_pass(source, query, threads), f"{name} pass, {way}"
            yield _row(label, rows, columns, ours, STREAM, stream, repeats, bar)
            yield _row(label, rows, columns, ours, "plain numpy over the whole array", plain, repeats, 0.5)


def _queries(columns: int) -> tuple[Query, Query]:
    known = default_registry()
    gradient = known.query("irls-gradient").build(features=columns, threshold=0.5)
    return gradient, known.query("irls-moments").build(features=columns, weight_cap=10.0, p=1.0)


def _names(columns: int) -> tuple[str, ...]:
    return (*(f"x{place}" for place in range(columns)), "y")


def _source(table: Array) -> DataSource:
    names = _names(table.shape[1] - 1)
    schema = Schema(columns=tuple(Number(name=name, lower=-1.0, upper=1.0) for name in names))
    return open_source(table, schema, names=list(names), neighbours=Neighbours.REPLACE_ONE)


def _kept_pass(source: DataSource, query: Query, threads: int) -> Work:
    """A pass over rows that two earlier passes have prepared."""
    engine = BlockEngine(source, cache_bytes=ENOUGH, threads=threads)
    for _ in range(2):
        engine.evaluate([query])
    return lambda: engine.evaluate([query])


def _streaming(features: Array, threads: int) -> Work:
    """Every number read once and added up, block by block, on as many threads."""
    rows = max(1, BLOCK_BYTES // (8 * features.shape[1]))
    starts = range(0, features.shape[0], rows)

    def work() -> object:
        with ThreadPoolExecutor(max_workers=threads) as pool:
            return sum(pool.map(lambda start: float(np.sum(features[start : start + rows])), starts))

    return work


def _fit(rows: int, columns: int, repeats: int, threads: int, way: str) -> PassRow:
    """A whole private fit by `irls`, in memory, beside the same passes with neither fixed point nor noise."""
    table = np.random.default_rng(3).uniform(-1.0, 1.0, size=(rows, columns + 1))
    source = _source(table)
    setting = DeclaredSetting(schema=source.schema, neighbours=source.neighbours, rows=rows)
    names = list(_names(columns))
    irls = default_registry().algorithm("irls")
    algorithm = irls.prepare(setting, features=names[:-1], target="y", intercept=False)

    def private(engine: BlockEngine | None = None) -> object:
        chosen = BlockEngine(source, cache_bytes=ENOUGH, threads=threads) if engine is None else engine
        return run_algorithms({"fit": (algorithm, 10.0)}, engine=chosen, setting=setting)

    with compiled_passes(wanted=way == COMPILED):
        watched = _Watched(source, cache_bytes=ENOUGH, threads=threads)  # its run also puts the codes into memory
        private(watched)
        plain = PlainPasses(table=table, threads=threads, passes=tuple(watched.passes))
        label, beside = f"private fit, {way}", "the same passes without privacy, by numpy"
        return _row(label, rows, columns, private, beside, plain.run, repeats, 1.3)


class _Watched(BlockEngine):
    """Notes what each pass is asked for, and whether it reads the source."""

    def __init__(self, source: DataSource, **options: int) -> None:
        super().__init__(source, **options)
        self.passes: list[Pass] = []

    def evaluate(self, queries: Sequence[Query]) -> tuple[ExactSum, ...]:
        self.passes.append(Pass(tuple(query.name for query in queries), from_rows=False))
        return super().evaluate(queries)

    def _from_source(self, plan: QuerySums) -> Totals:
        self.passes[-1] = self.passes[-1]._replace(from_rows=True)
        return super()._from_source(plan)


def _row(name: str, rows: int, columns: int, ours: Work, beside: str, peer: Work, repeats: int, bar: float | None) -> PassRow:
    """Alternate the two, so that both see the same machine."""
    ours()
    peer()
    times = [(_seconds(ours), _seconds(peer)) for _ in range(repeats)]
    ratios = [mine / theirs for mine, theirs in times]
    middle = statistics.median(ratios)
    measured(f"{name}, d = {columns}")
    return PassRow(
        name=name,
        rows=rows,
        columns=columns,
        seconds=statistics.median(mine for mine, _ in times),
        beside=beside,
        beside_seconds=statistics.median(theirs for _, theirs in times),
        ratio=middle,
        spread=(max(ratios) - min(ratios)) / middle,
        bar=bar,
    )


def _seconds(work: Work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def as_markdown(rows: list[PassRow]) -> str:
    """A table; a ratio is our time over the other's."""
    lines = ["| what | rows | columns | ms | beside | ms | ratio | spread | bar |", "|---|---|---|---|---|---|---|---|---|"]
    lines += [
        f"| {row.name} | {row.rows:.0e} | {row.columns} | {1e3 * row.seconds:.3g} | {row.beside} "
        f"| {1e3 * row.beside_seconds:.3g} | {row.ratio:.2f} | {row.spread:.0%} | {'' if row.bar is None else f'{row.bar:g}'} |"
        for row in rows
    ]
    return "\n".join(lines)
