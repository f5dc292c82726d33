"""Choices: a name, or a mapping from one name to its parameters; and the scale of a mechanism."""

import math

import pytest

import dpkit
from dpkit.contracts.parameters import Choice, as_choice

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


def test_a_choice_is_a_name_or_one_name_with_parameters():
    assert as_choice("laplace") == Choice(name="laplace")
    assert as_choice({"laplace": None}) == Choice(name="laplace")
    assert as_choice({"x": {"edges": [1, [2]]}}) == Choice(name="x", given=(("edges", (1, (2,))),))
    for wrong in ("", " ", 3, [], {}, {"a": 1}, {"a": {}, "b": {}}, {3: {}}):
        assert as_choice(wrong) is None


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
