"""The laws of profiles catch a profile that was bent in the way which they forbid."""

import math

import pytest
from laws.profile_laws import profile_falls_no_faster_than_the_odds, profile_is_convex_and_decreasing

from dpkit.privacy.gaussian_dp import gaussian_delta


@pytest.mark.parametrize(
    "broken",
    [
        lambda epsilon: gaussian_delta(1.0, epsilon=epsilon) + 0.01 * math.sin(5 * epsilon),  # rises and falls
        lambda epsilon: max(0.0, gaussian_delta(1.0, epsilon=epsilon) - 0.02 * epsilon * (4 - epsilon)),  # dented
        lambda epsilon: 1.0 - gaussian_delta(1.0, epsilon=epsilon),  # the other event
        lambda epsilon: math.sqrt(gaussian_delta(1.0, epsilon=epsilon)) - 0.7,  # not a probability
    ],
)
def test_a_bent_profile_is_caught(broken):
    with pytest.raises(AssertionError):
        profile_is_convex_and_decreasing(broken, largest=4.0)


def test_a_profile_that_falls_too_fast_is_caught():
    with pytest.raises(AssertionError):
        profile_falls_no_faster_than_the_odds(lambda epsilon: math.exp(-100.0 * epsilon), largest=0.5)
