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
