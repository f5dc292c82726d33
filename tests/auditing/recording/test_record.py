"""Record and replay: the faults that libraries ship are found by a few runs, and right programs raise no alarm."""

import random
import secrets
import sys

import numpy as np
import pytest
from numpy.random import laplace

from dpkit import ApproxDP, InvalidValueError, Primitive, PureDP, record
from dpkit.auditing.certificates.replay import replay

CLAIM = PureDP(epsilon=1.0)
ROWS, MORE, NAN = [0.2, 0.5, 0.9], [0.2, 0.5, 0.9, 1.0], [0.2, 0.5, 0.9, float("nan")]


def clipped(data, high=1.0):
    return np.clip(np.nan_to_num(data), 0.0, high)


def right_sum(data, rng):
    return float(np.sum(clipped(data))) + rng.laplace(scale=1.0)


def right_mean(data, rng):
    total, count = np.sum(clipped(data)) + rng.laplace(scale=2.0), len(data) + rng.laplace(scale=2.0)
    return total / max(count, 1.0)


def right_histogram(data, rng):
    return np.histogram(clipped(data), bins=3, range=(0, 1))[0] + rng.laplace(scale=1.0, size=3)


def right_by_the_global_generator(data):
    return len(data) + np.random.laplace(0.0, 1.0)


def right_centred_noise(data, rng):
    return rng.laplace(loc=len(data), scale=1.0)


def right_scaled_noise(data, rng):
    return len(data) - 2.0 * rng.laplace(scale=0.5)


def right_choice(data, rng):
    weights = np.exp(0.5 * np.array([len(data), 2.0, 1.0]))
    return rng.choice(3, p=weights / weights.sum())


def right_adaptive(data, rng):
    first = len(data) + rng.laplace(scale=2.0)
    return first, (float(np.sum(clipped(data))) if first > 3 else float(len(data))) + rng.laplace(scale=2.0)


def right_coins(data, rng):
    return rng.random() < 0.5, random.random(), secrets.randbelow(9)


def right_own_generator(data):
    return len(data) + np.random.default_rng().laplace(scale=1.0)


def right_answer_twice(data, rng):
    noise = rng.laplace(scale=1.0)
    return np.sum(clipped(data)) + noise, np.sum(clipped(data)) + noise


def right_noise_by_entry(data, rng):
    counts, noise = np.histogram(clipped(data), bins=3, range=(0, 1))[0], rng.laplace(scale=1.0, size=3)
    return [count + one for count, one in zip(counts, noise, strict=True)]


RIGHT = [value for name, value in dict(globals()).items() if name.startswith("right_")]


