"""Groups: which cell a row is in, and how far the cells of a table move together."""

import math
from dataclasses import replace

import numpy as np
import pytest

import dpkit
from dpkit import Neighbours
from dpkit.auditing.search.sensitivity import search_sensitivity
from dpkit.testing.excess_search import AnyRows

SETTING = dpkit.DeclaredSetting(
    schema=dpkit.Schema(
        columns=(
            dpkit.Number(name="age", lower=0, upper=100),
            dpkit.Number(name="month", lower=1, upper=12, whole=True),
            dpkit.Category(name="region", levels=("north", "south", "west")),
            dpkit.Category(name="code", levels=("1", "2", "3")),
            dpkit.Boolean(name="member"),
        )
    )
)


REPLACED = (dpkit.l1(2.0), dpkit.l2(math.sqrt(2.0)))


def query(columns=("age",), *, replaced=REPLACED, grid=2.0**-20):
    """Contributions (u, 1 - u) of the first column, u in [0, 1]."""

    def rows(block):
        share = np.floor(np.clip(np.nan_to_num(block[:, 0]) / 100.0, 0.0, 1.0) * 2**20) / 2**20
        return np.stack([share, 1.0 - share], axis=1)

    return dpkit.Query(
        name="pair",
        columns=columns,
        rows=rows,
        shape=(2,),
        grid=grid,
        bound=1.0,
        sensitivity=lambda relation: replaced if relation is Neighbours.REPLACE_ONE else (dpkit.l1(1.0), dpkit.l2(1.0)),
        because=dpkit.Citation(key="test", locator="here"),
    )


def groups(by):
    return dpkit.read_groups(SETTING, by)


def test_a_row_is_in_the_cell_that_its_codes_say():
    found = groups(["region", "member"])
    assert (found.names, found.shape, found.count, found.is_complete) == (("region", "member"), (3, 2), 6, True)
    assert list(found.labels())[:3] == [("north", False), ("north", True), ("south", False)]
    block = np.array([[0.0, 0.0], [2.0, 1.0], [1.0, 1.0], [3.0, 0.0], [0.5, 1.0], [-1.0, 0.0], [math.nan, 0.0]])
    assert found.cells(block).tolist() == [0, 5, 3, -1, -1, -1, -1]


def test_edges_hold_their_lower_end_and_the_last_both():
    found = groups({"column": "age", "edges": [0, 18, 65, 90]})
    codes = np.array([[0.0], [17.9], [18.0], [64.0], [65.0], [90.0], [90.1], [-0.1]])
    assert found.cells(codes).tolist() == [0, 0, 1, 1, 2, 2, -1, -1]
    assert [label for (label,) in found.labels()] == ["[0, 18)", "[18, 65)", "[65, 90]"]
    assert not found.is_complete
    assert groups({"column": "age", "edges": [0, 50, 100]}).is_complete


def test_levels_may_be_some_in_any_order_and_numbers_by_value():
    found = groups([{"column": "region", "levels": ["west", "north"]}, {"column": "month", "levels": [12, 1]}])
    assert list(found.labels()) == [("west", 12), ("west", 1), ("north", 12), ("north", 1)]
    assert found.cells(np.array([[2.0, 1.0], [0.0, 12.0], [1.0, 1.0], [0.0, 5.0]])).tolist() == [1, 2, -1, -1]
    assert groups({"column": "code", "levels": [3, 1.0, "2"]}).columns[0].codes == (2.0, 0.0, 1.0)
    assert groups({"column": "member", "levels": [True]}).columns[0].codes == (1.0,)


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ([], "a column, "),
        (3, "a column, "),
        ("age", "its `edges` or `levels`"),
        ({"column": "age", "edges": [1]}, "at least two increasing"),
        ({"column": "age", "edges": [2, 1]}, "at least two increasing"),
        ({"column": "age", "edges": [0, "x"]}, "edges"),
        ({"column": "region", "edges": [0, 1]}, "has levels"),
        ({"column": "region", "levels": ["east"]}, "north, south, west"),
        ({"column": "region", "levels": []}, "a list of levels"),
        ({"column": "month", "levels": [13]}, "from 1 to 12"),
        ({"column": "month", "levels": [1, 1.0]}, "levels that differ"),
        (["region", "region"], "columns that differ"),
        ({"column": "age", "width": 3}, "a column, "),
        ({"column": "age", "edges": list(np.linspace(0, 100, 200_000))}, "at most 100000"),
    ],
)
def test_what_is_no_group_is_refused_with_what_is(by, message):
    with pytest.raises(dpkit.InvalidValueError, match=message):
        groups(by)


def test_an_unknown_column_gets_the_nearest():
    with pytest.raises(dpkit.UnknownNameError, match="region"):
        groups(["regoin"])


