"""The search for a worse pair finds wrong bounds, and shows them in their simplest form."""

import ast

import numpy as np
import pytest

from dpkit import Citation, Neighbours, Query, l1, l2
from dpkit.auditing.search.sensitivity import search_sensitivity


def query(distance, scale=1.0):
    return Query(
        name="mean of clipped rows",
        rows=lambda block: scale * np.clip(block, -1.0, 1.0),
        shape=(2,),
        sensitivity=lambda neighbours: (distance,),
        because=Citation(key="dpkit", locator="a test"),
    )


def replaced(rng):
    return rng.normal(size=(1, 2)) * 3.0, rng.normal(size=(1, 2)) * 3.0


def added(rng):
    return None, rng.normal(size=(1, 2)) * 3.0


def test_a_bound_that_is_too_small_is_found_and_simplified():
    excess = search_sensitivity(query(l2(2.0)), Neighbours.REPLACE_ONE, replaced)
    assert excess.found > 2.0
    assert len(excess.gone) < 20


@pytest.mark.parametrize(("distance", "neighbours", "steps"), [
    (l1(4.0), Neighbours.REPLACE_ONE, replaced),
    (l2(8.0**0.5), Neighbours.REPLACE_ONE, replaced),
    (l1(2.0), Neighbours.ADD_REMOVE, added),
])  # fmt: skip
def test_right_bounds_stand(distance, neighbours, steps):
    assert search_sensitivity(query(distance), neighbours, steps, tries=2_000) is None


def test_steps_of_the_other_relation_do_not_count():
    assert search_sensitivity(query(l1(2.0)), Neighbours.ADD_REMOVE, replaced, tries=200) is None


def test_a_list_of_steps_will_do():
    steps = [(None, np.array([[0.1, 0.0]])), (None, np.array([[5.0, 5.0]]))]
    assert search_sensitivity(query(l1(1.5)), Neighbours.ADD_REMOVE, steps).came == "[[1.0, 1.0]]"


def product():
    """The product of two entries in [2, 5]: at most 25, which only one corner reaches, and 24 is claimed."""
    return Query(
        name="product",
        rows=lambda block: (block[:, :1] * block[:, 1:]) ** 2 / 25.0,
        shape=(1,),
        sensitivity=lambda neighbours: (l1(24.0),),
        because=Citation(key="dpkit", locator="a test"),
    )


def test_the_search_climbs_to_a_corner_within_the_bounds():
    def drawn(rng):
        return None, rng.uniform(2.0, 3.0, size=(1, 2))

    def within(block):
        return np.clip(block, 2.0, 5.0)

    assert search_sensitivity(product(), Neighbours.ADD_REMOVE, drawn, tries=20) is None
    excess = search_sensitivity(product(), Neighbours.ADD_REMOVE, drawn, tries=20, within=within)
    assert excess.found == 25.0
    assert excess.came == "[[5.0, 5.0]]"


def test_a_simpler_step_stays_within_the_bounds():
    excess = search_sensitivity(
        query(l1(1.5)), Neighbours.ADD_REMOVE, [(None, np.array([[0.9, 0.9]]))], within=lambda block: np.clip(block, 0.5, 2.0)
    )
    assert min(ast.literal_eval(excess.came)[0]) >= 0.5
