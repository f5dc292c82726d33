"""Histories of Opacus and parameters of jax_privacy are read as those packages count them."""

from types import SimpleNamespace

import numpy as np
import pytest

import dpkit
from dpkit import Compose, FixedBatch, GaussianEvent, Repeat, Subsample, interchange
from dpkit.interchange import read, read_jax_privacy, read_opacus, write_jax_privacy, write_opacus


def steps(noise, rate, times):
    return Repeat(event=Subsample(rate=rate, event=GaussianEvent(ratio=1 / noise)), times=times)


HISTORY = [(2.0, 0.01, 500), (1.0, 0.02, 100)]
TAKEN = Compose(events=(steps(2.0, 0.01, 500), steps(1.0, 0.02, 100)))


@pytest.mark.parametrize(
    "source",
    [
        HISTORY,
        [list(segment) for segment in HISTORY],
        {"history": HISTORY, "mechanism": "rdp"},
        SimpleNamespace(history=HISTORY),
        SimpleNamespace(accountant=SimpleNamespace(history=HISTORY)),
        '{"history": [[2.0, 0.01, 500], [1.0, 0.02, 100]], "mechanism": "prv"}',
    ],
    ids=["tuples", "lists", "state_dict", "accountant", "engine", "json"],
)
def test_a_history_is_read_from_whatever_holds_it(source):
    run = read(source)
    assert run.event == TAKEN
    assert any("Poisson" in text for text in run.assumed)


def test_one_segment_and_full_batches_are_read():
    assert read((2.0, 1.0, 7)).event == Compose(events=(Repeat(event=GaussianEvent(ratio=0.5), times=7),))
    assert read_opacus([]).event == Compose(events=())


def test_what_is_written_is_read_again():
    assert write_opacus(TAKEN) == HISTORY
    assert read_opacus(write_opacus(TAKEN)).event == TAKEN
    told = write_jax_privacy(steps(2.0, 0.01, 500))
    assert told == [{"noise_multiplier": 2.0, "iterations": 500, "sampling_prob": 0.01}]
    assert read_jax_privacy(told[0]).event == Compose(events=(steps(2.0, 0.01, 500),))
    with pytest.raises(dpkit.InvalidValueError, match="Gaussian noise"):
        write_opacus(dpkit.LaplaceEvent(ratio=1.0))


def test_schedules_of_jax_privacy_change_where_they_say():
    params = SimpleNamespace(
        noise_multipliers=[(0, 2.0), (100, 1.0)], batch_sizes=[(0, 10), (150, 20)], num_samples=1000, delta=1e-6, batch_size=10
    )
    found = read_jax_privacy(params, steps=400).event
    assert found == Compose(events=(steps(2.0, 0.01, 100), steps(1.0, 0.01, 50), steps(1.0, 0.02, 250)))
    assert read_jax_privacy(params, steps=120).event == Compose(events=(steps(2.0, 0.01, 100), steps(1.0, 0.01, 20)))


def test_bands_are_counted_as_rounds():
    params = {"noise_multipliers": 2.0, "batch_size": 10, "num_samples": 1000, "num_updates": 401, "cycle_length": 4}
    run = read_jax_privacy(params)
    assert run.event == Compose(events=(steps(2.0, 0.04, 101),))
    assert any("4 fixed groups" in text for text in run.assumed)