@pytest.mark.parametrize(
    "by", [["region"], ["region", {"column": "age", "edges": [0, 30, 100]}], {"column": "region", "levels": ["west"]}]
)
@pytest.mark.parametrize("entries", [2, 12])
def test_the_fast_sum_is_that_of_the_rows(by, entries):
    base, rng = query(), np.random.default_rng(0)
    if entries > 2:  # more than are added up one after the other
        wide = lambda block, rows=base.rows: np.tile(rows(block), entries // 2)  # noqa: E731
        base = replace(base, rows=wide, shape=(entries,))
    found = dpkit.grouped_query(base, groups(by))
    columns = [rng.uniform(0, 100, 500)] + [rng.integers(-1, 4, 500).astype(float)] * (len(found.columns) - 1)
    block = np.stack(columns, axis=1)
    assert (found.total(block) == found.rows(block).sum(axis=0)).all()
    assert found.total(block).shape == found.shape == (groups(by).count, entries)


def moved(found, relation):
    return {distance.metric: distance.value for distance in found.sensitivity(relation)}


def test_all_cells_move_no_further_than_one_and_two():
    found = dpkit.grouped_query(query(), groups(["region", "member"]))
    assert moved(found, Neighbours.ADD_REMOVE) == {"l1": 1.0, "l2": 1.0}
    assert moved(found, Neighbours.REPLACE_ONE) == {"l1": 2.0, "l2": pytest.approx(math.sqrt(2.0), rel=1e-12)}
    one_cell = dpkit.grouped_query(
        query(replaced=(dpkit.l1(0.5), dpkit.l2(0.5))), groups({"column": "region", "levels": ["west"]})
    )
    assert moved(one_cell, Neighbours.REPLACE_ONE) == {"l1": 1.0, "l2": 1.0}  # a row may come into the cell
    silent = dpkit.grouped_query(query(replaced=()), groups(["region"]))
    assert moved(silent, Neighbours.REPLACE_ONE) == {"l1": 2.0, "l2": 2.0}  # a row that goes and one that comes


@pytest.mark.parametrize("relation", list(Neighbours))
def test_the_search_finds_no_further_neighbours_and_finds_the_mutant(relation):
    found = dpkit.grouped_query(query(), groups(["region", "member"]))
    space = AnyRows(3, (0.0, 1.0, 2.0, 100.0))
    assert search_sensitivity(found, relation, space) is None
    half = replace(
        found, sensitivity=lambda relation: tuple(dpkit.l2(0.9 * item.value) for item in query().sensitivity(relation))
    )
    assert search_sensitivity(half, relation, space) is not None


def test_an_algorithm_without_groups_refuses_them():
    factory = dpkit.AlgorithmFactory(name="own", doc="Own.", make=lambda setting: None)
    with pytest.raises(dpkit.InvalidValueError, match="own has no groups"):
        factory.prepare(SETTING, by=["region"])
    made = dpkit.AlgorithmFactory(name="own", doc="Own.", make=lambda setting, by=None: by, takes_groups=True)
    assert made.prepare(SETTING, by="region").names == ("region",)
    assert made.prepare(SETTING) is None


DATED = dpkit.DeclaredSetting(
    schema=dpkit.Schema(
        columns=(
            dpkit.Date(name="born", lower="2000-01-01", upper="2024-12-31"),
            dpkit.Time(name="at", lower="2024-01-01", upper="2024-12-31 23:59:59"),
            dpkit.Text(name="city"),
        )
    )
)


def test_edges_of_dates_are_dates():
    (column,) = dpkit.read_groups(DATED, {"column": "born", "edges": ["2000-01-01", "2004-02-29", "2024-12-31"]}).columns
    assert column.labels == ("[2000-01-01, 2004-02-29)", "[2004-02-29, 2024-12-31]")
    assert column.edges == (10957.0, 12477.0, 20088.0)
    assert column.is_complete
    (column,) = dpkit.read_groups(DATED, {"column": "at", "edges": ["2024-01-01", "2024-01-01 12:00"]}).columns
    assert column.edges[1] - column.edges[0] == 43_200.0
    assert not column.is_complete


@pytest.mark.parametrize(
    ("by", "said"),
    [
        ("born", "declared as dates"),
        ({"column": "born", "edges": ["2004-02-30", "2024-12-31"]}, "dates such as 2024-12-31"),
        ({"column": "born", "edges": ["2024-12-31", "2004-02-29"]}, "increasing dates"),
        ({"column": "city", "edges": ["2004-02-29", "2024-12-31"]}, "a finite number"),
        ({"column": "city", "keys": "private", "levels": ["Ulm"], "delta": 1e-6}, "`levels` beside `keys`"),
    ],
)
def test_wrong_groups_of_dates_and_keys_are_told_in_their_own_words(by, said):
    with pytest.raises(dpkit.InvalidValueError) as caught:
        dpkit.read_groups(DATED, by)
    assert said in str(caught.value)
    assert "noise" not in str(caught.value)
