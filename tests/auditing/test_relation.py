"""A certificate says how its two datasets differ: as seen in them, and a relation that they contradict is refused."""

import numpy as np
import pandas as pd
import pytest

from dpkit import InvalidValueError, Neighbours, PureDP, audit
from dpkit.auditing.relation import difference_of, stated_relation

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
VISITS = {"who": ["a", "a", "b"], "cost": [1.0, 2.0, 3.0]}


@pytest.mark.parametrize(
    ("pair", "relation", "words"),
    [
        (([1, 2], [1, 2, 3]), ADD, "one row more"),
        (([1, 2, 2], [1, 2]), ADD, "one row less"),
        (([1, 2], [1, 5]), REPLACE, "one row replaced"),
        ((np.zeros((3, 2)), np.eye(3)[:, :2]), None, "2 rows"),
        (([1, 2], [1, 2]), None, "the same rows"),
        ((0.0, 1.5), None, "1.5 apart"),
        (("a", "b"), None, "two values"),
        ((pd.DataFrame(VISITS), pd.DataFrame(VISITS).iloc[:2]), ADD, "one row less"),
        ((VISITS, {**VISITS, "cost": [1.0, 2.0, 9.0]}), REPLACE, "one row replaced"),
        (([{"x": 1}], [{"x": 1}, {"x": float("nan")}]), ADD, "one row more"),
        (([], [3.0]), ADD, "0 against 1 rows"),
    ],
)
def test_rows_tell_the_relation(pair, relation, words):
    found = difference_of(pair)
    assert found.neighbours is relation
    assert words in found.words


def test_people_are_counted_by_their_column():
    fewer = {"who": ["b"], "cost": [3.0]}
    assert difference_of((VISITS, fewer)).neighbours is None
    assert difference_of((VISITS, fewer), "who").neighbours is ADD
    assert difference_of((VISITS, {**VISITS, "cost": [7.0, 8.0, 3.0]}), "who").neighbours is REPLACE
    assert difference_of((VISITS, {**VISITS, "who": ["a", "a", "c"]}), "who").neighbours is REPLACE
    assert difference_of(([{"who": 1}], [{"who": 1}, {"who": 2}]), "who").neighbours is ADD
    with pytest.raises(InvalidValueError, match="unit"):
        difference_of(([1], [2]), "who")


def test_what_is_stated_must_fit_the_rows():
    assert stated_relation(([[1]], [[1], [2]]), None, None)[0] is ADD
    assert "as stated" in stated_relation((0.0, 1.0), REPLACE, None)[1]
    for pair, stated in [(([[1]], [[1], [2]]), REPLACE), (([1], [1, 2]), REPLACE), (([["a"]], [["b"]]), ADD)]:
        with pytest.raises(InvalidValueError, match="neighbours"):
            stated_relation(pair, stated, None)
    assert stated_relation(([0, 0], [1, 0]), ADD, None)[0] is ADD  # may be a vector of counts


def noisy(rows, n, rng):
    return len(rows) + rng.laplace(size=n)


def test_the_certificate_states_the_relation_that_was_audited():
    (found,) = audit(noisy, PureDP(epsilon=1.0), ([1, 2], [1, 2, 3]), samples=200, rng=1)
    assert found.claim.neighbours is ADD
    assert "one row more in the second (2 against 3 rows)" in str(found)
    (found,) = audit(noisy, PureDP(epsilon=1.0), ([1, 2], [1, 3]), samples=200, rng=1)
    assert found.claim.neighbours is REPLACE
    (found,) = audit(lambda v, n, rng: v + rng.laplace(size=n), PureDP(epsilon=1.0), (0.0, 1.0), samples=200, rng=1)
    assert "not stated; the datasets: two values, 1.0 apart" in str(found)
    assert "under add-remove" not in str(found)
