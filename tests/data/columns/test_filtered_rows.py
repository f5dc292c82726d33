"""Conditions and derived columns over whole sources: the same bits from every source and engine, prices, persons and caches."""

import datetime
import pickle
import threading
from contextlib import closing

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

import dpkit
from dpkit.contracts.table import Batch
from dpkit.data.setting import DeclaredSetting
from dpkit.data.tables.cached_source import CachedSource
from dpkit.data.tables.source import SourcePart

ROWS = 3000
SCHEMA = dpkit.Schema(
    columns=(
        dpkit.Number(name="age", lower=0, upper=100),
        dpkit.Number(name="pay", lower=0, upper=5000),
        dpkit.Category(name="region", levels=("north", "south", "west")),
        dpkit.Boolean(name="member"),
        dpkit.Date(name="born", lower="1920-01-01", upper="2020-12-31"),
    )
)
LET = {
    "log_pay": "ln(pay + 1)",
    "band": "case when age < 30 then 'young' when age < 60 then 'middle' else 'old' end",
    "decade": "floor(year(born) / 10) * 10",
    "ratio": "least(pay / age, 100)",
}
WHERE = "(region <> 'west' or pay > 1000) and member is not false and month(born) between 2 and 11"


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(8)
    days = [datetime.date(1920, 1, 1) + datetime.timedelta(days=int(day)) for day in rng.integers(0, 36_000, ROWS)]
    return {
        "age": [None if one > 97 else int(one) for one in rng.integers(0, 101, ROWS)],
        "pay": rng.integers(0, 5001, ROWS).tolist(),
        "region": rng.choice(["north", "south", "west", "east"], ROWS).tolist(),
        "member": rng.choice([True, False], ROWS).tolist(),
        "born": days,
        "who": rng.integers(0, 200, ROWS).tolist(),
    }


@pytest.fixture(scope="module")
def sources(columns, tmp_path_factory):
    folder = tmp_path_factory.mktemp("filtered")
    table = pyarrow.table(columns)
    parquet.write_table(table, folder / "rows.parquet", row_group_size=700)
    cells = [["" if one is None else str(one).lower() for one in row] for row in zip(*columns.values(), strict=True)]
    (folder / "rows.csv").write_text("\n".join([",".join(columns), *map(",".join, cells), ""]), encoding="utf-8")
    return {
        "columns": columns,
        "arrow": table,
        "pandas": table.to_pandas(),
        "polars": pytest.importorskip("polars").from_arrow(table),
        "csv": folder / "rows.csv",
        "parquet": folder / "rows.parquet",
    }


def used_rows(columns):
    """What the condition means, in plain Python."""
    for row in zip(*columns.values(), strict=True):
        age, pay, region, member, born, who = row
        known = region if region != "east" else None
        if (pay > 1000 or (known is not None and known != "west")) and member and 2 <= born.month <= 11:
            yield age, pay, known, born, who


def total(column, bound):
    return dpkit.Query(
        name=f"sum of {column}",
        columns=(column,),
        rows=lambda block: block[:, 0],
        shape=(),
        bound=bound,
        sensitivity=lambda relation: (dpkit.l1(bound if relation is dpkit.Neighbours.ADD_REMOVE else 2 * bound),),
        because=dpkit.Citation(key="dpkit", locator="tests"),
    )


QUERIES = [total("pay", 5000.0), total("log_pay", 9.0), total("band", 2.0), total("decade", 2020.0), total("ratio", 100.0)]


def totals(source):
    return [_value(found) for found in dpkit.BlockEngine(source).evaluate(QUERIES)]


def _value(total):
    return float(total.nearest())


