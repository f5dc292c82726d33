"""Categories among the features: dummies against the first level, priced and summed like numbers, never codes."""

from dataclasses import replace

import numpy as np
import pytest
from dpkit_irls.bounded.influence_query import Frame, gradient, scatter
from dpkit_irls.moments.moment_query import Scaling, Weights, joint_moments
from dpkit_irls.regressions import prepare
from dpkit_irls.rows.dummies import entry_names, widen_into, widened

import dpkit
from dpkit import DeclaredSetting, run_algorithms
from dpkit.testing import EXACT_SUM_LAWS, charged_event, flatten, search_excess

LEVELS = ("a", "b", "c")
EFFECTS = {"a": 0.0, "b": 2.0, "c": -1.0}


def setting(rows=6000, levels=LEVELS):
    return DeclaredSetting(
        schema=dpkit.Schema(
            columns=(
                dpkit.Number(name="x", lower=-4, upper=4, missing=0.0),
                dpkit.Category(name="group", levels=levels),
                dpkit.Boolean(name="late", missing=False),
                dpkit.Number(name="y", lower=-8, upper=8, missing=0.0),
            )
        ),
        neighbours=dpkit.Neighbours.REPLACE_ONE,
        rows=rows,
    )


def made_up(rows=6000, seed=3):
    rng = np.random.default_rng(seed)
    x, group, late = rng.normal(size=rows).clip(-4, 4), rng.choice(LEVELS, size=rows), rng.random(rows) < 0.3
    y = 0.5 * x + np.array([EFFECTS[name] for name in group]) + 1.5 * late + 0.3 + 0.1 * rng.normal(size=rows)
    return {"x": x, "group": group, "late": late, "y": y}


@pytest.mark.parametrize("name", ["irls", "irls-moments"])
def test_each_level_but_the_first_has_a_coefficient(name):
    where = setting()
    algorithm = prepare(name, where, features=["x", "group", "late"], target="y")
    source = dpkit.open_source(made_up(), where.schema, neighbours=where.neighbours)
    result = run_algorithms(
        {"fit": (algorithm, 0.01)}, engine=dpkit.BlockEngine(source), setting=where, rng=np.random.default_rng(4)
    )
    fit = result.outcomes["fit"].result
    assert fit.features == ("x", "group=b", "group=c", "late")
    assert fit.coefficients == pytest.approx((0.5, 2.0, -1.0, 1.5), abs=0.1)
    assert fit.intercept == pytest.approx(0.3, abs=0.1)
    assert flatten(charged_event(result.releases)) == flatten(result.plan)


def test_the_order_of_levels_does_not_matter_beyond_the_baseline():
    """Codes taken for numbers would: their slope depends on which level is third."""
    features = np.array([[0.5, 2.0], [0.1, 0.0], [0.2, 1.0]])
    assert widened(features, (0, 3)).tolist() == [[0.5, 0.0, 1.0], [0.1, 0.0, 0.0], [0.2, 1.0, 0.0]]
    assert widened(features, (0, 0)) is features
    where = setting()
    assert entry_names(where, ("group", "x")) == ("group=b", "group=c", "x")


FRAME = Frame(columns=("x", "g", "y"), units=(1.0, 1.0, 1.0), intercept=False, preconditioner=np.eye(3), levels=(0, 3))
SCALING = Scaling(columns=("x", "g", "y"), x_bound=2.0, y_bound=1.0, intercept=True, entries=("x", "g=b", "g=c"), levels=(0, 3))
QUERIES = [
    scatter(FRAME),
    gradient(FRAME, np.array([0.5, -0.5, 0.25]), 0.5),
    joint_moments(SCALING, Weights(theta=(0.5, -0.5, 0.25, 0.1), cap=10.0)),
]


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
@pytest.mark.parametrize("law", EXACT_SUM_LAWS, ids=lambda law: law.__name__)
def test_queries_of_categories_obey_the_laws(query, law):
    law(query, [(-3.0, 3.0), (0.0, 2.0), (-3.0, 3.0)])


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
@pytest.mark.parametrize("relation", list(dpkit.Neighbours), ids=str)
def test_no_neighbours_with_categories_exceed_the_sensitivity(query, relation):
    for distance in query.sensitivity(relation):
        if distance.metric != "swap":  # which no kit measures
            judged = replace(query, sensitivity=lambda neighbours, distance=distance: (distance,))
            assert search_excess(judged, 3, relation, hints=[0.0, 1.0, 2.0]) is None


@pytest.mark.parametrize(
    ("features", "target", "said"),
    [(["group"], "group", "distinct"), (["x"], "group", "column of numbers"), (["group"], "y", "1 to")],
)
def test_what_cannot_be_regressed_is_refused(features, target, said):
    where = setting(levels=("a",))
    with pytest.raises(dpkit.InvalidValueError, match=said):
        prepare("irls", where, features=features, target=target)


@pytest.mark.parametrize(("levels", "references"), [((0, 3, 0, 2), ()), ((0, 3, 0, 2), (0, 2, 0, 1)), ((), ())])
def test_entries_written_into_rows_are_those_of_columns(levels, references):
    features = np.column_stack([np.linspace(-1.0, 2.0, 7), np.arange(7) % 3, np.full(7, np.nan), np.arange(7) % 2])
    expected = widened(features, levels, references)
    found = np.empty(expected.shape[::-1])
    widen_into(found, features, levels, references)
    assert np.array_equal(found.T, expected, equal_nan=True)
