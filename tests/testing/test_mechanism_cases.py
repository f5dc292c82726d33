"""Cases of mechanisms: distances that cost what was asked for, parameters at their branches, pairs at their distance."""

import numpy as np
import pytest

import dpkit
from dpkit.auditing.search.metrics import size_in
from dpkit.testing.mechanism_cases import MechanismCase, ends_of, numbers_among, pairs_at, typical_parameters

REGISTRY = dpkit.default_registry()


def case(name):
    return MechanismCase(factory=REGISTRY.mechanism(name), registry=REGISTRY)


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_a_distance_costs_about_what_was_asked_for_and_not_more(name):
    here = case(name)
    for subject in here.subjects(2):
        price = here.epsilon(subject.mechanism, here.distance(subject, target=2.0))
        assert 1.0 < price <= 2.0


@pytest.mark.parametrize("name", ["laplace", "gaussian", "symmetric-gaussian"])
def test_pairs_are_at_most_the_distance_apart_and_some_reach_it(name):
    here = case(name)
    subject = here.subjects(1)[0]
    at = here.distance(subject)
    pairs = pairs_at(here, subject, at, here.claims(subject.mechanism, at)[0])
    sizes = [size_in(at.metric, np.asarray(other - one, dtype=np.float64).reshape(one.shape or (1,))) for one, other in pairs]
    assert max(sizes) <= at.value * (1.0 + 1e-9)
    assert max(sizes) >= at.value * (1.0 - 1e-9)


def test_flags_are_tried_both_ways_and_ends_are_legal():
    factory = REGISTRY.mechanism("exponential")
    flags = [parameter.name for parameter in factory.parameters if parameter.kind == "boolean"]
    tried = list(typical_parameters(factory))
    assert flags
    assert all({values[name] for values in tried} == {True, False} for name in flags)
    for parameter in factory.parameters:
        for value in ends_of(parameter, tried[0]):
            parameter.check(value, where="test")
    assert numbers_among({"a": 1, "b": True, "c": (2.0, 3.0), "d": "x"}) == [1.0, 2.0, 3.0]