def test_every_source_gives_the_same_bits_and_they_are_right(sources, columns):
    schema = SCHEMA.extended(let=LET, where=WHERE)
    found = {name: totals(dpkit.open_source(data, schema)) for name, data in sources.items()}
    view = {name: totals(dpkit.open_source(data, SCHEMA).view(schema)) for name, data in sources.items()}
    with closing(CachedSource(dpkit.open_source(sources["csv"], schema), cells="float32")) as kept:
        cached = totals(kept)
        assert totals(kept) == cached
    memory = totals(dpkit.open_source(sources["csv"], SCHEMA).view(schema).in_memory())
    first = found["columns"]
    for other in (*found.values(), *view.values(), cached, memory):
        assert other == first
    rows = list(used_rows(columns))
    assert first[0] == sum(pay for _, pay, *_ in rows)
    assert first[1] == pytest.approx(sum(np.log(pay + 1) for _, pay, *_ in rows), rel=1e-9)
    assert first[2] == sum(2 if age is None or age >= 60 else age >= 30 for age, *_ in rows)
    assert first[3] == sum(born.year // 10 * 10 for *_, born, _ in rows)
    ratios = [min(pay / age, 100) for age, pay, *_ in rows if age]
    assert first[4] == pytest.approx(sum(ratios), rel=1e-9)


def test_conditions_come_before_contributions_are_bounded(sources, columns):
    """Of each person at most two rows are used, and as many as there are: two, among those for which the condition holds."""
    schema = SCHEMA.extended(let=LET, where=WHERE)
    unit = dpkit.PrivacyUnit(column="who", at_most=2)
    counted = dpkit.Query(
        name="count",
        columns=("pay",),
        rows=lambda block: np.ones(block.shape[0]),
        shape=(),
        grid=1.0,
        bound=1.0,
        sensitivity=lambda relation: (dpkit.l1(1.0),),
        because=dpkit.Citation(key="dpkit", locator="tests"),
    )
    persons = [who for *_, who in used_rows(columns)]
    expected = sum(min(2, persons.count(who)) for who in set(persons))
    for data in sources.values():
        for source in (dpkit.open_source(data, schema, unit=unit), dpkit.open_source(data, SCHEMA, unit=unit).view(schema)):
            (found,) = dpkit.BlockEngine(source).evaluate([counted])
            assert _value(found) == expected
            assert _value(dpkit.BlockEngine(source.in_memory()).evaluate([counted])[0]) == expected


def test_one_person_changes_as_many_rows_as_are_allowed(columns):
    """Neighbours differ in one person; whatever the key is, at most two contributions differ."""
    schema = SCHEMA.extended(where=WHERE)
    without = [place for place, who in enumerate(columns["who"]) if who != 7]
    fewer = {name: [cells[place] for place in without] for name, cells in columns.items()}
    unit = dpkit.PrivacyUnit(column="who", at_most=2)
    key = bytes(32)
    from dpkit.data.tables.open_source import open_table
    from dpkit.data.tables.source import DataSource

    def rows(data):
        source = DataSource(table=open_table(data), schema=schema, unit=unit, neighbours=dpkit.Neighbours.ADD_REMOVE, key=key)
        return sorted(map(bytes, np.concatenate(list(source.blocks((), 500)))))

    more, less = rows(columns), rows(fewer)
    assert len(more) - len(less) == min(2, sum(who == 7 for *_, who in used_rows(columns)))
    assert not [row for row in less if less.count(row) > more.count(row)]


@pytest.mark.parametrize("relation", dpkit.Neighbours)
def test_a_filtered_row_is_priced_as_a_dropped_one(relation):
    columns = (dpkit.Number(name="x", lower=10, upper=20, missing=10),)
    bare = dpkit.Schema(columns=columns)
    query = dpkit.Query(
        name="sum",
        columns=("x",),
        rows=lambda block: block[:, 0],
        shape=(),
        grid=1.0,
        bound=20.0,
        sensitivity=lambda given: (dpkit.l1(20.0 if given is dpkit.Neighbours.ADD_REMOVE else 10.0),),
        because=dpkit.Citation(key="dpkit", locator="tests"),
    )
    expected = {dpkit.Neighbours.ADD_REMOVE: (20.0, 20.0), dpkit.Neighbours.REPLACE_ONE: (10.0, 20.0)}[relation]
    found = [
        DeclaredSetting(schema=schema, neighbours=relation).distances(query)[0].value
        for schema in (bare, bare.extended(where="x > 12"))
    ]
    assert tuple(found) == expected


def test_a_derived_column_may_drop_where_it_may_be_null():
    schema = dpkit.Schema(columns=(dpkit.Number(name="x", lower=0, upper=20, missing=10),))
    schema = schema.extended(let={"y": "x + 1", "z": "least(greatest(1 / x, 0), 9)", "w": "coalesce(z, 3)"})
    assert [schema.may_drop((name,)) for name in ("x", "y", "z", "w")] == [False, False, True, False]


def test_only_what_is_needed_is_read():
    schema = SCHEMA.extended(let=LET)
    assert schema.reads(("decade",)) == ("born",)
    assert schema.reads(("ratio", "pay")) == ("age", "pay")
    assert schema.extended(where="band = 'old'").reads(("pay",)) == ("age", "pay")
    assert schema.extended(where="band = 'old'").reads(("pay",), given=schema) == ("pay", "band")


def test_parts_of_a_source_can_be_sent(sources):
    schema = SCHEMA.extended(let=LET, where=WHERE)
    for part in dpkit.open_source(sources["parquet"], schema).parts(20_000):
        again = pickle.loads(pickle.dumps(part))
        assert isinstance(again, SourcePart)
        assert [block.tobytes() for block in again.blocks((), 500)] == [block.tobytes() for block in part.blocks((), 500)]


def test_progress_is_told_of_rows_that_were_read_and_not_of_those_that_are_used(columns):
    source = dpkit.open_source(columns, SCHEMA.extended(where="age > 90"))
    told = []
    source.watch = told.append
    list(source.blocks(("age",), 500))
    assert sum(told) == ROWS


class _OtherThreads:
    """A table that says on which thread it is read."""

    names = ("x",)

    def batches(self, names, rows):
        assert threading.current_thread() is not None
        from dpkit.contracts.table import Cells

        yield Batch(rows=4, cells={name: Cells(values=np.array([0.0, 1.0, -1.0, np.nan])) for name in names})


def test_nothing_in_the_data_raises_or_warns(recwarn):
    schema = dpkit.Schema(columns=(dpkit.Number(name="x", lower=-1, upper=1),))
    hard = "least(greatest(ln(x) / x + exp(exp(exp(1000 * x))), 0), 1)"
    schema = schema.extended(let={"y": hard}, where="1 / x > 0 or x is null")
    blocks = list(dpkit.open_source(_OtherThreads(), schema).blocks(("x", "y"), 10))
    assert np.concatenate(blocks).shape == (2, 2)
    assert not recwarn.list


def test_the_number_of_used_rows_is_private():
    bare = dpkit.Schema(columns=(dpkit.Number(name="x", lower=0, upper=20, missing=10),))
    for schema, public in ((bare, True), (bare.extended(let={"y": "x + 1"}), True), (bare.extended(where="x > 3"), False)):
        assert DeclaredSetting(schema=schema, neighbours=dpkit.Neighbours.REPLACE_ONE, rows=9).size_is_public is public
