"""A claim at a pair: where it is tested, and the declared density under each side."""

import math

import numpy as np
import pytest

import dpkit
from dpkit.auditing.claim_at_pair import ClaimAtPair


def subject(**given):
    mechanism = dpkit.Laplace(scale=2.0)
    claim = mechanism.claims(dpkit.l1(1.0))[0]
    return ClaimAtPair(sampler=mechanism.release_many, claim=claim, pair=(0.0, 1.0), density=mechanism, **given)


def test_it_is_tested_at_the_points_of_its_claim():
    here = subject()
    assert [point.epsilon for point in here.points] == [0.5]
    assert here.delta == 0.0


def test_each_side_has_its_density_and_a_batch_is_asked_for_once():
    here, outputs = subject(), np.array([[0.0], [1.0]])
    at_zero, at_one = (here.log_density(outputs, side) for side in (0, 1))
    assert at_zero - at_one == pytest.approx([0.5, -0.5])
    assert at_zero[0] == pytest.approx(-math.log(4.0))
    assert here.log_density(outputs, 0) is at_zero
    assert here.log_density(outputs.copy(), 0) is not at_zero
