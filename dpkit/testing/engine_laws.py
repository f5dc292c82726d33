"""The laws of engines: the same bits as the built-in one, whatever the rows hold, and public mistakes refused beforehand."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from dpkit.contracts.engine import Closing, Engine
from dpkit.contracts.factories import EngineFactory
from dpkit.contracts.query import Block, Query
from dpkit.contracts.table import Batch, Cells
from dpkit.data.columns.kinds import Number
from dpkit.data.columns.schema import PrivacyUnit, Schema
from dpkit.data.summing.block_engine import BlockEngine
from dpkit.data.tables.open_source import open_source
from dpkit.data.tables.source import DataSource
from dpkit.errors import DpkitError
from dpkit.numerics.exact_sums import ExactSum
from dpkit.privacy.claims import Citation
from dpkit.privacy.neighbours import Neighbours, l1
from dpkit.testing.mechanism_cases import typical_parameters
from dpkit.testing.run_laws import LawNotApplicable
from dpkit.values import dataclass

_SCHEMA = Schema(columns=(Number(name="x", lower=-1.0, upper=1.0), Number(name="y", lower=0.0, upper=1e6, missing=3.0)))
_BECAUSE = Citation(key="dpkit", locator="docs/proofs/exact-sums.md")
_CELLS = ("0.1", "-1", "1e-300", "nan", "inf", "", "text", "7", "0.3333333333333333")
_FEW, _MANY = 500, 2**16 + 1
"""Rows of the files. With many, the last block of an engine whose blocks are a power of two holds a single row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineCase:
    """A factory of engines under test."""

    factory: EngineFactory
    seed: int = 0

    def engines(self, *, few: bool = False) -> Iterator[tuple[Engine, DataSource]]:
        """Engines over files of few rows, of many and of none, with a row and with a person as the unit; one open at a time.

        The first typical parameters are tried on all of these, the others, where the factory declares examples, on one.
        """
        sets = max(1, *(len(parameter.examples) for parameter in self.factory.parameters), 0)
        with tempfile.TemporaryDirectory() as folder:
            none, some, many = (self._file(Path(folder), rows) for rows in (0, _FEW, 0 if few else _MANY))
            person = PrivacyUnit(column="who", at_most=2)
            sources = [
                open_source(some, _SCHEMA, neighbours=Neighbours.REPLACE_ONE),
                open_source(some, _SCHEMA, unit=person, neighbours=Neighbours.ADD_REMOVE),
                open_source(none, _SCHEMA, neighbours=Neighbours.REPLACE_ONE),
                open_source(many, _SCHEMA, neighbours=Neighbours.REPLACE_ONE),
            ]
            for place, values in enumerate(itertools.islice(typical_parameters(self.factory), 1 if few else min(2, sets))):
                for source in sources[: 1 if place or few else None]:
                    engine = self.factory.over(source, **values)
                    try:
                        yield engine, source
                    finally:
                        if isinstance(engine, Closing):
                            engine.close()

    def _file(self, folder: Path, rows: int) -> Path:
        cells = np.random.default_rng([self.seed, 11]).choice(np.array(_CELLS, dtype=object), size=(rows, 2))
        cells[-1:] = [["0.1", "7"]]  # the last row counts in every query
        path = folder / f"{rows}.csv"
        lines = ["x,y,who", *(f"{x},{y},{place % 7}" for place, (x, y) in enumerate(cells))]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path


def totals_are_those_of_the_built_in_engine(case: EngineCase) -> None:
    """Bit for bit, whatever the rows hold; several queries at once and one by one; and again the same."""
    for engine, source in case.engines():
        queries = _queries()
        engine.check(queries)
        expected = [_bits(total) for total in BlockEngine(source, threads=1).evaluate(queries)]
        for _ in range(2):
            assert [_bits(total) for total in engine.evaluate(queries)] == expected, "totals differ from the built-in engine's"
        for query, bits in zip(queries, expected, strict=True):
            (alone,) = engine.evaluate([query])
            assert _bits(alone) == bits, "a total depends on the other queries of its pass"


