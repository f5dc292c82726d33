"""A parameter is declared once: what it refuses, what its schema refuses and what its strategy makes agree."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpkit
from dpkit import GIVEN, Factory, InvalidValueError, Parameter, UnknownNameError
from dpkit.contracts.parameters import REQUIRED, Choice, as_choice
from dpkit.testing.strategies import factory_parameters, parameter_values

NUMBER = Parameter(name="scale", kind="number", doc="A scale.", minimum=0.0, exclusive=True, maximum=10.0, unit="cm")
CASES = [
    NUMBER,
    Parameter(name="count", kind="integer", doc="A count.", minimum=1, maximum=5, default=2),
    Parameter(name="flag", kind="boolean", doc="A flag.", default=False),
    Parameter(name="label", kind="text", doc="A label."),
    Parameter(name="how", kind="choice", doc="A way.", choices=("mean", "median"), default="mean"),
    Parameter(name="edges", kind="numbers", doc="Edges.", minimum=0.0),
    Parameter(name="columns", kind="texts", doc="Columns."),
    Parameter(name="cap", kind="number", doc="A cap, or none.", minimum=0.0, default=None),
    Parameter(name="shares", kind="numbers_by_name", doc="Shares.", minimum=0.0),
]


@pytest.mark.parametrize("parameter", CASES, ids=lambda parameter: parameter.name)
@given(data=st.data())
def test_what_the_strategy_makes_is_allowed_and_a_fixed_point(parameter, data):
    value = data.draw(parameter_values(parameter))
    checked = parameter.check(value, where="test")
    assert parameter.check(checked, where="test") == checked


@pytest.mark.parametrize(
    ("index", "value"),
    [
        (0, 0.0), (0, 10.5), (0, math.nan), (0, "1"), (0, True), (0, None),
        (1, 0), (1, 6), (1, 2.0), (1, True), (2, 1), (2, "yes"), (3, ""), (3, 3),
        (4, "mode"), (4, ["mean"]), (5, [-1.0]), (5, "12"), (5, 3.0), (6, "abc"), (6, [1]), (7, -1.0),
        (8, [0.5]), (8, {"a": 0.5}), (8, {"a": [-0.5]}), (8, {1: [0.5]}),
    ],
)  # fmt: skip
def test_what_is_not_allowed_is_refused_with_what_is(index, value):
    with pytest.raises(InvalidValueError, match=CASES[index].name) as caught:
        CASES[index].check(value, where="test")
    assert caught.value.allowed == CASES[index].allowed


def test_the_words_say_range_and_kind():
    assert NUMBER.allowed == "a finite number > 0 and <= 10"
    assert CASES[1].allowed == "a whole number >= 1 and <= 5"
    assert CASES[5].allowed == "a list of finite numbers each >= 0"
    assert CASES[7].allowed == "a finite number >= 0 or nothing"


def test_the_schema_carries_range_unit_and_default():
    assert NUMBER.json_schema() == {"description": "A scale. (cm)", "type": "number", "exclusiveMinimum": 0.0, "maximum": 10.0}
    assert CASES[1].json_schema()["default"] == 2
    assert CASES[7].json_schema()["anyOf"][1] == {"type": "null"}


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


def test_a_default_or_example_outside_the_range_is_refused_at_declaration():
    with pytest.raises(InvalidValueError):
        Parameter(name="scale", kind="number", doc="A scale.", minimum=0.0, default=-1.0)
    with pytest.raises(InvalidValueError):
        Parameter(name="scale", kind="number", doc="A scale.", minimum=0.0, examples=(-1.0,))


NOISE = Parameter(name="noise", kind="choice", doc="The noise.", choices=("gaussian", "wishart"), default="gaussian")
FREEDOM = Parameter(name="freedom", kind="integer", doc="Degrees.", default=9, only_with={"noise": "wishart"})
ADDRESS = Parameter(name="address", kind="text", doc="Where.", default=None)
WORKERS = Parameter(name="workers", kind="integer", doc="How many.", default=None, only_with={"address": None})
KEY = Parameter(name="key", kind="text", doc="A file.", default=None, only_with={"address": GIVEN})
CONDITIONAL = Factory(name="thing", doc="A thing.", make=dict, parameters=(NOISE, FREEDOM, ADDRESS, WORKERS, KEY))


@pytest.mark.parametrize(
    ("values", "idle", "said"),
    [
        ({"freedom": 5}, "freedom", "only with `noise: wishart`"),
        ({"freedom": 9, "noise": "gaussian"}, "freedom", "only with `noise: wishart`"),
        ({"workers": 2, "address": "here"}, "workers", "only without `address`"),
        ({"key": "a"}, "key", "only with `address`"),
        ({"freedom": 5, "noise": "wishart"}, None, ""),
        ({"workers": 2}, None, ""),
        ({"workers": None, "address": "here", "key": "a"}, None, ""),
        ({"key": None}, None, ""),
        ({}, None, ""),
    ],
)
def test_a_parameter_without_effect_is_refused_by_the_check_and_by_the_schema(values, idle, said):
    jsonschema = pytest.importorskip("jsonschema")
    assert jsonschema.Draft202012Validator(CONDITIONAL.json_schema()).is_valid(values) == (idle is None)
    if idle is None:
        assert CONDITIONAL.build(**values)["freedom"] == values.get("freedom", 9)
        return
    with pytest.raises(InvalidValueError, match="left out") as caught:
        CONDITIONAL.build(**values)
    assert caught.value.field == idle
    assert said in caught.value.allowed
    assert said in CONDITIONAL.json_schema()["properties"][idle]["description"].lower()


@given(data=st.data())
def test_the_strategy_gives_only_parameters_with_an_effect(data):
    CONDITIONAL.build(**data.draw(factory_parameters(CONDITIONAL)))


def test_a_condition_is_about_another_declared_parameter_and_its_values():
    with pytest.raises(UnknownNameError, match="noise"):
        Factory(name="thing", doc="A thing.", make=dict, parameters=(FREEDOM,))
    wrong = Parameter(name="freedom", kind="integer", doc="Degrees.", default=9, only_with={"noise": "wishhart"})
    with pytest.raises(InvalidValueError, match="wishhart"):
        Factory(name="thing", doc="A thing.", make=dict, parameters=(NOISE, wrong))
    for changes in ({"only_with": {"freedom": 1}}, {"only_with": "noise"}, {"default": REQUIRED}):
        with pytest.raises(InvalidValueError, match="only_with"):
            Parameter(
                **{"name": "freedom", "kind": "integer", "doc": "D.", "default": 9, "only_with": {"noise": "w"}} | changes
            )


def test_a_name_of_an_earlier_version_says_what_to_write_now():
    renamed = Factory(name="thing", doc="A thing.", make=dict, parameters=(NOISE,), former={"form": "Run `other-thing`."})
    with pytest.raises(UnknownNameError, match="Run `other-thing`"):
        renamed.build(form="other")


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
