"""Exact profiles are convex and decreasing."""

from hypothesis import given, settings
from hypothesis import strategies as st
from laws.profile_laws import profile_falls_no_faster_than_the_odds, profile_is_convex_and_decreasing

from dpkit.privacy.compositions import optimal_delta
from dpkit.privacy.gaussian import gaussian_delta
from dpkit.testing.strategies import log_uniform

SETTINGS = settings(max_examples=80, deadline=None, derandomize=True)


@SETTINGS
@given(mu=log_uniform(1e-3, 4.0))
def test_gaussian_profile_is_convex_and_decreasing(mu):
    largest = mu * (mu / 2 + 8)
    profile_is_convex_and_decreasing(lambda epsilon: gaussian_delta(mu, epsilon=epsilon), largest=largest, tolerance=1e-10)
    profile_falls_no_faster_than_the_odds(lambda epsilon: gaussian_delta(mu, epsilon=epsilon), largest=largest)


@SETTINGS
@given(epsilon=log_uniform(1e-2, 2.0), count=st.integers(1, 60))
def test_optimal_composition_profile_is_convex_and_decreasing(epsilon, count):
    def profile(target):
        return optimal_delta(epsilon, count, target=target)

    profile_is_convex_and_decreasing(profile, largest=min(epsilon * count, 20.0), tolerance=1e-9)
    profile_falls_no_faster_than_the_odds(profile, largest=min(epsilon * count, 20.0))
