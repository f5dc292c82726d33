"""Which canaries are guessed depends on scores alone, and shares of the error probability add up to 1."""

import numpy as np
import pytest

from dpkit.auditing.canaries.guesses import Guessing, guessings


@pytest.mark.parametrize("canaries", [1, 2, 3, 7, 40, 1_000, 100_000])
def test_shares_add_up_to_one_and_sizes_fit(canaries):
    found = guessings(canaries)
    assert sum(one.share for one in found) == pytest.approx(1.0, abs=1e-12)
    assert all(1 <= one.count <= canaries for one in found)
    scores = np.arange(float(canaries))
    for members in (np.zeros(canaries, dtype=bool), np.ones(canaries, dtype=bool)):
        assert all(0 <= one.right(scores, members) <= one.count for one in found)


def test_the_highest_are_guessed_in_and_the_lowest_out():
    scores, members = np.arange(10.0), np.arange(10) >= 5
    assert Guessing(count=10, highest_only=False, share=1.0).right(scores, members) == 10
    assert Guessing(count=4, highest_only=False, share=1.0).right(scores, ~members) == 0
    assert Guessing(count=4, highest_only=True, share=1.0).right(scores, members) == 4
    assert Guessing(count=7, highest_only=True, share=1.0).right(scores, members) == 5


def test_two_groups_part_where_they_part():
    scores = np.concatenate([np.zeros(3), np.ones(7)])
    assert Guessing(count=10, highest_only=False, share=1.0).right(scores, scores > 0.5) == 10
