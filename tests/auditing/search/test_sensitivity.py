"""The search for neighbours that are too far apart finds wrong bounds, and shows them in their simplest form."""

import numpy as np
import pytest

from dpkit import Citation, DeclaredSetting, Distance, Neighbours, Number, Query, Schema, l1, l2, linf
from dpkit.auditing.algorithms.made_up_rows import RowSpace
from dpkit.auditing.search.sensitivity import search_sensitivity


def query(*distances, rows=lambda block: np.clip(block, -1.0, 1.0), shape=(2,)):
    return Query(
        name="sum of clipped rows",
        rows=rows,
        shape=shape,
        sensitivity=lambda neighbours: distances,
        because=Citation(key="dpkit", locator="a test"),
    )


def space(lower=-3.0, upper=3.0, columns=2):
    declared = tuple(Number(name=f"x{place}", lower=lower, upper=upper) for place in range(columns))
    return RowSpace(DeclaredSetting(schema=Schema(columns=declared)), query())


def test_a_bound_that_is_too_small_is_found_and_simplified():
    excess = search_sensitivity(query(l2(2.0)), Neighbours.REPLACE_ONE, space())
    assert excess.found > 2.0
    assert excess.claimed == l2(2.0)
    assert set(excess.came) | set(excess.gone) <= {-3.0, -1.0, 0.0, 1.0, 3.0}
    assert "give a l2 distance of" in str(excess)


@pytest.mark.parametrize(("distance", "relation"), [
    (l1(4.0), Neighbours.REPLACE_ONE),
    (l2(8.0**0.5), Neighbours.REPLACE_ONE),
    (linf(2.0), Neighbours.REPLACE_ONE),
    (l1(2.0), Neighbours.ADD_REMOVE),
    (Distance(metric="of a plugin", value=1.0), Neighbours.ADD_REMOVE),
])  # fmt: skip
def test_right_bounds_stand_and_unknown_metrics_are_left_out(distance, relation):
    assert search_sensitivity(query(distance), relation, space()) is None


@pytest.mark.parametrize("relation", Neighbours)
def test_every_declared_distance_is_tried(relation):
    assert search_sensitivity(query(l1(4.0), linf(0.5)), relation, space()).claimed == linf(0.5)


def test_one_who_comes_or_goes_is_alone_under_add_remove():
    assert search_sensitivity(query(l1(1.5)), Neighbours.ADD_REMOVE, space()).gone is None


def product(block):
    """The product of two entries in [2, 5]: at most 25, which only one corner reaches."""
    return (block[:, :1] * block[:, 1:]) ** 2 / 25.0


class Inside(RowSpace):
    """Draws rows far from the corner only."""

    def rows(self, count, rng):
        return rng.uniform(2.0, 3.0, size=(count, 2))


def test_the_search_climbs_to_a_corner_within_the_bounds():
    inside = Inside(DeclaredSetting(schema=Schema(columns=tuple(Number(name=n, lower=2.0, upper=5.0) for n in "ab"))), query())
    excess = search_sensitivity(query(l1(24.0), rows=product, shape=(1,)), Neighbours.ADD_REMOVE, inside, tries=20)
    assert excess.found == 25.0
    assert excess.came == (5.0, 5.0)


def test_a_simpler_row_stays_within_the_bounds():
    excess = search_sensitivity(query(l1(1.5)), Neighbours.ADD_REMOVE, space(lower=0.5, upper=2.0))
    assert min(excess.came) >= 0.5


def test_the_furthest_corner_of_many_columns_is_reached():
    signs = np.where(np.random.default_rng(1).random(20) < 0.5, 1.0, -1.0)
    wide = query(l1(59.9), rows=lambda block: (block @ signs)[:, None], shape=(1,))
    assert search_sensitivity(wide, Neighbours.ADD_REMOVE, space(columns=20), tries=200).found == pytest.approx(60.0)


def test_a_contribution_that_is_not_finite_is_infinitely_far_away():
    broken = query(l1(10.0), rows=lambda block: np.where(block > 2.9, np.nan, block))
    assert search_sensitivity(broken, Neighbours.REPLACE_ONE, space()).found == np.inf
