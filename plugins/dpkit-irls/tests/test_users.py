"""A person with several rows: every form plans, charges and releases for whole persons, under both relations."""

import numpy as np
import pytest
from dpkit_irls.regressions import prepare

import dpkit
from dpkit import DeclaredSetting, run_algorithms
from dpkit.testing import charged_event, flatten, sizes_in

AT_MOST = 3
COLUMNS = ("x0", "x1", "y")
FORMS = {
    "bounded": {"run": "irls", "iterations": 2},
    "gaussian": {"run": "irls-moments", "iterations": 2},
    "laplace": {"run": "irls-moments", "iterations": 2, "noise": "laplace"},
}


def setting(relation, at_most=AT_MOST):
    numbers = [dpkit.Number(name=name, lower=-4, upper=4, missing=0.0) for name in COLUMNS]
    schema = dpkit.Schema(columns=tuple(numbers))
    return DeclaredSetting(schema=schema, neighbours=relation, unit=dpkit.PrivacyUnit(column="person", at_most=at_most))


def table(persons):
    """Rows of persons: each a list of rows."""
    rows = np.array([row for person in persons for row in person])
    names = np.array([name for name, person in enumerate(persons) for _ in person])
    return {"x0": rows[:, 0], "x1": rows[:, 1], "y": rows[:, 2], "person": names}


def people(count, seed=1):
    rng = np.random.default_rng(seed)
    rows = [rng.normal(size=(1 + index % AT_MOST, 2)).clip(-3, 3) for index in range(count)]
    return [np.column_stack([x, x @ [0.5, -0.25] + 0.3 + 0.1 * rng.normal(size=len(x))]).tolist() for x in rows]


def engine(persons, where):
    source = dpkit.open_source(table(persons), where.schema, neighbours=where.neighbours, unit=where.unit)
    return dpkit.BlockEngine(source)


class Watching:
    """A curator that evaluates on two datasets and compares every change with what the setting says."""

    def __init__(self, engines, where, rng):
        self.engines, self.where, self.rng, self.largest = engines, where, rng, 0.0

    def release(self, query, mechanism):
        return self.release_all([(query, mechanism)])[0]

    def release_all(self, pairs):
        queries = [query for query, _ in pairs]
        here, there = (one.evaluate(queries) for one in self.engines)
        for query, one, other in zip(queries, here, there, strict=True):
            for distance in self.where.distances(query):
                size = float(sizes_in(distance.metric, (one.nearest() - other.nearest())[None])[0])
                assert size <= distance.value * (1.0 + 1e-12), query.name
                self.largest = max(self.largest, size / distance.value)
        return tuple(mechanism.release(one.nearest(), self.rng) for (_, mechanism), one in zip(pairs, here, strict=True))


def prepared(where, run, **values):
    return prepare(run, where, features=["x0", "x1"], target="y", **values)


@pytest.mark.parametrize("relation", list(dpkit.Neighbours), ids=str)
@pytest.mark.parametrize("name", FORMS)
def test_a_whole_person_moves_no_sum_beyond_its_distance(name, relation):
    where, others = setting(relation), people(10)
    extreme = [[4.0, 4.0, 4.0]] * 5  # more than the three that count
    opposite = [[4.0, 4.0, -4.0]] * 5
    neighbours = (others, [*others, extreme]) if relation is dpkit.Neighbours.ADD_REMOVE else (
        [*others, opposite], [*others, extreme]
    )  # fmt: skip
    algorithm = prepared(where, **({} if name == "bounded" else {"weight_cap": 1.0}), **FORMS[name])
    watching = Watching([engine(persons, where) for persons in neighbours], where, np.random.default_rng(2))
    dpkit.drive(algorithm, watching, noise=1.0)
    assert watching.largest > 0.3  # the neighbours are hard


@pytest.mark.parametrize("relation", list(dpkit.Neighbours), ids=str)
@pytest.mark.parametrize("name", FORMS)
def test_a_fit_for_persons_charges_its_plan_and_finds_the_line(name, relation):
    where = setting(relation)
    algorithm = prepared(where, **FORMS[name] | {"iterations": 6})
    alone = prepared(setting(relation, at_most=1), **FORMS[name] | {"iterations": 6})
    result = run_algorithms(
        {"fit": (algorithm, 0.01)}, engine=engine(people(1500), where), setting=where, rng=np.random.default_rng(3)
    )
    assert flatten(charged_event(result.releases)) == flatten(result.plan)
    fit = result.outcomes["fit"].result
    assert fit.coefficients == pytest.approx((0.5, -0.25), abs=0.05)
    if name != "bounded":  # whose noise follows its distances
        cheap, dear = (dpkit.account(form.plan(50.0), "best", relation) for form in (alone, algorithm))
        assert dear.epsilon(delta=1e-6) > 2.0 * cheap.epsilon(delta=1e-6)


def test_wishart_noise_for_persons_with_several_rows_is_refused_before_anything_is_spent():
    """Their change has a higher rank than the theorem covers."""
    for relation in dpkit.Neighbours:
        algorithm = prepared(setting(relation), run="irls-moments", noise="wishart")
        with pytest.raises(dpkit.InvalidValueError, match="rank_one"):
            algorithm.plan(1.0)
        one_row = setting(relation, at_most=1)
        prepared(one_row, run="irls-moments", noise="wishart").plan(1.0)
