"""The search finds pairs at which a claim fails, shows them in a simple form, and decides nothing itself."""

import ast
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import pytest

from dpkit import InvalidValueError, Laplace, Neighbours, PureDP, audit, l1, l2
from dpkit.auditing.certificates.replay import replay
from dpkit.auditing.claim_at_pair import ClaimAtPair
from dpkit.auditing.search import search_time
from dpkit.auditing.search.metrics import size_in
from dpkit.auditing.search.pairs import extremes, worst_pair
from dpkit.privacy.claims import Citation, Claim

CLAIM = Claim(
    loss=PureDP(epsilon=1.0),
    neighbours=Neighbours.ADD_REMOVE,
    because=Citation(key="caller", locator="a test"),
    status="unproved",
)


@dataclass(frozen=True)
class WeakBeyond:
    """Ten times less noise than its claim needs, for values beyond an edge only."""

    edge: float = 50.0

    def event(self, at):
        return Laplace(scale=1.0).event(at)

    def claims(self, at):
        return Laplace(scale=1.0).claims(at)[:1]

    def release(self, value, rng):
        return self.release_many(value, 1, rng)[0]

    def release_many(self, value, n, rng):
        return np.asarray(value) + rng.laplace(scale=0.1 if value > self.edge else 1.0, size=n)


@dataclass(frozen=True)
class Slanted(WeakBeyond):
    """Noise that shrinks smoothly as the value grows, and declares it."""

    def scale(self, value):
        return 1.0 / (1.0 + 0.2 * np.log1p(np.exp(np.asarray(value, dtype=float) - 3.0)))

    def release_many(self, value, n, rng):
        return np.asarray(value) + self.scale(value) * rng.laplace(size=n)

    def log_density(self, output, value):
        scale = self.scale(value)
        return -np.abs(np.asarray(output) - value) / scale - np.log(2.0 * scale)


def test_a_mechanism_is_searched_at_extremes_without_being_asked():
    found = audit(WeakBeyond(), at=l1(1.0), samples=2_000, rng=1, floating_point=False)
    assert [one.verdict for one in found] == ["not refuted", "refuted"]
    assert found[1].witness.pair == ("100.0", "101.0")
    assert replay(found[1], WeakBeyond()).confirmed


def test_a_right_mechanism_is_audited_at_its_usual_pair_only():
    found = audit(Laplace(scale=1.0), at=l1(1.0), samples=200, rng=1)
    assert {one.witness.pair for one in found} == {("0.0", "1.0")}


def test_ascent_leads_to_where_the_density_is_worst():
    law = Slanted()
    subject = ClaimAtPair(sampler=law.release_many, claim=CLAIM, pair=(None, None), density=law)
    start = (np.float64(0.0), np.float64(1.0))
    one, two = worst_pair(subject, [start], seed=np.random.SeedSequence(1), at=l1(1.0))
    assert min(one, two) > 3.0
    assert abs(two - one) <= 1.0
    assert len(repr(float(one))) <= 6
    assert len(repr(float(two))) <= 6


@pytest.mark.parametrize("at", [l1(0.3), l2(2.0), l1(1e-9)], ids=str)
def test_extremes_are_within_the_distance(at):
    assert extremes(at)
    for one, two in extremes(at):
        assert size_in(at.metric, np.atleast_1d(two - one)) <= at.value


def summing(data, n, rng):
    """Clips from above and forgets to clip from below: one record can move the sum by any amount."""
    return np.minimum(np.asarray(data), 1.0).sum() + rng.laplace(size=n)


def pairs(rng):
    rows = rng.uniform(-5.0, 5.0, size=3)
    return rows.tolist(), [*rows.tolist(), float(rng.uniform(-5.0, 5.0))]


def test_pairs_of_a_generator_are_searched_for_a_function():
    (certificate,) = audit(summing, PureDP(epsilon=1.0), search=pairs, tries=24, samples=4_000, rng=1)
    assert certificate.refuted
    one, two = (ast.literal_eval(text) for text in certificate.witness.pair)
    assert len(two) == len(one) + 1
    assert two[-1] < -1.0
    assert replay(certificate, summing).confirmed


def test_the_search_follows_from_the_seed():
    first, second = (audit(summing, PureDP(epsilon=1.0), search=pairs, tries=8, samples=400, rng=5) for _ in range(2))
    assert first == second


def test_right_functions_survive_a_search():
    right = lambda data, n, rng: np.clip(data, -1.0, 1.0).sum() + rng.laplace(size=n)  # noqa: E731
    (certificate,) = audit(right, PureDP(epsilon=1.0), search=pairs, tries=16, samples=2_000, rng=3)
    assert not certificate.refuted


def test_a_search_without_candidates_is_refused():
    with pytest.raises(InvalidValueError, match="search"):
        audit(summing, PureDP(epsilon=1.0), search=[], samples=100, rng=1)


def test_a_search_keeps_to_its_time_by_smaller_pilots_and_fewer_candidates(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(search_time.time, "monotonic", lambda: clock[0])
    asked = []

    def slow(value, n, rng):
        clock[0] += 1.0 * n  # a second an output
        asked.append(n)
        return value + rng.laplace(size=n)

    subject = ClaimAtPair(sampler=slow, claim=CLAIM, pair=(0.0, 1.0))
    timed = search_time.SearchTime.before(100.0)
    assert timed is not None
    found = worst_pair(subject, [(0.0, 1.0)] * 64, seed=np.random.SeedSequence(1), clock=timed)
    assert found == (0.0, 1.0)
    assert clock[0] <= 30.0 + 2 * 2 * search_time.LEAST + 2.0
    assert max(asked) < 30
    before = len(asked)
    monkeypatch.setattr(search_time.SearchTime, "late", lambda self: False)  # a mutant that never looks at the clock
    monkeypatch.setattr("dpkit.auditing.search.pairs.call_until", lambda until: nullcontext())
    worst_pair(subject, [(0.0, 1.0)] * 64, seed=np.random.SeedSequence(1), clock=timed)
    assert sum(asked[before:]) > 200