@pytest.mark.parametrize(
    "source",
    [
        [(1.0, 0.01)],
        [(1.0, 1.5, 10)],
        [(1.0, -0.1, 10)],
        [(0.0, 0.1, 10)],
        [(float("nan"), 0.1, 10)],
        [(1.0, 0.1, 2.5)],
        [(1.0, 0.1, -3)],
        [("1", 0.1, 3)],
        [None],
        {"history": "abc"},
        {"noise_multiplier": 1.0, "sampling_prob": 0.1},
        {"noise_multiplier": 1.0, "batch_size": 10, "iterations": 5},
        {"noise_multipliers": [(5, 1.0)], "rate": 0.1, "steps": 9},
        {"noise_multiplier": 1.0, "rate": 0.1, "steps": 9, "truncated_batch_size": 12},
        {"noise_multiplier": 1.0, "rate": 0.1, "steps": 9, "examples_per_user": 4},
        {"noise_multiplier": 1.0, "rate": 0.1, "steps": 9, "sampling_method": "FIXED_BATCH_SIZE"},
        {"noise_multiplier": 1.0, "rate": 0.1, "steps": 9, "sampling_method": "SHUFFLED"},
        {"noise_multiplier": 1.0, "rate": 0.1, "steps": 9, "is_finite_guarantee": False},
        {"noise_multiplier": 1.0, "iterations": 5, "dataset_size": 100, "batch_size": 10, "replace": True},
        {"noise_multiplier": 1.0, "batch_size": float("inf"), "num_samples": 100, "iterations": 5},
        {},
        pytest.param(object(), id="an object"),
        3.5,
    ],
    ids=repr,
)
def test_what_is_no_history_is_refused_in_words(source):
    with pytest.raises(dpkit.InvalidValueError):
        interchange.read(source)


@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_batches_that_are_cut_are_read_as_such(rate):
    source = {"noise_multiplier": 2.0, "rate": rate, "steps": 9, "truncated_batch_size": 12, "num_samples": 100}
    told = interchange.read(source)
    cut = Subsample(rate=rate, event=GaussianEvent(ratio=0.5), at_most=12, population=100)
    assert told.event == Compose(events=(Repeat(event=cut, times=9),))
    assert any("cut at random" in text for text in told.assumed)
    whole = interchange.price({**source, "truncated_batch_size": None}).epsilon
    assert interchange.price(source).epsilon > whole  # a record that comes may take the place of another one


def test_what_a_history_would_price_too_low_is_not_written():
    """A cut sample costs more than a Poisson one, and a record 4 from nothing more than two that are 1 apart."""
    with pytest.raises(dpkit.InvalidValueError, match="costs more"):
        write_opacus(Subsample(rate=0.1, event=GaussianEvent(ratio=1.0), at_most=5, population=20))
    assert write_opacus(Subsample(rate=0.1, event=GaussianEvent(ratio=1.0, absent=4.0))) == [(0.25, 0.1, 1)]


@pytest.mark.parametrize(
    "source",
    [
        {"noise_multiplier": 2.0, "iterations": 9, "dataset_size": 10_000, "batch_size": 100, "replace": False},
        {"noise_multipliers": 2.0, "steps": 9, "num_samples": 10_000, "batch_size": 100, "sampling_method": "FIXED_BATCH_SIZE"},
    ],
)
def test_batches_of_a_fixed_size_are_not_priced_as_poisson_samples(source):
    """What `fixed_dpsgd_event` takes: a replaced record moves the sum by twice its norm, and no other relation is priced."""
    told = interchange.read(source)
    batch = FixedBatch(size=100, population=10_000, event=GaussianEvent(ratio=1.0))
    assert told.event == Compose(events=(Repeat(event=batch, times=9),))
    assert not any("Poisson" in text for text in told.assumed)
    assert any("without replacement" in text for text in told.assumed)
    priced = interchange.price(source, neighbours=dpkit.Neighbours.REPLACE_ONE).epsilon
    assert priced == dpkit.account(Repeat(event=batch, times=9), "best", dpkit.Neighbours.REPLACE_ONE).epsilon(delta=1e-6)
    with pytest.raises(dpkit.UnpricedEventError, match="fixed size"):
        interchange.price(source)


def test_a_scaled_batch_is_rounded_up_and_arrays_of_one_number_are_numbers():
    source = {"noise_multiplier": np.array(1.0), "num_samples": 1000, "batch_sizes": [(0, 33), (3, np.array(49.5))], "steps": 5}
    assert interchange.read(source).event == Compose(events=(steps(1.0, 0.033, 3), steps(1.0, 0.0495, 2)))
