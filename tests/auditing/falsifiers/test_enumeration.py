"""Enumerated outcomes: the boundary of a pure claim is sharp."""

import math

import numpy as np

from dpkit import PureDP, RandomizedResponse, audit


def test_the_boundary_of_a_pure_claim_is_sharp_for_discrete_outputs():
    pair = (np.int64(0), np.int64(1))
    for epsilon, verdict in ((1.0, False), (1.0 + 1e-6, True)):
        law = RandomizedResponse(epsilon=epsilon)
        found = audit(
            law.release_many, PureDP(epsilon=1.0), pair, samples=2, rng=1, density=law, falsifiers=["exact enumeration"]
        )
        assert found[0].refuted is verdict
        assert found[0].log_e_value == (math.inf if verdict else 0.0)
