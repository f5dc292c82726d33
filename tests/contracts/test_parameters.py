"""A parameter is declared once: what it refuses and what its schema refuses agree."""

import math

import pytest
from contracts.declared_parameters import CASES, CONDITIONAL, FREEDOM, NOISE, NUMBER

from dpkit import Factory, InvalidValueError, Parameter, UnknownNameError
from dpkit.contracts.parameters import REQUIRED, Choice, as_choice


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


def test_a_default_or_example_outside_the_range_is_refused_at_declaration():
    with pytest.raises(InvalidValueError):
        Parameter(name="scale", kind="number", doc="A scale.", minimum=0.0, default=-1.0)
    with pytest.raises(InvalidValueError):
        Parameter(name="scale", kind="number", doc="A scale.", minimum=0.0, examples=(-1.0,))


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


def test_a_choice_is_a_name_or_one_name_with_parameters():
    assert as_choice("laplace") == Choice(name="laplace")
    assert as_choice({"laplace": None}) == Choice(name="laplace")
    assert as_choice({"x": {"edges": [1, [2]]}}) == Choice(name="x", given=(("edges", (1, (2,))),))
    for wrong in ("", " ", 3, [], {}, {"a": 1}, {"a": {}, "b": {}}, {3: {}}):
        assert as_choice(wrong) is None
