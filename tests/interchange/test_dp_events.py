"""DpEvents are read as dp-accounting means them, written so that they cost no less, refused where no theorem covers them."""

import dataclasses
import json
import math

import dp_accounting
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from hypothesis import given
from hypothesis import strategies as st

import dpkit
from dpkit import (
    Compose,
    DiscreteLaplaceEvent,
    FixedBatch,
    GaussianEvent,
    LaplaceEvent,
    PureEvent,
    Repeat,
    RepeatAndSelect,
    Subsample,
    ZCDPEvent,
    interchange,
)
from dpkit.interchange import read_dp_event, write_dp_event
from dpkit.testing.strategies import examples

EVENTS = [
    dp_event.NoOpDpEvent(),
    dp_event.GaussianDpEvent(0.8),
    dp_event.LaplaceDpEvent(3.0),
    dp_event.DiscreteLaplaceDpEvent(0.3, 1),
    dp_event.SelfComposedDpEvent(dp_event.PoissonSampledDpEvent(0.02, dp_event.GaussianDpEvent(1.1)), 50),
    dp_event.ComposedDpEvent([dp_event.GaussianDpEvent(2.0), dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(4.0), 3)]),
    dp_event.MixtureOfGaussiansDpEvent(1.5, [0.0, 1.0], [0.9, 0.1]),
]


@pytest.mark.parametrize("source", EVENTS, ids=lambda event: type(event).__name__)
def test_the_price_is_near_that_of_dp_accounting_and_not_above_it(source):
    # On its usual grid their accountant takes eight seconds for a mixture.
    grid = {"value_discretization_interval": 1e-3} if isinstance(source, dp_event.MixtureOfGaussiansDpEvent) else {}
    theirs = PLDAccountant(**grid).compose(source).get_epsilon(1e-5)
    ours = dpkit.account(read_dp_event(source).event, "best").epsilon(delta=1e-5)
    assert ours <= theirs * (1 + 1e-6) + 1e-9
    assert ours >= theirs * 0.98 - 1e-3  # their PLD rounds up on its grid


def test_randomised_response_has_the_odds_of_its_definition():
    event = read_dp_event(dp_event.RandomizedResponseDpEvent(0.4, 4)).event
    assert event.categories == 4
    assert event.epsilon == pytest.approx(math.log(0.7 / 0.1), rel=1e-12)


@pytest.mark.parametrize("steps", [1, 2, 3, 8, 9, [4, 17]])
def test_a_tree_costs_what_dp_accounting_says(steps):
    source = dp_event.SingleEpochTreeAggregationDpEvent(2.0, steps)
    accountant = RdpAccountant(neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_SPECIAL)
    theirs = accountant.compose(source).get_epsilon(1e-5)
    assert dpkit.account(read_dp_event(source).event, "zcdp").epsilon(delta=1e-5) == pytest.approx(theirs, rel=2e-2)


@pytest.mark.parametrize("source", EVENTS[:6], ids=lambda event: type(event).__name__)
def test_named_tuples_and_json_are_read_as_the_events_are(source):
    def plain(named):
        if hasattr(named, "_fields"):
            return {name: plain(getattr(named, name)) for name in named._fields}
        return [plain(one) for one in named] if isinstance(named, list) else named

    named = source.to_named_tuple()
    assert read_dp_event(named).event == read_dp_event(source).event
    assert interchange.read(json.dumps(plain(named))).event == read_dp_event(source).event


@examples(40)
@given(ratio=st.floats(0.05, 3.0), rate=st.floats(0.001, 0.9), times=st.integers(1, 20))
def test_what_is_written_and_read_again_costs_no_less_and_hardly_more(ratio, rate, times):
    event = Compose(
        events=(
            Repeat(event=Subsample(rate=rate, event=GaussianEvent(ratio=ratio)), times=times),
            LaplaceEvent(ratio=ratio),
            DiscreteLaplaceEvent(ratio=ratio),
            PureEvent(epsilon=ratio),
        )
    )
    again = read_dp_event(write_dp_event(event)).event
    sampled, laplace, discrete, response = again.events
    assert ratio <= sampled.event.event.ratio <= ratio * (1 + 1e-15)
    assert ratio <= laplace.ratio <= ratio * (1 + 1e-15)
    assert discrete.ratio == ratio
    assert ratio <= response.epsilon <= ratio * (1 + 1e-12) + 1e-14
    assert (sampled.times, sampled.event.rate) == (times, rate)
    assert read_dp_event(write_dp_event(ZCDPEvent(rho=ratio))).event == ZCDPEvent(rho=ratio)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (dp_event.NonPrivateDpEvent(), "no guarantee"),
        (dp_event.UnsupportedDpEvent(), "what happened"),
        (dp_event.SampledWithReplacementDpEvent(100, 10, dp_event.GaussianDpEvent(1.0)), "several times"),
        (dp_event.GaussianDpEvent(0.0), "without noise"),
        (dp_event.GaussianDpEvent(-1.0), "> 0"),
        (dp_event.ZCDpEvent(0.1, 0.5), "xi"),
        (dp_event.MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0, 2.0], [0.5, 0.3, 0.2]), "one sensitivity"),
        (dp_event.PoissonSampledDpEvent(1.5, dp_event.GaussianDpEvent(1.0)), "rate"),
        (dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(1.0), -1), "times"),
        (dp_event.RandomizedResponseDpEvent(0.0, 2), "noise_parameter"),
        ({"class_name": "GaussianDpEvent"}, "noise_multiplier"),
        ({"class_name": "MyOwnDpEvent"}, "one of"),
    ],
)
def test_what_no_theorem_covers_is_refused_with_the_reason(source, said):
    with pytest.raises(dpkit.InvalidValueError, match=said):
        read_dp_event(source)


