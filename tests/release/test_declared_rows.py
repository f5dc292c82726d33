"""A declared number of rows that is not the data's: refused before anything is reserved where it is public, else a guess."""

import pytest
from release.algorithms import Averaging, total_query

import dpkit
from dpkit.data.setting import DeclaredSetting
from dpkit.data.tables.cached_source import CachedSource
from dpkit.data.tables.source import SourcePart
from dpkit.release.curator import DataCurator, Purse, planned_event
from dpkit.release.run_algorithms import run_algorithms

SCHEMA = dpkit.Schema(columns=(dpkit.Number(name="x", lower=0.0, upper=1.0, missing=0.0),))
ROWS = 137
NOISE = dpkit.Gaussian(scale=2.0)
REPLACE, ADD = dpkit.Neighbours.REPLACE_ONE, dpkit.Neighbours.ADD_REMOVE
PERSON = dpkit.PrivacyUnit(column="who", at_most=2)


def source(neighbours=REPLACE, unit=None):
    data = {"x": [0.5] * ROWS, "who": list(range(ROWS))}
    return dpkit.open_source(data, SCHEMA, neighbours=neighbours, **({} if unit is None else {"unit": unit}))


def setting(rows, neighbours=REPLACE, unit=None):
    return DeclaredSetting(schema=SCHEMA, neighbours=neighbours, rows=rows, **({} if unit is None else {"unit": unit}))


@pytest.mark.parametrize("over", [lambda data: data, CachedSource])
@pytest.mark.parametrize("rows", [1, ROWS - 1, ROWS + 1])
def test_a_wrong_number_of_rows_is_refused_where_it_is_public(rows, over):
    engine = dpkit.BlockEngine(over(source()))
    purse = Purse(planned_event(setting(rows), total_query(), NOISE))
    with pytest.raises(dpkit.InvalidValueError, match=f"public here: {ROWS}, got {rows}"):
        DataCurator(engine=engine, setting=setting(rows), purse=purse)


def test_the_right_number_and_none_are_taken():
    for rows in (ROWS, None):
        where = setting(rows)
        result = run_algorithms({"mean": (Averaging(where), 2.0)}, engine=dpkit.BlockEngine(source()), setting=where)
        assert result.outcomes["mean"].ending == "finished"


def test_a_refused_run_reserves_nothing(tmp_path):
    where = setting(ROWS + 1)
    with dpkit.Ledger.create(tmp_path / "it.ledger", budget=dpkit.ZCDP(rho=9.0), dataset="it", neighbours=REPLACE) as ledger:
        with pytest.raises(dpkit.InvalidValueError, match="rows"):
            run_algorithms({"mean": (Averaging(where), 2.0)}, engine=dpkit.BlockEngine(source()), setting=where, ledger=ledger)
        assert [entry.kind for entry in ledger.entries()] == ["create"]


@pytest.mark.parametrize(("neighbours", "unit"), [(ADD, None), (ADD, PERSON), (REPLACE, PERSON)])
def test_where_the_number_is_private_a_guess_is_held_against_no_data_and_moves_no_price(neighbours, unit):
    class Uncounted(dpkit.BlockEngine):
        def public_rows(self):
            raise AssertionError("the rows were counted")

    prices = set()
    for rows in (1, ROWS, 10**9, None):
        where = setting(rows, neighbours, unit)
        engine = Uncounted(source(neighbours, unit))
        result = run_algorithms({"mean": (Averaging(where), 2.0)}, engine=engine, setting=where)
        prices.add(result.plan)
    assert len(prices) == 1


def test_rows_are_counted_once_for_all_steps(monkeypatch):
    data, counted = source(), []
    count = SourcePart.count
    monkeypatch.setattr(SourcePart, "count", lambda self: counted.append(1) or count(self))
    where = setting(ROWS)
    steps = {name: (Averaging(where), 2.0) for name in "abc"}
    run_algorithms(steps, engine=dpkit.BlockEngine(data), setting=where)
    assert len(counted) == 1