def a_total_is_that_of_its_query(case: EngineCase) -> None:
    """What an engine keeps from one pass to the next is not taken for the total of another query of the same name."""
    alike = [
        _query("same", lambda block: np.ones(block.shape[0]), columns=("x",)),
        _query("same", lambda block: block[:, 0], columns=("x",)),
        _query("same", lambda block: block[:, 0] / 1e6, columns=("y",)),
    ]
    for engine, source in case.engines(few=True):
        expected = [_bits(total) for total in BlockEngine(source, threads=1).evaluate(alike)]
        for query, bits in zip(alike, expected, strict=True):
            (alone,) = engine.evaluate([query])
            assert _bits(alone) == bits, "a query gets the total of another one with its name"
        assert [_bits(total) for total in engine.evaluate(alike)] == expected, "queries of one name get each other's totals"


def check_reads_no_row(case: EngineCase) -> None:
    """`check` is called before anything is charged: it asks for made-up rows (`source.sample`), never for rows."""
    read: list[str] = []
    source = open_source(_Watched(read), _SCHEMA, neighbours=Neighbours.REPLACE_ONE)
    values = next(typical_parameters(case.factory))
    try:
        engine = case.factory.over(source, **values)
    except DpkitError as refused:
        raise LawNotApplicable("the engine reads files only, where nobody can watch it") from refused
    try:
        read.clear()
        engine.check(_queries())
        assert not read, "`check` reads rows, which nobody has paid for"
    finally:
        if isinstance(engine, Closing):
            engine.close()


class _Watched:
    """A table of two rows that notes each time it is read."""

    names = ("x", "y")

    def __init__(self, read: list[str]) -> None:
        self._read = read

    def batches(self, names: Sequence[str], rows: int) -> Iterator[Batch]:
        """Its two rows, after a note that they were read."""
        self._read.append("batches")
        yield Batch(rows=2, cells={name: Cells(values=np.array([0.25, 0.5])) for name in names})


def public_mistakes_are_refused_before_anything_is_read(case: EngineCase) -> None:
    """`check` refuses a column that is not declared, a wrong shape, and a query that fails on made-up rows."""

    def fails(block: Block) -> Block:
        raise RuntimeError("on every row")

    wrong = {
        "a column that is not declared": _query("wrong", lambda block: block[:, 0], columns=("nothing",)),
        "a wrong shape": _query("wrong", lambda block: block, columns=("x", "y")),
        "a query that fails on made-up rows": _query("wrong", fails, columns=("x",)),
    }
    for engine, _ in case.engines(few=True):
        for what, query in wrong.items():
            try:
                engine.check([query])
            except DpkitError:
                continue
            raise AssertionError(f"`check` lets {what} pass")


def nothing_raises_on_a_value(case: EngineCase) -> None:
    """A query that fails on some rows loses these rows; the pass goes on."""

    def picky(block: Block) -> Block:
        if (block[:, 0] == 0.1).any():  # a cell of the files, and of no made-up row
            raise RuntimeError("on some rows")
        return np.ones(block.shape[0])

    query = _query("picky", picky, columns=("x",))
    for engine, source in case.engines(few=True):
        (total,) = engine.evaluate([query])
        (expected,) = BlockEngine(source, threads=1).evaluate([query])
        assert _bits(total) == _bits(expected), "rows on which a query fails do not count as zero"


ENGINE_LAWS: tuple[Callable[[EngineCase], None], ...] = (
    totals_are_those_of_the_built_in_engine,
    a_total_is_that_of_its_query,
    check_reads_no_row,
    public_mistakes_are_refused_before_anything_is_read,
    nothing_raises_on_a_value,
)


def _queries() -> list[Query]:
    return [
        _query("count", lambda block: np.ones(block.shape[0]), columns=("x",)),
        _query("sum", lambda block: block[:, 0], columns=("x",)),
        _query("product", lambda block: block[:, 0] * (block[:, 1] / 1e6), columns=("x", "y")),
    ]


def _query(name: str, rows: Callable[[Block], Block], *, columns: tuple[str, ...]) -> Query:
    return Query(
        name=name, rows=rows, shape=(), sensitivity=lambda relation: (l1(2.0),), because=_BECAUSE, columns=columns, bound=1.0
    )


def _bits(total: ExactSum) -> object:
    return total.steps().tolist(), total.nearest().tolist()
