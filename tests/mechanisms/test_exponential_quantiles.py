"""Quantiles by choice: what all outcomes of small tables lose, the order of choices, and how far ranks are off."""

import itertools

import numpy as np
import pytest

import dpkit
from dpkit import ExponentialQuantiles


def outcomes(mechanism, cells):
    """Every output, possible or not."""
    places = range(cells * mechanism.steps + 1)
    each = list(itertools.product(places, repeat=3))
    found = np.array(list(itertools.product(each, repeat=len(mechanism.probabilities))))
    return found.reshape(-1, len(mechanism.probabilities), 3)


NEIGHBOURS = {
    "added": ([3, 0, 2], [4, 0, 2], 1.0),
    "added in the middle": ([3, 0, 2], [3, 1, 2], 1.0),
    "added to nothing": ([0, 0, 0], [0, 0, 1], 1.0),
    "replaced": ([3, 1, 2], [2, 1, 3], 2.0),
    "a person": ([2, 1, 1], [2, 3, 1], 2.0),
}


@pytest.mark.parametrize("asked", [(0.5,), (0.2,), (0.9,), (0.1, 0.8)])
@pytest.mark.parametrize("pair", NEIGHBOURS.values(), ids=NEIGHBOURS.keys())
def test_all_outcomes_lose_no_more_than_is_claimed(asked, pair):
    one, other, distance = pair
    mechanism = ExponentialQuantiles(scale=1.5, probabilities=asked, reach=(1.2,) * len(asked), steps=2)
    log_p, log_q = (mechanism.log_density(outcomes(mechanism, 3), value) for value in (one, other))
    possible = log_p > -np.inf
    assert (possible == (log_q > -np.inf)).all()
    assert np.sum(np.exp(log_p[possible])) == pytest.approx(1.0)
    (claim,) = mechanism.claims(dpkit.l1(distance))
    losses = log_p[possible] - log_q[possible]
    assert np.max(np.abs(losses)) <= claim.loss.epsilon * (1 + 1e-9)
    guarantee = dpkit.account(mechanism.event(dpkit.l1(distance)), "pld")
    for epsilon in (0.1, 0.3, 0.8):
        excess = np.maximum(0.0, np.exp(log_p[possible]) - np.exp(epsilon + log_q[possible]))
        assert np.sum(excess) <= guarantee.delta(epsilon=epsilon)


def test_a_claim_for_less_noise_than_there_is_would_be_found_out():
    honest = ExponentialQuantiles(scale=1.5, probabilities=(0.5,), reach=(1.2,), steps=2)
    worst = 0.0
    for one, other, distance in NEIGHBOURS.values():
        log_p, log_q = (honest.log_density(outcomes(honest, 3), value) for value in (one, other))
        possible = log_p > -np.inf
        lost = np.max(np.abs(log_p[possible] - log_q[possible]))
        worst = max(worst, lost / honest.claims(dpkit.l1(distance))[0].loss.epsilon)
    assert 0.5 < worst <= 1.0 + 1e-9  # so one at twice the scale would break its claim


@pytest.mark.parametrize("value", [[3, 0, 2], [[3, 0, 2], [0, 1, 0]]])
def test_draws_follow_their_probabilities(value):
    mechanism = ExponentialQuantiles(scale=1.0, probabilities=(0.3, 0.7), reach=(1.0, 1.0), steps=1)
    drawn = mechanism.release_many(value, 4_000, np.random.default_rng(5))
    kinds, counts = np.unique(drawn.reshape(4_000, -1), axis=0, return_counts=True)
    chances = np.exp(mechanism.log_density(kinds.reshape(-1, *drawn.shape[1:]), value))
    assert (chances > 0.0).all()
    many = chances > 0.003
    spread = np.sqrt(chances * (1.0 - chances) / 4_000)
    assert (np.abs(counts / 4_000 - chances)[many] < 6.0 * spread[many]).all()  # each fails by chance in 2e-9


def test_ranks_are_off_by_as_much_as_is_said_where_rows_lie_close():
    counts = np.full(256, 40)
    asked = (0.25, 0.5, 0.75)
    mechanism = ExponentialQuantiles(scale=6.0, probabilities=asked, reach=(9.0,) * 3, steps=16)
    found = mechanism.release_many(counts, 1_500, np.random.default_rng(2)) * 40 / 16.0
    errors = np.abs(found[:, :, 0] - np.array(asked) * 40 * 256)
    for place, scales in enumerate(mechanism.rank_errors()):
        # the mean of a sum of Laplace noises is at most that of their deviations, and at least that of the largest
        assert 0.9 * max(scales) < np.mean(errors[:, place]) < 1.1 * np.sqrt(2.0 * np.sum(np.square(scales)))
    held = (found[:, :, 1] <= np.array(asked) * 10_240) & (np.array(asked) * 10_240 <= found[:, :, 2])
    assert held.mean() > 0.95


@pytest.mark.parametrize("asked", [(0.5,), (0.25, 0.5), (0.25, 0.5, 0.75)])
def test_where_many_rows_share_a_cell_it_is_chosen_and_not_a_gap_beside_it(asked):
    counts = np.zeros(256, dtype=np.int64)
    counts[[3, 90, 91, 250]] = 990, 1_020, 1_030, 960  # each rank that is asked for lies closer to a gap than to half a step
    mechanism = ExponentialQuantiles(scale=2.0**-8, probabilities=asked, reach=(1.0,) * len(asked), steps=16)
    cells = mechanism.release_many(counts, 200, np.random.default_rng(4))[:, :, 0] / 16.0
    for place, one in enumerate(asked):
        holds = {0.25: (90.0, 91.0), 0.5: (90.0, 91.0), 0.75: (91.0, 92.0)}[one]
        assert ((holds[0] <= cells[:, place]) & (cells[:, place] <= holds[1])).all()


@pytest.mark.parametrize(
    "given",
    [
        {"probabilities": (0.5, 0.2), "reach": (1.0, 1.0)},
        {"probabilities": (), "reach": ()},
        {"probabilities": (0.5,), "reach": (1.0, 2.0)},
        {"probabilities": (1.5,), "reach": (1.0,)},
    ],
)
def test_wrong_parameters_are_refused(given):
    with pytest.raises(dpkit.InvalidValueError):
        ExponentialQuantiles(scale=1.0, **given)


def test_fractions_are_refused_and_clamped_values_answer():
    mechanism = ExponentialQuantiles(scale=1.0, probabilities=(0.5,), reach=(1.0,))
    with pytest.raises(dpkit.InvalidValueError):
        mechanism.release([0.5, 1.0], np.random.default_rng(0))
    for value in ([-3, -5], [0, 0], [2**52, 1]):
        assert mechanism.release(value, np.random.default_rng(0)).shape == (1, 3)


@pytest.mark.parametrize("distance", [1.0, 2.0, 3.0])
def test_values_that_it_names_as_neighbours_are_as_far_apart_as_it_says(distance):
    found = ExponentialQuantiles(scale=2.0, probabilities=(0.5,), reach=(2.0,)).neighbouring_values(dpkit.l1(distance))
    apart = [np.abs(one - two).sum() for one, two in found]
    assert max(apart) == distance
    assert len(apart) == 3
