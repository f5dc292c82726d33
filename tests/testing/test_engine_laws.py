"""Every law of engines has a mutant that it catches; the built-in engine passes all of them."""

import pytest

import dpkit
from dpkit.authoring.engines import plan_sums
from dpkit.testing.engine_laws import ENGINE_LAWS, EngineCase


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


class LosesTheTail(dpkit.BlockEngine):
    """The last block is left out where it is not a full one and there are others."""

    def evaluate(self, queries):
        plan = plan_sums(queries, self._source.columns)
        totals = plan.zero()
        blocks = list(self._source.blocks(plan.columns, 8192))
        for block in blocks[:-1] if len(blocks) > 1 and len(blocks[-1]) < 8192 else blocks:
            totals = plan.merge(totals, plan.partial(block))
        return plan.finish(totals)


class KeepsByName(dpkit.BlockEngine):
    """A total that was found once is given again, by the name of its query."""

    def evaluate(self, queries):
        kept = self.__dict__.setdefault("kept", {})
        return [kept.setdefault(query.name, super(KeepsByName, self).evaluate([query])[0]) for query in queries]


class TriesOnRows(dpkit.BlockEngine):
    """Looks at the first rows to see whether a query works."""

    def check(self, queries):
        super().check(queries)
        for query in queries:
            query.rows(next(iter(self._source.blocks(query.columns, 10))))


ENGINE_MUTANTS = {
    LosesTheTail: "totals_are_those_of_the_built_in_engine",
    KeepsByName: "a_total_is_that_of_its_query",
    TriesOnRows: "check_reads_no_row",
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


def test_every_law_of_engines_has_a_mutant():
    assert set(ENGINE_MUTANTS.values()) == {law.__name__ for law in ENGINE_LAWS}
