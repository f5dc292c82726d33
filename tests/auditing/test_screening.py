"""A screening finds the one bad pair among many, by tails, atoms, shared noise and densities, and leaves right laws alone."""

import numpy as np
import pytest

from dpkit import InvalidValueError, Laplace, PureDP
from dpkit.auditing.betting.profile import implied_delta
from dpkit.auditing.claim_at_pair import ClaimAtPair
from dpkit.auditing.screening import screen_pairs
from dpkit.privacy.claims import Citation, Claim
from dpkit.privacy.neighbours import Neighbours

ONE = PureDP(epsilon=1.0)
CLAIM = Claim(loss=ONE, neighbours=Neighbours.ADD_REMOVE, because=Citation(key="dpkit", locator="a test"))
NUMBERS = [(np.float64(base), np.float64(base + 1.0)) for base in (0.0, 5.0, -3.0)]
VECTORS = [(np.zeros(3), np.eye(3)[place]) for place in range(3)]


def screened(sampler, pairs, *, density=None, deciding=40_000):
    subject = ClaimAtPair(sampler=sampler, claim=CLAIM, pair=(None, None), density=density)
    profile = ("a pure claim", lambda epsilon: implied_delta(ONE, epsilon))
    return screen_pairs(subject, pairs, [profile], rng=np.random.default_rng(1), epsilons=(1.0,), deciding=deciding)


def laplace(scale):
    return lambda value, n, rng: np.asarray(value) + rng.laplace(scale=scale, size=(n, *np.shape(value)))


@pytest.mark.parametrize("pairs", [NUMBERS, VECTORS], ids=["numbers", "vectors"])
def test_a_right_mechanism_stands_and_half_the_noise_does_not(pairs):
    assert screened(laplace(1.0), pairs) is None
    found = screened(laplace(0.5), pairs)
    assert found.claim == "a pure claim"
    assert found.likely > np.exp(found.epsilon) * found.unlikely


def test_one_bad_pair_among_good_ones_is_chosen():
    def sampler(value, n, rng):
        return laplace(0.3 if value > 4.0 else 1.0)(value, n, rng)

    assert screened(sampler, NUMBERS) is not None


def test_an_entry_without_noise_shows_as_an_atom():
    def sampler(value, n, rng):
        return np.where(np.asarray(value) == 0.0, 0.0, laplace(1.0)(value, n, rng))

    assert "category" in screened(sampler, VECTORS).event


def test_noise_that_two_entries_share_shows_in_their_difference():
    def sampler(value, n, rng):
        return np.asarray(value) + rng.laplace(scale=3.0, size=(n, 1))

    assert " - " in screened(sampler, VECTORS).event


def test_a_density_is_made_use_of():
    assert screened(laplace(0.5), VECTORS, density=Laplace(scale=0.5)) is not None


def test_a_value_that_is_not_taken_is_left_out():
    def sampler(value, n, rng):
        if value > 4.0:
            raise ValueError("too large")
        return laplace(0.5)(value, n, rng)

    assert screened(sampler, NUMBERS) is not None
    assert screened(sampler, NUMBERS[1:2]) is None


def test_outputs_that_cannot_be_read_are_an_error_and_not_a_value_left_out():
    with pytest.raises(InvalidValueError, match="first axis"):
        screened(lambda value, n, rng: np.zeros(n + 1), NUMBERS)
