"""Strategies for declared parameters make what is allowed, and nothing without an effect."""

import pytest
from contracts.declared_parameters import CASES, CONDITIONAL
from hypothesis import given
from hypothesis import strategies as st

from dpkit.testing.strategies import factory_parameters, parameter_values


@pytest.mark.parametrize("parameter", CASES, ids=lambda parameter: parameter.name)
@given(data=st.data())
def test_what_the_strategy_makes_is_allowed_and_a_fixed_point(parameter, data):
    value = data.draw(parameter_values(parameter))
    checked = parameter.check(value, where="test")
    assert parameter.check(checked, where="test") == checked


@given(data=st.data())
def test_the_strategy_gives_only_parameters_with_an_effect(data):
    CONDITIONAL.build(**data.draw(factory_parameters(CONDITIONAL)))
