"""The ends of intervals: places and scores against the words of the proof, one after the other; draws and their chances."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpkit.mechanisms import quantile_ends
from dpkit.mechanisms.quantile_ends import END, EXCESS, OFFSETS, EndChoice
from dpkit.mechanisms.quantile_schedule import PARTS


def by_hand(choice, known, ranks):
    """Places from halfway to the neighbour up to the quantile, nearest first, with -score / PARTS: docs/proofs/quantiles.md."""
    steps, last = choice.steps, len(ranks) - 1
    if choice.side == 1:
        here = int(known[-1])
        end = 0 if len(known) == 1 else math.ceil((int(known[0]) + here) / 2)
        nearest = max(here - 1, end) // steps
        places = [(nearest - int(offset)) * steps for offset in OFFSETS]
        places = [place for place in places if place > end]
    else:
        here = int(known[0])
        end = last if len(known) == 1 else (int(known[-1]) + here) // 2
        places = [(here // steps + 1 + int(offset)) * steps for offset in OFFSETS]
        places = [place for place in places if place < end]
    places = [*places, end]
    aimed = choice.rows // PARTS + math.log(len(places)) * choice.scale
    reached = [abs(int(ranks[place]) - int(ranks[here])) for place in places]
    scores = [max(0.0, aimed - k, EXCESS * (before - aimed)) for before, k in zip([0, *reached], reached, strict=False)]
    far = aimed + EXCESS * reached[-1] - math.log(512 * len(places)) * choice.scale
    return places, np.array([float(score) for score in (*scores, far)])


def case(seed):
    rng = np.random.default_rng(seed)
    steps, cells = int(rng.choice([1, 2, 16])), int(rng.choice([1, 3, 40, 400]))
    counts = rng.poisson(rng.choice([0.3, 20.0]), cells) * (rng.random(cells) < rng.choice([0.1, 1.0]))
    ranks = np.concatenate([[0], np.cumsum(np.repeat(counts, steps))])
    side, width = int(rng.choice([1, 2])), int(rng.choice([1, 2]))
    rows = int(rng.choice([0, 3, 50])) * steps * PARTS
    choice = EndChoice(
        place=0, side=side, given=(0,) * width, rows=rows, steps=steps, scale=float(rng.choice([0.5, 6.0])) * steps
    )
    known = np.sort(rng.integers(0, ranks.size, size=(7, width)), axis=1)
    return choice, known, ranks


@pytest.mark.parametrize("seed", range(60))
def test_places_and_scores_are_those_of_the_proof(seed):
    choice, known, ranks = case(seed)
    found = choice.among(known, ranks)
    for row, mine in enumerate(known):
        places, scores = by_hand(choice, mine, ranks)
        count = int(found.counts[row])
        assert found.places[row, : count - 1].tolist() == places
        assert found.places[row, count - 1] == places[-1]
        assert found.scores[row, :count] / PARTS == pytest.approx(scores, abs=1e-4)


@pytest.mark.parametrize("seed", range(20))
def test_chances_add_up_to_one_and_are_those_of_the_scores(seed):
    choice, known, ranks = case(seed)
    found = choice.among(known, ranks)
    every = np.arange(ranks.size)
    for row, mine in enumerate(known):
        chances = np.exp(found.log_chances(np.full(ranks.size, row), every))
        assert np.sum(chances) == pytest.approx(1.0)
        places, scores = by_hand(choice, mine, ranks)
        weights = np.exp(-(scores - scores.min()) / choice.scale)
        expected = np.zeros(ranks.size)
        np.add.at(expected, [*places, places[-1]], weights / weights.sum())
        assert chances == pytest.approx(expected, abs=1e-4)


def test_draws_of_many_rows_follow_their_chances():
    choice, known, ranks = case(5)
    found = choice.among(known, ranks)
    rows = np.repeat(np.arange(len(known)), 3_000)
    drawn = found.drawn(rows, np.random.default_rng(8))
    for row in range(len(known)):
        kinds, counts = np.unique(drawn[rows == row], return_counts=True)
        chances = np.exp(found.log_chances(np.full(kinds.size, row), kinds))
        spread = np.sqrt(chances * (1.0 - chances) / 3_000)
        assert (np.abs(counts / 3_000 - chances) <= 6.0 * spread + 1e-12).all()  # each fails by chance in 2e-9


def most_moved():
    """By how much the loss of an end varies where one row comes, at most, times the scale of its scores."""
    found = 0.0
    for seed in range(200):
        choice, known, ranks = case(seed)
        place = np.random.default_rng(seed).integers(0, ranks.size)
        moved = ranks + np.clip(np.arange(ranks.size) - place, 0, choice.steps)
        one, other = (choice.among(known, each) for each in (ranks, moved))
        for row in range(len(known)):
            shift = (other.scores[row] - one.scores[row])[: one.counts[row]] / (PARTS * choice.steps)
            found = max(found, float(np.ptp(shift)))
    return found


def test_a_row_moves_the_loss_of_an_end_by_no_more_than_is_claimed():
    assert 0.9 * END < most_moved() <= END * (1 + 1e-6)


def test_a_larger_part_for_rows_too_many_would_be_found_out(monkeypatch):
    monkeypatch.setattr(quantile_ends, "EXCESS", Fraction(5, 8))
    assert most_moved() > END * (1 + 1e-6)
