"""Hard pairs of tables are neighbours, of the form of the example, and find what a generator would have to know."""

import math

import numpy as np
import pandas
import pytest

from dpkit import InvalidValueError, Neighbours, PureDP, audit, hard_pairs
from dpkit.auditing.relation import difference_of

FRAME = pandas.DataFrame({"city": ["a", "b"], "age": [1.0, 2.0], "count": [1, 2]})
BOUNDS = {"age": (10.0, 11.0), "count": (0, 5)}


def rows_of(table):
    return [
        repr(row) for row in (table.itertuples(index=False) if hasattr(table, "itertuples") else np.asarray(table).tolist())
    ]


@pytest.mark.parametrize("neighbours", list(Neighbours), ids=str)
@pytest.mark.parametrize(
    ("example", "bounds"),
    [(FRAME, BOUNDS), (np.zeros(3), (0.0, 1.0)), (np.zeros((3, 2)), (0.0, 1.0)), ([0.5], (10.0, 11.0)), ({"x": [1.0]}, (0, 1))],
    ids=["frame", "array", "matrix", "list", "columns"],
)
def test_pairs_are_neighbours_of_the_form_of_the_example(example, bounds, neighbours):
    for one, two in hard_pairs(example, bounds=bounds, neighbours=neighbours):
        assert type(one) is type(two) is type(example)
        found = difference_of((one, two))
        assert found.neighbours in (neighbours, None)
        if isinstance(example, np.ndarray | list):
            sizes = len(one), len(two)
            assert sizes[1] - sizes[0] == (1 if neighbours is Neighbours.ADD_REMOVE else 0)


def test_every_kind_of_hard_record_is_there():
    pairs = hard_pairs(FRAME, bounds=BOUNDS)
    ages = {repr(age) for _, two in pairs for age in two["age"].tolist()}
    assert {"10.0", "11.0", "nan", "inf", "-inf", "1e+308", "21.0", "0.0"} <= ages
    cities = {city for _, two in pairs for city in two["city"].tolist()}
    assert {"a", "b", "a label never seen"} <= cities
    ends = {(len(one), two["age"].tolist()[-1]) for one, two in pairs}
    assert {(0, 10.0), (0, 11.0), (1, 10.0), (1, 11.0), (30, 11.0)} <= ends
    assert any(len(two) > 1 and len(set(rows_of(two))) == 1 for _, two in pairs), "duplicates"
    assert any(len(one) == 0 and one["age"].dtype == FRAME["age"].dtype for one, _ in pairs)


def clean(rows):
    return np.clip(np.nan_to_num(np.asarray(rows, dtype=float), nan=0.5, posinf=1.0, neginf=0.0), 0.0, 1.0)


def mean(rows, n, rng):  # it moves by one half at most, from no row to one: epsilon is 1.2
    rows = clean(rows)
    return (rows.mean() if rows.size else 0.5) + rng.laplace(scale=0.5 / 1.2, size=n)


def test_the_mean_under_add_remove_is_found():
    (found,) = audit(mean, PureDP(epsilon=1.0), search=hard_pairs([0.0], bounds=(0.0, 1.0)), rng=1)
    assert found.refuted
    assert found.epsilon_lower <= 1.2


@pytest.mark.parametrize(
    "fn",
    [
        lambda rows, n, rng: np.sum(np.clip(rows, 0.0, 1.0)) + rng.laplace(size=n),
        lambda rows, n, rng: np.sum(np.minimum(np.nan_to_num(rows), 1.0)) + rng.laplace(size=n),
        lambda rows, n, rng: clean(rows).sum() / (1 if rows else 0) + rng.laplace(size=n),
        lambda rows, n, rng: np.sum(np.clip(np.nan_to_num(rows), 10.0, 11.0)) + rng.laplace(size=n),
        lambda rows, n, rng: clean(rows).min() + rng.laplace(size=n),
    ],
    ids=["nan", "outside", "empty", "far from zero", "raises at no row"],
)
def test_careless_sums_are_found(fn):
    (found,) = audit(fn, PureDP(epsilon=1.0), search=hard_pairs(np.zeros(2), bounds=(0.0, 1.0)), samples=3_000, rng=2)
    assert found.refuted


def test_a_right_sum_stands():
    def fn(rows, n, rng):
        return clean(rows).sum() + rng.laplace(size=n)

    (found,) = audit(fn, PureDP(epsilon=1.0), search=hard_pairs(np.zeros(2), bounds=(0.0, 1.0)), samples=3_000, rng=3)
    assert not found.refuted


def test_a_new_label_is_found():
    def by_city(table, n, rng):
        return len(set(table["city"])) + np.zeros((n, len(set(table["city"])) + 1))

    pairs = hard_pairs({"city": ["a", "b"], "age": [1.0]}, bounds={"age": (0.0, 1.0)})
    (found,) = audit(by_city, PureDP(epsilon=1.0), search=pairs, samples=300, tries=8, rng=4)
    assert found.refuted


@pytest.mark.parametrize(
    ("example", "bounds", "field"),
    [
        ("text", (0, 1), "example"),
        (np.zeros(3), (1, 0), "bounds"),
        (np.zeros(3), (0, math.inf), "bounds"),
        (FRAME, {"agee": (0, 1)}, "bounds"),
        (FRAME, {"age": 3}, "bounds"),
        (pandas.DataFrame({"x": []}), {}, "bounds"),
        ({}, (0, 1), "example"),
    ],
)
def test_wrong_input_is_named(example, bounds, field):
    with pytest.raises(InvalidValueError, match=field):
        hard_pairs(example, bounds=bounds)
