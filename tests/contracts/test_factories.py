"""Factories check names and parameters, fill in defaults, and say what does not suit."""

import math

import pytest
from contracts.declared_parameters import CASES, NUMBER

import dpkit
from dpkit import Factory, InvalidValueError, UnknownNameError
from dpkit.contracts.parameters import Choice


def test_a_factory_checks_names_and_fills_defaults():
    factory = Factory(name="thing", doc="A thing.", make=dict, parameters=(NUMBER, CASES[1]))
    assert factory.build(scale=2) == {"scale": 2.0, "count": 2}
    with pytest.raises(UnknownNameError, match="Did you mean 'scale'"):
        factory.build(scael=2.0)
    with pytest.raises(InvalidValueError, match=r"thing\.scale"):
        factory.build()
    assert factory.json_schema()["required"] == ["scale"]
    assert factory.json_schema()["additionalProperties"] is False


@pytest.mark.parametrize("name", ["Thing", "a b", "", "-a", "a--b", "a_b", 3])
def test_a_name_is_lower_case_words_joined_by_hyphens(name):
    with pytest.raises(InvalidValueError, match="lower-case words"):
        Factory(name=name, doc="A thing.", make=dict)


SETTING = dpkit.DeclaredSetting(schema=dpkit.Schema(columns=(dpkit.Number(name="x", lower=0.0, upper=1.0),)))


def counting(grid=1.0, metric=dpkit.l1):
    return dpkit.Query(
        name="n",
        columns=("x",),
        rows=lambda block: block[:, 0] * 0 + 1,
        shape=(),
        grid=grid,
        bound=1.0,
        sensitivity=lambda relation: (metric(2.0),),
        because=dpkit.Citation(key="dpkit", locator="a test"),
    )


EVEN = dpkit.Parameter(name="even", kind="boolean", doc="Whether totals are even.", default=False, about_values=True)
WIDTH = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-9)
STATED = Choice(
    name="stated",
    given=(("even", True),),
    among=(dpkit.MechanismFactory(name="stated", doc="Own.", make=dict, parameters=(WIDTH, EVEN), metrics=("l1",)),),
)


def test_noise_is_a_multiple_of_what_a_neighbour_moves():
    noise = dpkit.noise_for(SETTING, counting(), "laplace")
    assert noise.moved == 2.0
    assert noise.at(3.0) == dpkit.Laplace(scale=6.0 / math.sqrt(2.0))
    assert dpkit.noise_for(SETTING, counting(), "discrete-laplace").at(1e-12).scale == 1e-9  # the least that it can have
    with pytest.raises(dpkit.InvalidValueError, match="noise"):
        noise.at(0.0)


@pytest.mark.parametrize(
    ("query", "name", "reason"),
    [
        (counting(grid=0.5), "discrete-gaussian", "whole numbers"),
        (counting(metric=dpkit.linf), "laplace", "l1; known here: linf"),
        (counting(), "randomized-response", "categories"),
        (counting(), {"laplace": {"scale": 2.0}}, "the plan chooses it"),
        (counting(), 3, "name of a mechanism"),
        (counting(), STATED, "nothing checks"),
    ],
)
def test_what_does_not_suit_is_refused_with_the_reason(query, name, reason):
    with pytest.raises(dpkit.InvalidValueError, match=reason):
        dpkit.noise_for(SETTING, query, name)


def test_a_mechanism_without_accuracy_has_no_expected_error():
    class Silent:
        pass

    assert dpkit.expected_error(Silent(), (), 0.95) == math.inf


def test_a_factory_s_scale_is_a_declared_number():
    made = {"name": "own", "doc": "Own.", "make": dpkit.Laplace, "metrics": ("l1",)}
    assert dpkit.MechanismFactory(**made).scale == ""
    with pytest.raises(dpkit.InvalidValueError, match="there is none"):
        dpkit.MechanismFactory(**made, scale="width")
    with pytest.raises(dpkit.InvalidValueError, match="deviation"):
        dpkit.MechanismFactory(**made, deviation=0.0)
