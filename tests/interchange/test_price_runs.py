"""One call prices somebody else's run, from any form, with interval, theorems, comparison and what is assumed."""

import json

import pytest
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant

import dpkit
from dpkit import Compose, GaussianEvent, LaplaceEvent, Neighbours, Repeat, Subsample, interchange

RUN = Repeat(event=Subsample(rate=0.05, event=GaussianEvent(ratio=0.5)), times=30)
FORMS = {
    "event": RUN,
    "text": "30 x gaussian(noise_multiplier=2) sampled at 0.05",
    "history": [(2.0, 0.05, 30)],
    "dp event": dp_event.SelfComposedDpEvent(dp_event.PoissonSampledDpEvent(0.05, dp_event.GaussianDpEvent(2.0)), 30),
    "jax": {"noise_multiplier": 2.0, "iterations": 30, "sampling_prob": 0.05},
    "json": dpkit.to_json(RUN),
}
THEIRS = PLDAccountant().compose(FORMS["dp event"]).get_epsilon(1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_the_same_price(form):
    priced = interchange.price(FORMS[form], delta=1e-5)
    lower, upper = priced.interval
    assert lower <= priced.epsilon == upper
    assert upper - lower < 1e-5
    assert priced.epsilon == pytest.approx(THEIRS, rel=5e-3)
    assert priced.epsilon <= THEIRS
    assert any("Poisson" in text for text in priced.assumed)


def test_a_price_is_shown_with_theorems_other_accountants_and_what_is_assumed():
    priced = interchange.price(FORMS["history"])
    document, text = json.loads(json.dumps(priced.as_json())), str(priced)
    assert document["accountants"]["rdp"] > document["epsilon"]
    assert all(words in text for words in ("subsampled-gaussian", "other accountants", "assumed:"))


def test_a_price_without_an_interval_says_so():
    priced = interchange.price(dpkit.ZCDPEvent(rho=0.1))
    assert priced.interval is None
    assert priced.as_json()["interval"] is None
    assert "certified" not in str(priced)


def test_the_relation_is_the_callers_and_is_said():
    found = interchange.price(LaplaceEvent(ratio=1.0), neighbours=Neighbours.REPLACE_ONE)
    assert "replace-one" in found.assumed[0]
    with pytest.raises(dpkit.InvalidValueError):
        interchange.price(RUN, delta=1.5)


def test_a_replaced_record_moves_twice_the_clipping_norm():
    history, source = [(2.0, 1.0, 10)], dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(2.0), 10)
    twice = dpkit.account(Repeat(event=GaussianEvent(ratio=1.0), times=10), "best").epsilon(delta=1e-6)
    for form in (history, source):
        found = interchange.price(form, neighbours=Neighbours.REPLACE_ONE)
        assert found.epsilon == twice
        assert any("twice the clipping norm" in text for text in found.assumed)
    ball = Repeat(event=Subsample(rate=0.1, event=GaussianEvent(ratio=1.0, absent=0.5)), times=10)
    assert interchange.price([(2.0, 0.1, 10)], neighbours=Neighbours.REPLACE_ONE).run.event == Compose(events=(ball,))
    event = Repeat(event=GaussianEvent(ratio=1.0), times=10)  # dpkit's own events have the distances of their relation
    assert interchange.price(event, neighbours=Neighbours.REPLACE_ONE).epsilon == twice
    batch = dp_event.SampledWithoutReplacementDpEvent(1000, 10, dp_event.GaussianDpEvent(2.0))
    read = interchange.read(batch)
    assert read.event == dpkit.FixedBatch(size=10, population=1000, event=GaussianEvent(ratio=1.0))
    assert interchange.write(read.event) == batch
    assert interchange.price(batch, neighbours=Neighbours.REPLACE_ONE).run.event == read.event  # once is enough


def test_files_are_read_and_broken_ones_refused(tmp_path):
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"history": [[2.0, 0.05, 30]]}), encoding="utf-8")
    assert interchange.read(path).event == interchange.read(str(path)).event
    for text in ("", "{", "nonsense", '{"dpkit": 1, "value": 3}'):
        path.write_text(text, encoding="utf-8")
        with pytest.raises((dpkit.SerialisationError, dpkit.InvalidValueError)):
            interchange.read(path)
    with pytest.raises(dpkit.SerialisationError, match="cannot be read"):
        interchange.read(tmp_path / "missing.json")


def test_every_form_can_be_written():
    assert interchange.write(RUN, "opacus") == [(2.0, 0.05, 30)]
    assert interchange.write(RUN, "dpkit") == dpkit.to_json(RUN)
    assert interchange.write(RUN) == FORMS["dp event"]
    assert interchange.write(RUN, "jax_privacy") == [FORMS["jax"]]
    with pytest.raises(dpkit.InvalidValueError, match="one of"):
        interchange.write(RUN, "pickle")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("repeat-and-select(event=gaussian(ratio=0.1) sampled at 0.01, mean=10)", ["Poisson", "How often it was repeated"]),
        ("random-allocation(event=gaussian(ratio=0.1), steps=10)", ["steps are drawn at random"]),
        ("shuffled-epochs(event=gaussian(ratio=0.1), batches=10)", ["shuffles all records"]),
    ],
)
def test_what_a_text_takes_for_granted_is_said_however_deep_it_stands(text, said):
    run = interchange.price(text, accountant="rdp")
    for words in said:
        assert any(words in one for one in run.assumed)
