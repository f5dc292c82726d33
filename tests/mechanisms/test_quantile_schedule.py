"""Which quantiles are chosen when: every one once, rows of a level apart, and never worse than halves of halves."""

import itertools
import math

import pytest

from dpkit.mechanisms.quantile_schedule import PARTS, quantile_schedule

ASKED = {
    "median": (0.5,),
    "a pair": (0.1, 0.9),
    "quartiles": (0.25, 0.5, 0.75),
    "far": (0.5, 0.9, 0.99),
    "ends": (0.0, 1.0),
    "deciles": tuple(place / 10 for place in range(1, 10)),
    "many": tuple(place / 20 for place in range(1, 20)),
    "very many": tuple(place / 100 for place in range(1, 100)),
}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED.keys())
def test_each_is_chosen_once_between_those_before_it_and_levels_share_no_rows(asked):
    schedule = quantile_schedule(asked)
    assert sorted(place for batch in schedule.batches for place in batch.places) == list(range(len(asked)))
    assert sum(schedule.weights) == 1
    assert min(schedule.weights) > 0
    known = {-1, len(asked)}
    for level, batches in itertools.groupby(schedule.batches, key=lambda batch: batch.level):
        parts = sorted((batch.left, batch.right, batch) for batch in batches)
        assert all(one[1] <= other[0] for one, other in itertools.pairwise(parts))
        for left, right, batch in parts:
            assert {left, right} <= known
            assert left < min(batch.places) <= max(batch.places) < right
            assert not any(left < place < right for place in known)
        known |= {place for _, _, batch in parts for place in batch.places}
        assert 0 < schedule.weights[level] < 1


def test_shares_are_of_the_rows_between_those_before():
    (first, *later) = quantile_schedule((0.25, 0.5, 0.75)).batches
    assert first.places == (1,)
    assert [batch.shares for batch in later] == [(PARTS // 2,)] * 2
    (both,) = quantile_schedule((0.1, 0.9)).batches
    assert both.places == (0, 1)
    assert float(both.moved) == pytest.approx(2.0, abs=1e-5)  # hardly more than the 1.8 of one of them


def test_what_was_found_is_better_than_halves_of_halves_with_equal_weights():
    def largest(scales):
        return max(math.hypot(*sizes) for sizes in scales)

    # the part of the budget that is for quantiles, and not for the ends of intervals: 0.8, of a pair 0.7

    # deciles by four levels of equal weight, as KSS22 has them: their own noise is 4 / 0.8, or more where shares are uneven
    assert largest(quantile_schedule(ASKED["deciles"]).scales(9)) < 0.9 * 6.422 / 0.8
    assert largest(quantile_schedule(ASKED["a pair"]).scales(2)) < 0.56 * 3.6 / 0.7
