"""Numbers of plans and results as text: each bound is rounded to its own side."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dpkit.analysis.showing.text import at_least, at_most, factor_text, flat, margin_title
from dpkit.numerics.rounding import format_up, percent_up

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(value=finite)
def test_a_bound_in_a_table_is_on_its_side(value):
    low, high = (Fraction(form(value).replace(",", "")) for form in (at_least, at_most))
    assert low <= Fraction(value) <= high


@given(value=finite)
def test_the_bounds_of_an_answer_are_rounded_by_their_names(value):
    answer = {"error": value, "intercept_error": value, "intervals": [[value, value]], "lower": value}
    shown = dict(flat(answer))
    assert Fraction(shown["error"]) >= Fraction(value)
    assert Fraction(shown["intercept_error"]) >= Fraction(value) >= Fraction(shown["lower"])
    low, high = map(Fraction, shown["intervals"].strip("[]").split(", "))
    assert low <= Fraction(value) <= high


def test_a_confidence_is_shown_as_it_was_chosen():
    assert dict(flat({"confidence": 0.95})) == {"confidence": "0.95"}


def test_decimal_is_exact():
    assert Fraction(format_up(1.0000004e-6)) >= Fraction(1.0000004e-6)
    assert percent_up(0.11128) == "11.2%"
    assert factor_text(800.0) == "e^800"


def test_a_margin_says_by_what_it_is():
    assert margin_title(("region", "estimate", "lower", "upper")) == "by region"
    assert margin_title(("region", "sex", "cell", "estimate")) == "by region and sex"
    assert margin_title(("probability", "estimate")) == margin_title(("estimate", "lower")) == "all together"


def test_an_estimate_and_its_bounds_are_written_alike():
    shown = dict(flat({"estimate": 1328683.2, "lower": 1326410.4, "upper": 1330949.1}))
    assert shown == {"estimate": "1328680", "lower": "1326410", "upper": "1330950"}
    shown = dict(flat({"estimate": 4.00000049e10, "lower": -3.5e9, "upper": 6e14}))
    assert shown == {"estimate": "40000000000", "lower": "-3500000000", "upper": "600000000000000"}
    assert dict(flat({"estimate": 4.2e17})) == {"estimate": "4.2e+17"}
