"""The privacy unit: a person's rows are bounded by that person's rows alone, and distances say what that costs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpkit.contracts.query import Query
from dpkit.data.columns.bounding import kept_rows
from dpkit.data.columns.kinds import Number
from dpkit.data.columns.schema import PrivacyUnit, Schema
from dpkit.data.summing.repricing import contribution_bound, contribution_grid, priced_distances
from dpkit.data.tables.open_source import open_source
from dpkit.errors import InvalidValueError
from dpkit.privacy.claims import Citation
from dpkit.privacy.neighbours import Distance, Neighbours, frobenius, l1, l2, linf, rank_one

KEY = bytes(range(32))
people = st.lists(st.tuples(st.sampled_from(["a", "b", "c", "d", None]), st.integers(0, 3)), max_size=40)


def kept(rows, at_most, key=KEY, batch=1000, rows_at_once=1 << 22):
    def batches():
        for start in range(0, len(rows), batch):
            part = rows[start : start + batch]
            yield [name for name, _ in part], np.array([[float(value)] for _, value in part]).reshape(-1, 1)

    found = kept_rows(batches, len(rows), at_most=at_most, key=key, rows_at_once=rows_at_once)
    return [row for row, keep in zip(rows, found.tolist(), strict=True) if keep]


def of(person, rows):
    return sorted(value for name, value in rows if name == person)


@settings(deadline=None)
@given(rows=people, at_most=st.integers(1, 4), order=st.randoms(use_true_random=False), key=st.binary(min_size=32, max_size=32))
def test_which_rows_are_kept_depends_on_the_person_s_rows_alone(rows, at_most, order, key):
    found = kept(rows, at_most, key)
    for person in "abcd":
        mine = [row for row in rows if row[0] == person]
        alone = of(person, kept(mine, at_most, key))
        assert of(person, found) == alone
        assert len(alone) == min(at_most, len(mine))
    assert None not in dict(found)
    shuffled = order.sample(rows, len(rows))
    assert sorted(kept(shuffled, at_most, key, batch=3, rows_at_once=5)) == sorted(found)


def test_the_choice_is_fair_over_keys_and_equal_rows_count_one_by_one():
    rows = [("a", 0)] * 3 + [("a", 1)]
    found = [kept(rows, 1, key=seed.to_bytes(2, "big") * 16)[0][1] for seed in range(2000)]
    assert abs(sum(found) / 2000 - 0.25) < 0.05  # five standard deviations


def test_a_source_keeps_the_same_rows_in_every_pass_and_fresh_ones_at_every_opening():
    data = {"person": np.repeat(np.arange(50), 20), "x": np.tile(np.arange(20.0), 50)}
    schema = Schema(columns=(Number(name="x", lower=0, upper=19),))

    def opened():
        return open_source(data, schema, unit=PrivacyUnit(column="person", at_most=3), in_memory=False)

    source = opened()
    first, second = (np.concatenate(list(source.blocks((), rows))) for rows in (7, 1000))
    assert first.shape == (150, 1)
    assert np.array_equal(first, second)
    assert not np.array_equal(np.concatenate(list(opened().blocks((), 1000))), first)
    with pytest.raises(TypeError, match="does not leave"):
        source.__reduce__()


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