@pytest.mark.parametrize("name", ["NoSuchEvent", "", None, 7])
def test_json_of_an_unknown_class_is_not_taken_for_another_packages_run(name):
    """`interchange.price` asked for the steps of a run of jax_privacy."""
    with pytest.raises(dpkit.InvalidValueError, match="GaussianDpEvent"):
        interchange.read({"class_name": name, "noise_multiplier": 1.0})


def test_deep_nesting_is_refused_in_words():
    event = dp_event.GaussianDpEvent(1.0)
    for _ in range(5000):
        event = dp_event.SelfComposedDpEvent(event, 1)
    with pytest.raises(dpkit.InvalidValueError, match="in each other"):
        read_dp_event(event)
    with pytest.raises(dpkit.InvalidValueError, match="Gaussian, Laplace"):
        write_dp_event(dpkit.BoundedRangeEvent(range=1.0))


def test_what_dp_accounting_would_price_too_low_is_not_written():
    """A cut sample costs more than a Poisson one, and a record 11 from nothing more than two that are 1 apart."""
    with pytest.raises(dpkit.InvalidValueError, match="not cut"):
        write_dp_event(Subsample(rate=0.1, event=LaplaceEvent(ratio=1.0), at_most=5, population=20))
    assert write_dp_event(GaussianEvent(ratio=1.0, absent=8.0)) == dp_event.GaussianDpEvent(0.125)


NOISE = st.one_of(
    st.builds(GaussianEvent, ratio=st.floats(0.05, 3.0)),
    st.builds(LaplaceEvent, ratio=st.floats(0.05, 3.0)),
    st.builds(DiscreteLaplaceEvent, ratio=st.floats(0.05, 3.0)),
    st.builds(PureEvent, epsilon=st.floats(0.05, 3.0)),
    st.builds(ZCDPEvent, rho=st.floats(0.05, 3.0)),
    st.builds(
        Subsample,
        rate=st.floats(0.01, 0.5),
        event=st.builds(GaussianEvent, ratio=st.floats(0.05, 3.0)),
        at_most=st.just(40),
        population=st.just(100),
    ),
    st.builds(
        FixedBatch, size=st.integers(1, 9), population=st.just(100), event=st.builds(GaussianEvent, ratio=st.floats(0.05, 3.0))
    ),
)
TREES = st.recursive(
    NOISE,
    lambda inner: st.one_of(
        st.builds(Repeat, event=inner, times=st.integers(1, 20)),
        st.builds(Compose, events=st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(Subsample, rate=st.floats(0.01, 0.99), event=inner),
        st.builds(RepeatAndSelect, event=inner, mean=st.floats(1.5, 50.0), shape=st.sampled_from([0.0, 0.5, 1.0, math.inf])),
    ),
    max_leaves=5,
)


def numbers_in(event):
    """The shape of a tree, and its numbers in order: a pure loss is written as randomised response."""
    if isinstance(event, PureEvent) or type(event).__name__ == "RandomizedResponseEvent":
        return [("pure", event.epsilon)]
    found = []
    for part in dataclasses.fields(event):
        value = getattr(event, part.name)
        if part.name == "absent":
            continue
        if isinstance(value, tuple | dpkit.Event):
            inner = value if isinstance(value, tuple) else (value,)
            found += [(type(event).__name__, len(inner)), *(number for one in inner for number in numbers_in(one))]
        else:
            found.append((f"{type(event).__name__}.{part.name}", value))
    return found


@examples(60)
@given(event=TREES)
def test_every_tree_that_is_written_is_read_back_with_no_smaller_number(event):
    written, again = numbers_in(event), numbers_in(read_dp_event(write_dp_event(event)).event)
    assert [name for name, _ in written] == [name for name, _ in again]
    for (name, before), (_, after) in zip(written, again, strict=True):
        if name.split(".")[-1] == "sensitivity" and before is None:
            assert after == 1  # what is not said is written as one step, which costs as much
        elif before is None or isinstance(before, int) or name.split(".")[-1] in ("mean", "shape", "rate"):
            assert after == before
        else:
            assert before <= after <= before * (1 + 1e-12) + 1e-14


def test_selections_and_cut_samples_say_what_they_assume():
    told = read_dp_event(dp_event.RepeatAndSelectDpEvent(dp_event.GaussianDpEvent(2.0), 10, 1.0))
    assert told.event == RepeatAndSelect(event=GaussianEvent(ratio=0.5), mean=10.0, shape=1.0)
    assert any("secret" in text for text in told.assumed)
    cut = read_dp_event(dp_event.TruncatedSubsampledGaussianDpEvent(1000, 0.05, 90, 2.0))
    assert cut.event == Subsample(rate=0.05, event=GaussianEvent(ratio=0.5), at_most=90, population=1000)
    assert any("cut at random" in text for text in cut.assumed)
    under = interchange.price(dp_event.RepeatAndSelectDpEvent(dp_event.GaussianDpEvent(2.0), 10, 1.0))
    replaced = interchange.price(
        dp_event.RepeatAndSelectDpEvent(dp_event.GaussianDpEvent(2.0), 10, 1.0), neighbours=dpkit.Neighbours.REPLACE_ONE
    )
    assert replaced.epsilon > 1.5 * under.epsilon  # a replaced record moves the sum twice as far


def test_without_dp_accounting_reading_works_and_writing_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "dp_accounting.dp_event", None)
    assert read_dp_event({"class_name": "GaussianDpEvent", "noise_multiplier": 2.0}).event == GaussianEvent(ratio=0.5)
    with pytest.raises(dpkit.MissingExtraError, match=r"dpkit\[exchange\]"):
        write_dp_event(GaussianEvent(ratio=1.0))
