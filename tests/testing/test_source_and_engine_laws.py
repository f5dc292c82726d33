"""Every law of sources and engines has a mutant that it catches; what is right passes all of them."""

import numpy as np
import pytest

import dpkit
from dpkit.authoring.engines import plan_sums
from dpkit.testing.conformance import LawNotApplicable
from dpkit.testing.engine_laws import ENGINE_LAWS, EngineCase
from dpkit.testing.source_laws import SOURCE_LAWS, SourceCase


class Rows:
    """Twenty rows of two columns."""

    names = ("a", "b")

    def __init__(self, start=0, stop=20):
        self.start, self.stop = start, stop

    def batches(self, names, rows):
        for start in range(self.start, self.stop, rows):
            places = np.arange(start, min(start + rows, self.stop))
            cells = {name: dpkit.Cells(values=places * (1.0 if name == "a" else 2.0)) for name in names}
            yield dpkit.Batch(rows=places.size, cells=cells)

    def pieces(self, size):
        step = max(1, size // 16)
        return [type(self)(start, min(start + step, self.stop)) for start in range(self.start, self.stop, step)]


class SameNames(Rows):
    names = ("a", "a")


class TooMany(Rows):
    def batches(self, names, rows):
        return super().batches(names, 2 * rows)


class UnaskedColumn(Rows):
    def batches(self, names, rows):
        return super().batches(("a", "b"), rows)


class LosesTheLast(Rows):
    def batches(self, names, rows):
        return (batch for batch in super().batches(names, rows) if batch.rows == rows or rows > 20)


class DependsOnOthers(Rows):
    def batches(self, names, rows):
        for batch in super().batches(names, rows):
            if len(names) == 1:
                (name,) = names
                batch = dpkit.Batch(rows=batch.rows, cells={name: dpkit.Cells(values=batch.cells[name].values + 1.0)})
            yield batch


class OverlappingPieces(Rows):
    def pieces(self, size):
        return [Rows(0, 11), Rows(10, 20)]


MUTANTS = {
    SameNames: "names_are_distinct_texts",
    TooMany: "batches_hold_what_was_asked_for",
    UnaskedColumn: "batches_hold_what_was_asked_for",
    LosesTheLast: "rows_do_not_depend_on_the_batch",
    DependsOnOthers: "columns_can_be_read_alone",
    OverlappingPieces: "pieces_are_the_rows",
}


def source(kind):
    return SourceCase(factory=dpkit.Factory(name="rows", doc="Rows.", make=kind))


@pytest.mark.parametrize("law", SOURCE_LAWS)
def test_a_right_source_passes(law):
    law(source(Rows))


@pytest.mark.parametrize(("mutant", "name"), MUTANTS.items(), ids=lambda item: getattr(item, "__name__", item))
def test_a_wrong_source_is_caught(mutant, name):
    (law,) = [law for law in SOURCE_LAWS if law.__name__ == name]
    with pytest.raises(AssertionError):
        law(source(mutant))


def test_a_source_that_cannot_be_opened_here_is_not_judged():
    path = dpkit.Parameter(name="path", kind="text", doc="A file.")

    def opened(path):
        raise dpkit.SourceError(source=path, reason="there is no such file.")

    case = SourceCase(factory=dpkit.Factory(name="files", doc="Files.", make=opened, parameters=(path,)))
    with pytest.raises(LawNotApplicable, match="examples"):
        SOURCE_LAWS[0](case)


class Trusting(dpkit.BlockEngine):
    """Checks nothing beforehand."""

    def check(self, queries):
        pass


class Raising(dpkit.BlockEngine):
    """Lets through what a query raises on a row."""

    def evaluate(self, queries):
        for block in self._source.blocks(self._source.columns, 100):
            for query in queries:
                query.rows(block[:, [self._source.columns.index(name) for name in query.columns]])
        return super().evaluate(queries)


class HalfOfTheRows(dpkit.BlockEngine):
    def evaluate(self, queries):
        plan = plan_sums(queries, self._source.columns)
        totals = plan.zero()
        for block in self._source.blocks(plan.columns, 100):
            totals = plan.merge(totals, plan.partial(block[::2]))
        return plan.finish(totals)


ENGINE_MUTANTS = {
    HalfOfTheRows: "totals_are_those_of_the_built_in_engine",
    Trusting: "public_mistakes_are_refused_before_anything_is_read",
    Raising: "nothing_raises_on_a_value",
}


def engine(kind):
    return EngineCase(factory=dpkit.EngineFactory(name="mine", doc="Mine.", make=kind))


@pytest.mark.parametrize("law", ENGINE_LAWS)
def test_the_built_in_engine_passes(law):
    law(engine(dpkit.BlockEngine))


@pytest.mark.parametrize(("mutant", "name"), ENGINE_MUTANTS.items(), ids=lambda item: getattr(item, "__name__", item))
def test_a_wrong_engine_is_caught(mutant, name):
    (law,) = [law for law in ENGINE_LAWS if law.__name__ == name]
    with pytest.raises((AssertionError, RuntimeError)):  # the kit counts what a third party raises as a failure
        law(engine(mutant))


def test_every_law_has_a_mutant():
    assert set(MUTANTS.values()) == {law.__name__ for law in SOURCE_LAWS}
    assert set(ENGINE_MUTANTS.values()) == {law.__name__ for law in ENGINE_LAWS}