@pytest.mark.parametrize("fn", RIGHT, ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("pair", [(ROWS, MORE), (ROWS, NAN)], ids=["added", "nan"])
def test_right_programs_raise_no_alarm(fn, pair):
    found = record(fn, CLAIM, pair, rng=1)
    assert found.findings == ()
    assert found.certificate.verdict == "not refuted"
    assert found.epsilon <= 1.0 + 1e-9
    assert found.calls


def wrong_mean(data, rng):
    return np.mean(data) + rng.laplace(scale=1.0 / len(data))


def wrong_domain(data, rng):
    return {row: data.count(row) + rng.laplace(scale=1.0) for row in sorted(set(data))}


def wrong_double_spending(data, rng):
    return np.sum(clipped(data)) + rng.laplace(scale=1.0), len(data) + rng.laplace(scale=1.0)


def wrong_nan(data, rng):
    return np.sum(np.clip(data, 0.0, 1.0)) + rng.laplace(scale=1.0)


def wrong_noise(data, rng):
    return np.sum(clipped(data)) + rng.laplace(scale=0.5)


def wrong_sensitivity(data, rng):
    return np.sum(clipped(data, high=5.0) * 3.0) + rng.laplace(scale=1.0)


def wrong_plain_release(data, rng):
    return len(data), len(data) + rng.laplace(scale=1.0)


def wrong_reuse(data, rng):
    noise = rng.laplace(scale=2.0)
    return np.sum(clipped(data)) + noise, len(data) + noise


def wrong_exception(data, rng):
    noisy = len(data) + rng.laplace(scale=1.0)
    return noisy if len(data) < 4 and not np.isnan(data).any() else data[99]


def wrong_branch(data, rng):
    return rng.laplace(scale=1.0) + 1.0 if len(data) == 3 else rng.normal(scale=1.0) + 1.0


def wrong_choice(data, rng):
    weights = np.exp(4.0 * np.array([len(data), 2.0, 1.0]))
    return rng.choice(3, p=weights / weights.sum())


@pytest.mark.parametrize(
    ("fn", "pair", "words"),
    [
        (wrong_mean, (ROWS, MORE), "scale depends on the data"),
        (wrong_domain, (ROWS, MORE), "control flow differs"),
        (wrong_double_spending, (ROWS, MORE), "lose epsilon = 2 together"),
        (wrong_nan, (ROWS, NAN), "no number"),
        (wrong_noise, (ROWS, MORE), "lose epsilon = 2 together"),
        (wrong_sensitivity, (ROWS, MORE), "lose epsilon = 3 together"),
        (wrong_plain_release, (ROWS, MORE), "outside any primitive"),
        (wrong_reuse, (ROWS, MORE), "added to two values"),
        (wrong_exception, (ROWS, MORE), "one run raises"),
        (wrong_branch, (ROWS, MORE), "control flow differs"),
        (wrong_choice, (ROWS, MORE), "lose epsilon"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_each_class_of_fault_is_found(fn, pair, words):
    found = record(fn, CLAIM, pair, rng=1)
    assert found.refuted
    assert found.certificate.confirmed
    assert any(words in one for one in found.findings), found.findings
    assert found.certificate.samples == 12 + 12  # and 12 runs that look whether all that is random was recorded


MODULE_GENERATOR = np.random.default_rng(5)


class _Holder:
    generator = np.random.default_rng(6)


def kept_generator(data):
    return np.sum(clipped(data)) + MODULE_GENERATOR.laplace(scale=1.0)


def name_of_its_own(data):
    return np.sum(clipped(data)) + laplace(scale=1.0)


def hidden_generator(data):
    return np.sum(clipped(data)) + _Holder.generator.laplace(scale=1.0)


def by_inversion(data):
    uniform = random.random() - 0.5
    return np.sum(clipped(data)) - np.sign(uniform) * np.log1p(-2.0 * abs(uniform))


def randomised_response(data):
    answer = len(data) > 3
    return answer if secrets.randbelow(1_000) < 731 else not answer


def on_a_sample(data, rng):
    return np.sum(clipped(data)[rng.random(len(data)) < 0.5]) + rng.laplace(scale=1.0)


def by_rejection(data, rng):
    utilities = (0.0, min(len(data), 4.0))
    while True:
        choice = int(rng.integers(2))
        if rng.random() < np.exp(0.5 * (utilities[choice] - 4.0)):
            return choice


def compares_plain_noise(data, rng):
    return bool(len(data) + float(rng.laplace()) > 100.0)


@pytest.mark.parametrize("fn", [kept_generator, name_of_its_own], ids=lambda fn: fn.__name__)
def test_generators_and_names_that_a_module_keeps_are_recorded(fn):
    found = record(fn, CLAIM, (ROWS, MORE), rng=1)
    assert (found.certificate.verdict, found.calls, found.leads) == ("not refuted", 1, ())
    assert record(lambda data: fn(data * 2), CLAIM, (ROWS, MORE), rng=1).refuted


@pytest.mark.parametrize(
    ("fn", "why"),
    [(hidden_generator, "not recorded"), (by_inversion, "random.random"), (randomised_response, "secrets.randbelow"),
     (on_a_sample, "numpy.random.random"), (by_rejection, "numpy.random.random"),
     (compares_plain_noise, "numpy.random.laplace")],
    ids=lambda one: getattr(one, "__name__", ""),
)  # fmt: skip
def test_what_random_numbers_may_explain_is_a_lead_and_no_alarm(fn, why):
    found = record(fn, CLAIM, (ROWS, MORE), rng=1)
    assert (found.findings, found.certificate.verdict) == ((), "inconclusive")
    assert why in found.certificate.note


def test_what_was_certain_before_a_coin_stays_a_finding():
    def release(data, rng):
        weights = np.exp(4.0 * np.array([len(data), 2.0, 1.0]))
        return rng.choice(3, p=weights / weights.sum()), rng.random()

    found = record(release, CLAIM, (ROWS, MORE), rng=1)
    assert found.refuted
    assert any("lose epsilon" in one for one in found.findings)


def sparse_vector(data, rng):
    bar = 12.0 + rng.laplace(scale=2.0)
    for place in range(8):
        if len(data) + rng.laplace(scale=4.0) > bar:
            return place
    return 8


def largest_of_noisy_counts(data, rng):
    return max(range(3), key=lambda place: len(data) + place + rng.laplace(scale=2.0))


def noise_that_nobody_sees(data, rng):
    _ = len(data) + rng.laplace(scale=0.1)
    return len(data) + rng.laplace(scale=1.0)


@pytest.mark.parametrize("fn", [sparse_vector, largest_of_noisy_counts, noise_that_nobody_sees], ids=lambda fn: fn.__name__)
def test_answers_that_the_result_hides_are_no_proof(fn):
    found = record(fn, PureDP(epsilon=1.0), (ROWS, MORE), rng=1, samples=4_000)
    assert found.epsilon > 1.0
    assert found.findings == ()
    assert any("lose epsilon" in one for one in found.leads)
    assert [one.verdict for one in found.sampled] == ["not refuted"]
    assert not found.refuted


def test_hidden_answers_that_cost_too_much_are_found_by_samples():
    def retried(data, rng):
        return next((place for place in range(9) if len(data) + rng.laplace(scale=0.5) > 3.5), 9)

    found = record(retried, CLAIM, (ROWS, MORE), rng=1)
    assert found.findings == ()
    assert [one.verdict for one in found.sampled] == ["refuted"]
    assert found.refuted
    assert found.certificates == (found.certificate, *found.sampled)


def test_a_part_of_the_answers_that_is_shown_is_enough():
    def release(data, rng):
        hidden = len(data) + rng.laplace(scale=1.0)
        return {"more": hidden > 3.0, "shown": (len(data) + rng.laplace(scale=0.4), 7)}

    found = record(release, CLAIM, (ROWS, MORE), rng=1)
    assert found.findings == ("2 calls of primitives lose epsilon = 3.5 together, and 1 is claimed",)
    assert found.sampled == ()


def test_noise_by_a_smooth_sensitivity_is_no_alarm():
    def release(data, rng):
        return len(data) + (1.0 + 0.001 * len(data)) * rng.laplace(scale=2.0)

    found = record(release, ApproxDP(epsilon=1.0, delta=1e-3), (ROWS, MORE), rng=1, samples=4_000)
    assert not found.refuted


def test_the_price_of_gaussian_noise_is_held_against_its_delta():
    def gaussian(data, rng):
        return len(data) + rng.normal(scale=2.0)

    assert not record(gaussian, ApproxDP(epsilon=2.5, delta=1e-5), (ROWS, MORE), rng=1).refuted
    assert record(gaussian, ApproxDP(epsilon=1.0, delta=1e-5), (ROWS, MORE), rng=1).refuted


def test_noise_that_cannot_be_followed_is_inconclusive_and_said():
    found = record(lambda data, rng: len(data) + float(rng.laplace()), CLAIM, (ROWS, MORE), rng=1)
    assert found.certificate.verdict == "inconclusive"
    assert "plain number" in found.certificate.note
    found = record(lambda data, rng: 3.0, CLAIM, (ROWS, MORE), rng=1)
    assert found.certificate.verdict == "inconclusive"
    assert "no primitive was called" in found.certificate.note
    found = record(lambda data, rng: data["x"], CLAIM, (ROWS, MORE), rng=1)
    assert "both runs raised TypeError" in found.certificate.note


class Noise:
    def __init__(self, epsilon, sensitivity, scale=None):
        self.epsilon, self.sensitivity, self.scale = epsilon, sensitivity, scale or sensitivity / epsilon

    def randomise(self, value):
        return value + np.random.default_rng().laplace(scale=self.scale)


OWN = Primitive(path=f"{__name__}:Noise.randomise", value="value", epsilon="epsilon", sensitivity="sensitivity")


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or __import__(__name__))


def test_any_callable_is_a_primitive_with_what_it_declares():
    def release(data, sensitivity=1.0):
        return Noise(1.0, sensitivity).randomise(3.0 * len(data))

    found = record(release, CLAIM, (ROWS, MORE), primitives=[OWN], rng=1)
    assert any("3 apart, and the declared sensitivity is 1.0" in one for one in found.findings)
    assert not record(lambda data: release(data, 3.0), CLAIM, (ROWS, MORE), primitives=[OWN], rng=1).findings


def test_a_primitive_that_draws_too_little_is_refuted_where_it_is_audited():
    def release(data):
        return Noise(1.0, 1.0, scale=0.3).randomise(float(len(data)))

    assert not record(release, CLAIM, (ROWS, MORE), primitives=[OWN], rng=1).refuted
    found = record(release, CLAIM, (ROWS, MORE), primitives=[OWN], rng=1, audited=True, samples=6_000)
    assert found.refuted
    assert found.primitives[0].target.startswith("primitive ")


@pytest.mark.parametrize(
    "primitives", [["no.such"], [Primitive(path="no_such:f", value="x")], [Primitive(path="math:sin", value="nothing")]]
)
def test_wrong_primitives_are_wrong_input(primitives):
    import math

    with pytest.raises(InvalidValueError):
        record(lambda data: math.sin(1.0), CLAIM, (ROWS, MORE), primitives=primitives, rng=1)


def test_nothing_stays_wrapped():
    before = np.random.laplace, np.random.default_rng, np.random.RandomState, secrets.randbelow, random.random
    record(wrong_exception, CLAIM, (ROWS, MORE), rng=1)
    assert before == (np.random.laplace, np.random.default_rng, np.random.RandomState, secrets.randbelow, random.random)
    assert isinstance(np.random.laplace(), float)


def test_a_recording_is_replayed():
    found = record(wrong_double_spending, CLAIM, (ROWS, MORE), primitives=["numpy.random"], rng=1).certificate
    assert replay(found, wrong_double_spending).confirmed
    assert not replay(found, right_sum).confirmed


def test_measurements_of_opendp_are_primitives():
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    count = space >> dp.t.then_count() >> dp.m.then_laplace(scale=1.0)
    pair = ([1, 2], [1, 2, 3])
    once = record(lambda data: count(data), CLAIM, pair, primitives=["opendp.measurements"], rng=1)
    assert (once.findings, once.calls) == ((), 1)
    twice = record(lambda data: (count(data), count(data)), CLAIM, pair, primitives=["opendp.measurements"], rng=1)
    assert any("lose epsilon = 2 together" in one for one in twice.findings)
