"""The lower bound on epsilon covers the truth, and comes near it."""

import math

import numpy as np

from dpkit.auditing.betting import lower_bound
from dpkit.auditing.betting.lower_bound import epsilon_lower
from dpkit.auditing.zoo import entry_named


def test_clopper_and_pearson_cover():
    rng = np.random.default_rng(3)
    truth = math.log((0.5 - 0.01) / 0.2)
    hits = zip(rng.binomial(500, 0.5, size=2_000), rng.binomial(500, 0.2, size=2_000), strict=True)
    above = sum(epsilon_lower((int(a), int(b)), 500, delta=0.01, alpha=0.05) > truth for a, b in hits)
    assert above <= 100
    assert epsilon_lower((0, 0), 10, delta=0.0, alpha=0.1) == 0.0
    assert lower_bound.epsilon_lower((10, 0), 10, delta=0.0, alpha=0.1) > 0.0


def test_the_bound_of_a_right_entry_is_near_its_epsilon():
    certificate = entry_named("laplace").audit(samples=30_000, rng=1)
    assert 0.7 < certificate.epsilon_lower <= 1.0
