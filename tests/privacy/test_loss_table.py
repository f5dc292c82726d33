"""A table of losses: its profile is the sum over its atoms, and what is no dominating pair is refused."""

import math

import numpy as np
import pytest

import dpkit
from dpkit.privacy.loss_table import PLD

RESPONSE = PLD(losses=(-1.0, 1.0), masses=(1.0 / (1.0 + math.e), math.e / (1.0 + math.e)))
"""Randomised response at epsilon 1: each answer with its loss."""


@pytest.mark.parametrize("epsilon", [-2.0, -1.0, 0.0, 0.5, 1.0, 3.0])
def test_the_profile_is_the_sum_over_the_atoms(epsilon):
    for direction in (RESPONSE.forward(), RESPONSE.backward() or RESPONSE.forward()):
        values, errors = direction.profile(np.array([epsilon]))
        exact = sum(
            mass * max(0.0, -math.expm1(epsilon - loss)) for loss, mass in zip(RESPONSE.losses, RESPONSE.masses, strict=True)
        )
        assert abs(values[0] - exact) <= errors[0] + 1e-15


def test_it_costs_what_the_mechanism_costs():
    accountant = dpkit.default_registry().accountant("pld")
    state = accountant.lift(RESPONSE)
    assert accountant.epsilon(state, delta=1e-9) == pytest.approx(1.0, rel=1e-6)
    assert accountant.epsilon(state, delta=0.5) < 1.0


@pytest.mark.parametrize(
    ("losses", "masses"), [((0.0,), (0.5, 0.5)), ((1.0, 0.0), (0.5, 0.5)), ((0.0,), (-1.0,)), ((math.nan,), (1.0,)), ((), ())]
)
def test_what_is_no_table_is_refused(losses, masses):
    with pytest.raises(dpkit.InvalidValueError):
        PLD(losses=losses, masses=masses)
