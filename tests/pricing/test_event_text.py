"""Events as people type them: read as they are meant, refused with what is allowed."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpkit
from dpkit import ApproxEvent, Compose, GaussianEvent, InvalidValueError, LaplaceEvent, PureEvent, Repeat, Subsample, ZCDPEvent
from dpkit.pricing.event_text import event_names, event_text, parse_event


def parsed(text):
    return parse_event(text, registry=dpkit.default_registry())


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("gaussian(ratio=1.0)", GaussianEvent(ratio=1.0)),
        ("gaussian( ratio = 1 )", GaussianEvent(ratio=1.0)),
        ("Gaussian(noise_multiplier=4)", GaussianEvent(ratio=0.25)),
        (
            "1000 x gaussian(ratio=1.0) sampled at 0.01",
            Repeat(event=Subsample(rate=0.01, event=GaussianEvent(ratio=1.0)), times=1000),
        ),
        ("1_000 * zcdp(rho=1e-3)", Repeat(event=ZCDPEvent(rho=1e-3), times=1000)),
        (
            "1,000,000 × gaussian(ratio=1) sampled at 1%",
            Repeat(event=Subsample(rate=0.01, event=GaussianEvent(ratio=1.0)), times=1_000_000),
        ),
        (
            "repeat(event=1,000 x pure(epsilon=50 %), times=3)",
            Repeat(event=Repeat(event=PureEvent(epsilon=0.5), times=1000), times=3),
        ),
        ("gaussian(ratio=1,absent=0.5)", GaussianEvent(ratio=1.0, absent=0.5)),
        ("1e3 x pure(epsilon=.1)", Repeat(event=PureEvent(epsilon=0.1), times=1000)),
        (
            "2 x laplace(ratio=0.5) + approx(epsilon=1, delta=1e-6)",
            Compose(events=(Repeat(event=LaplaceEvent(ratio=0.5), times=2), ApproxEvent(epsilon=1.0, delta=1e-6))),
        ),
        (
            "3 x (gaussian(ratio=1) + laplace(ratio=1)) sampled at rate 0.5",
            Repeat(
                event=Subsample(rate=0.5, event=Compose(events=(GaussianEvent(ratio=1.0), LaplaceEvent(ratio=1.0)))), times=3
            ),
        ),
        ("subsample(rate=0.5, event=gaussian(ratio=1))", Subsample(rate=0.5, event=GaussianEvent(ratio=1.0))),
        ("bounded-range(range=1, monotone=true)", dpkit.BoundedRangeEvent(range=1.0, monotone=True)),
        ("discrete_laplace(ratio=2)", dpkit.DiscreteLaplaceEvent(ratio=2.0)),
        (
            "repeat(event=2 x gaussian(ratio=1), times=3)",
            Repeat(event=Repeat(event=GaussianEvent(ratio=1.0), times=2), times=3),
        ),
    ],
)
def test_a_text_is_read_as_it_is_meant(text, event):
    assert parsed(text) == event


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the end"),
        ("gausian(ratio=1)", "gaussian"),
        ("gaussian", "the end"),
        ("gaussian(ratio=1", "the end"),
        ("gaussian(ratio=1))", "the end"),
        ("gaussian(ratio=-1)", "ratio|a number|name of a field|not"),
        ("gaussian(ration=1)", "ratio"),
        ("gaussian(ratio=1, ratio=2)", "once"),
        ("gaussian(1)", "name of a field"),
        ("1.5 x gaussian(ratio=1)", "whole number"),
        ("x gaussian(ratio=1)", "one of"),
        ("-3 x gaussian(ratio=1)", "without a sign, or an event, got '-3'"),
        ("gaussian(ratio=-1)", "a number without a sign"),
        ("12,34 x gaussian(ratio=1)", "one piece, as in 1000, 1_000 or 1,000"),
        ("1 000 x gaussian(ratio=1)", "one piece, as in 1000, 1_000 or 1,000"),
        ("gaussian(ratio=1,000)", "got '000'"),
        ("50% x gaussian(ratio=1)", "a whole number, got '50%'"),
        ("1e999999999 x gaussian(ratio=1)", "fewer than 1000 digits"),
        ("gaussian(ratio=1e9999999999999999999999%)", "a number"),
        ("10 gaussian(ratio=1)", "a count followed by a blank, `x`"),
        ("gaussian(ratio=1) sampled at 0.1 x 10", "a count stands before its event"),
        ("gaussian(ratio=1) sampled at 0,1", "decimals have a point"),
        ("gaussian(ratio=1) sampled at 1/100", "a rate is one number, as in 0.01 or 1%"),
        ("gaussian(ratio=1) - laplace(ratio=1)", "cannot be taken away"),
        ("gaussian(sigma=1)", "noise_multiplier for ratio"),
        ("gaussian(ratio=1) sampled 0.1", "at"),
        ("gaussian(ratio=1) sampled at 2", "rate"),
        ("gaussian(ratio=1) gaussian(ratio=1)", "the end"),
        ("gaussian(noise_multiplier=0)", "no guarantee"),
        ("gaussian(ratio=laplace(ratio=1))", "ratio"),
        ("(" * 100 + "gaussian(ratio=1)" + ")" * 100, "in each other"),
    ],
)
def test_what_is_not_understood_is_refused_with_what_is(text, said):
    with pytest.raises(InvalidValueError, match=said):
        parsed(text)


@given(st.text(alphabet="0123456789.ex+*()=, -_%×gaussianratiosampledatlaplace\n\u00b2\u0661", max_size=60))
def test_no_text_ends_in_anything_but_an_event_or_a_refusal(text):
    with contextlib.suppress(InvalidValueError):
        assert isinstance(parsed(text), dpkit.Event)


def test_every_event_that_has_a_rule_has_a_name():
    names = event_names(dpkit.default_registry())
    assert {"gaussian", "laplace", "pure", "approx", "zcdp", "discrete-gaussian", "subsample", "repeat"} <= set(names)


RATES = st.floats(min_value=1e-300, max_value=1.0)
SINGLE = st.one_of(
    st.builds(lambda ratio: GaussianEvent(ratio=ratio), st.floats(min_value=0.0, max_value=1e300)),
    st.builds(lambda epsilon, delta: ApproxEvent(epsilon=epsilon, delta=delta), RATES, st.floats(1e-300, 0.999)),
    st.builds(lambda ratio: dpkit.GaussianEvent(ratio=ratio, absent=2.0 * ratio), RATES),
    st.builds(lambda one, monotone: dpkit.BoundedRangeEvent(range=one, monotone=monotone), RATES, st.booleans()),
)
TREES = st.recursive(
    SINGLE,
    lambda inner: st.one_of(
        st.builds(lambda event, times: Repeat(event=event, times=times), inner, st.integers(1, 10**18)),
        st.builds(lambda events: Compose(events=tuple(events)), st.lists(inner, min_size=2, max_size=3)),
        st.builds(lambda event, rate: Subsample(rate=rate, event=event), inner, RATES),
        st.builds(lambda event, rate: Subsample(rate=rate, event=event, at_most=3, population=50), inner, RATES),
        st.builds(lambda event, steps: dpkit.RandomAllocation(event=event, steps=steps), SINGLE, st.integers(1, 9)),
    ),
    max_leaves=6,
)


@given(TREES)
def test_a_written_event_is_read_back_as_it_was(event):
    assert parsed(event_text(event)) == event


def test_a_list_of_cells_is_written_for_readers():
    cells = dpkit.Parallel(events=(GaussianEvent(ratio=1.0), LaplaceEvent(ratio=0.5)))
    assert event_text(cells) == "parallel(events=[gaussian(ratio=1.0), laplace(ratio=0.5)])"
