"""Neighbouring tables of the worst cells, through the engine: nothing moves further than its distance."""

import math
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dpkit

sys.path.insert(0, str(Path(__file__).parent))
from statistic_runs import ADD_REMOVE, ALGORITHMS, REPLACE_ONE, ROW

X = [-5.0, 15.0, 5.0, None, math.nan, math.inf, -math.inf, "text", "", "1e400", 10**400, -(10**400), Decimal("sNaN"), b"\xff",
     "x" * 500, 1e308, -1e-320, True, [1], {}]  # fmt: skip
Y = [1e9, 1e9 + 1.0, None, 1e9 + 0.3, math.nan, math.inf, "q"]
C = ["a", "b", "zzz", None, 3, "a" * 5_000]
ASKED = {
    "count": {}, "sum": {"column": "y"}, "mean": {"column": "x"}, "variance": {"column": "x"}, "histogram": {"column": "c"},
    "quantiles": {"column": "x", "depth": 3}, "covariance": {"columns": ["x", "y"]},
}  # fmt: skip
PERSON = dpkit.PrivacyUnit(column="who", at_most=2)
KEY = bytes(32)


def declared(drops, neighbours, unit):
    x, y, c = ("drop", "drop", "drop") if drops else (0.0, 1e9, "a")
    columns = (
        dpkit.Number(name="x", lower=-5.0, upper=15.0, missing=x),
        dpkit.Number(name="y", lower=1e9, upper=1e9 + 1.0, missing=y),
        dpkit.Category(name="c", levels=("a", "b"), missing=c, unknown=c),
    )
    return dpkit.DeclaredSetting(schema=dpkit.Schema(columns=columns), neighbours=neighbours, unit=unit)


def totals(rows, known, queries):
    names = ("x", "y", "c", "who")
    table = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    source = dpkit.open_source(table, known.schema, unit=known.unit, neighbours=known.neighbours)
    source._key = KEY  # the promise holds for every fixed key
    return dpkit.BlockEngine(source).evaluate(queries)


@pytest.mark.parametrize("unit", [ROW, PERSON], ids=["row", "person"])
@pytest.mark.parametrize("neighbours", [ADD_REMOVE, REPLACE_ONE])
@pytest.mark.parametrize("drops", [True, False])
def test_nobody_moves_a_total_further_than_its_distance(drops, neighbours, unit):
    known, rng = declared(drops, neighbours, unit), np.random.default_rng(11)
    algorithms = [ALGORITHMS[name].prepare(known, **parameters) for name, parameters in ASKED.items()]
    queries = [algorithm.statistic.query for algorithm in algorithms]
    reached = dict.fromkeys(ASKED, 0.0)

    def some(count, who):
        return [(*(cells[rng.integers(len(cells))] for cells in (X, Y, C)), who) for _ in range(count)]

    for _ in range(60):
        others = [row for person in "pq" for row in some(rng.integers(0, 3), person)]
        most = 4 if unit is PERSON else 1
        before = 0 if neighbours is ADD_REMOVE else rng.integers(0, most + 1) if unit is PERSON else 1
        after = rng.integers(0, most + 1) if unit is PERSON else 1
        pair = [totals(others + some(count, "z"), known, queries) for count in (before, after)]
        for name, query, one, other in zip(ASKED, queries, *pair, strict=True):
            moved = [abs(int(step)) * Fraction(query.grid) for step in np.ravel(one.steps() - other.steps())]
            distance = {found.metric: Fraction(found.value) for found in known.distances(query)}
            assert sum(moved) <= distance["l1"]
            assert sum(step * step for step in moved) <= distance["l2"] ** 2
            if distance["l1"]:
                reached[name] = max(reached[name], float(sum(moved) / distance["l1"]))
    assert all(share > 0.3 for name, share in reached.items() if known.distances(queries[list(ASKED).index(name)])[0].value)
