"""By how much a total can move: dropped rows and the rows of a person cost what the theorem says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpkit
from dpkit.contracts.query import Query
from dpkit.data.columns.schema import PrivacyUnit
from dpkit.data.summing.repricing import contribution_bound, contribution_grid, priced_distances
from dpkit.errors import InvalidValueError
from dpkit.privacy.claims import Citation
from dpkit.privacy.neighbours import Distance, Neighbours, frobenius, l1, l2, linf, rank_one

ADD, REPLACE = dpkit.Neighbours.ADD_REMOVE, dpkit.Neighbours.REPLACE_ONE


def query_with(distances, grid):
    return dpkit.Query(
        name="it",
        columns=("x",),
        rows=lambda block: np.clip(np.rint(block[:, 0]), -1.0, 1.0),
        shape=(),
        bound=1.0,
        grid=grid,
        sensitivity=lambda neighbours: distances[neighbours],
        because=dpkit.Citation(key="dpkit", locator="docs/proofs/exact-sums.md"),
    )


@pytest.mark.parametrize("grid", [1.0, None])
def test_a_replaced_row_goes_and_comes(grid):
    query = query_with({ADD: (dpkit.l1(1.0), dpkit.l2(1.0)), REPLACE: (dpkit.l2(1.5),)}, grid)
    found = {distance.metric: distance.value for distance in priced_distances(query, REPLACE)}
    assert 2.0 <= found["l1"] < 2.0 + 1e-9  # twice the distance of one row
    assert 1.5 <= found["l2"] < 1.5 + 1e-9  # its own word


def test_distances_under_add_remove_are_those_declared():
    query = query_with({ADD: (dpkit.l1(1.0),), REPLACE: (dpkit.l1(1.0),)}, 1.0)
    assert priced_distances(query, ADD) == (dpkit.l1(1.0),)


def query(shape=(), grid=1.0, **distances):
    return Query(
        name="q",
        rows=lambda block: block[:, 0],
        shape=shape,
        sensitivity=lambda relation: distances["ar" if relation is Neighbours.ADD_REMOVE else "rep"],
        because=Citation(key="dpkit", locator="here"),
        grid=grid,
    )


def prices(found):
    return {distance.metric: distance.value for distance in found}


RELATIONS = (Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE)


def test_a_dropped_row_and_a_person_s_rows_cost_what_the_theorem_says():
    between_ten_and_twenty = query(ar=(l1(20.0),), rep=(l1(10.0),))
    add, replace = RELATIONS
    assert prices(priced_distances(between_ten_and_twenty, add)) == {"l1": 20.0}
    assert prices(priced_distances(between_ten_and_twenty, replace)) == {"l1": 10.0}
    assert prices(priced_distances(between_ten_and_twenty, replace, may_drop=True)) == {"l1": 20.0}
    person = PrivacyUnit(column="p", at_most=3)
    assert prices(priced_distances(between_ten_and_twenty, add, unit=person)) == {"l1": 60.0}
    assert prices(priced_distances(between_ten_and_twenty, replace, unit=person)) == {"l1": 60.0}
    signed = query(ar=(l2(1.0),), rep=(l2(2.0),))
    assert prices(priced_distances(signed, replace, unit=person, may_drop=True)) == {"l2": 6.0}


@settings(deadline=None)
@given(
    contributions=st.lists(st.floats(10, 20), min_size=1, max_size=3),
    others=st.lists(st.floats(10, 20), min_size=1, max_size=3),
)
def test_no_person_moves_a_sum_beyond_the_price(contributions, others):
    price = priced_distances(
        query(ar=(l1(20.0),), rep=(l1(10.0),)), Neighbours.REPLACE_ONE, unit=PrivacyUnit(column="p", at_most=3)
    )[0].value
    assert abs(sum(contributions) - sum(others)) <= price


def test_cutting_to_a_grid_widens_a_replacement_and_nothing_else():
    cut = query(shape=(4,), grid=None, ar=(l1(1.0), l2(1.0), linf(1.0)), rep=(l1(2.0), l2(2.0), linf(2.0)))
    step = contribution_grid(cut)
    assert step == 2.0**-40
    assert prices(priced_distances(cut, Neighbours.ADD_REMOVE)) == {"l1": 1.0, "l2": 1.0, "linf": 1.0}
    widened = prices(priced_distances(cut, Neighbours.REPLACE_ONE))
    assert widened == {"l1": 2.0 + 4 * step, "l2": 2.0 + 2 * step, "linf": 2.0 + step}


def test_metrics_that_are_no_norms_survive_only_untouched():
    exact = query(ar=(rank_one(1.0),), rep=(frobenius(1.5),))
    assert prices(priced_distances(exact, Neighbours.ADD_REMOVE)) == {"rank_one": 1.0, "frobenius": 1.0}
    assert prices(priced_distances(exact, Neighbours.ADD_REMOVE, unit=PrivacyUnit(column="p", at_most=2))) == {"frobenius": 2.0}
    cut = query(grid=None, ar=(rank_one(1.0),), rep=())
    assert prices(priced_distances(cut, Neighbours.ADD_REMOVE)) == {"frobenius": 1.0}
    assert set(prices(priced_distances(cut, Neighbours.REPLACE_ONE))) == {"frobenius"}


def test_what_no_distance_bounds_is_refused():
    unknown = query(ar=(), rep=(l1(1.0),))
    with pytest.raises(InvalidValueError, match="no distance that holds"):
        priced_distances(unknown, Neighbours.REPLACE_ONE, may_drop=True)
    with pytest.raises(InvalidValueError, match="bound"):
        contribution_bound(unknown)
    for wrong in ({"column": "p", "at_most": 0}, {"at_most": 2}, {"column": " "}):
        with pytest.raises(InvalidValueError):
            PrivacyUnit(**wrong)


def test_a_group_s_distance_is_rounded_up():
    assert Distance(metric="l1", value=0.1).times(3).value == pytest.approx(0.3)
    assert Distance(metric="l1", value=0.1).times(3).value * (1 << 60) >= 3 * int(0.1 * (1 << 60))
