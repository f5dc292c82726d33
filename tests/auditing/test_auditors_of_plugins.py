"""Plugins take part in audits: their auditors at a share of the error probability, their pairs before any other."""

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from dpkit import Evidence, Laplace, NeighbourPairs, PureDP, audit, hookimpl, l1
from dpkit.contracts.auditor import Auditor
from dpkit.errors import InvalidValueError, UnknownNameError
from dpkit.hooks.manager import load_plugins


@dataclass
class Asking:
    """Says what it is told to, and keeps how it was asked."""

    answer: object = None
    name: str = "asking"
    calls: list = field(default_factory=list)

    def falsify(self, target, claim, pair, *, samples, alpha, rng):
        self.calls.append((target, claim, pair, samples, alpha, float(rng.random())))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer(alpha) if callable(self.answer) else self.answer


@dataclass
class Plugin:
    auditors: tuple = ()
    pairs: tuple = ()

    @hookimpl
    def dpkit_auditors(self):
        return self.auditors

    @hookimpl
    def dpkit_neighbour_pairs(self):
        return self.pairs


def registry(**parts):
    loaded = load_plugins(discover=False, extra={"audits": Plugin(**parts)})
    assert loaded.plugins[-1].healthy, loaded.plugins[-1].problems
    return loaded.registry


def noisy(value, n, rng):
    return value + rng.laplace(size=n)


def audited(auditor, **options):
    return audit(noisy, PureDP(epsilon=1.0), (0.0, 1.0), samples=400, rng=1, registry=registry(auditors=(auditor,)), **options)


def test_an_auditor_is_asked_with_a_share_of_alpha():
    asking = Asking()
    assert isinstance(asking, Auditor)
    (certificate,) = audited(asking)
    ((target, claim, pair, samples, alpha, _),) = asking.calls
    assert target is noisy
    assert (claim.loss, pair, samples) == (PureDP(epsilon=1.0), (0.0, 1.0), 400)
    assert alpha > 0.0
    assert alpha + certificate.level + 0.1 * 0.001 <= 0.001 * (1.0 + 1e-9)


def test_two_auditors_and_all_pairs_share_what_auditors_have():
    auditors = (Asking(name="one"), Asking(name="two"))
    audit(Laplace(scale=1.0), at=l1(1.0), samples=50, rng=1, registry=registry(auditors=auditors), falsifiers=["one", "two"])
    total = sum(call[4] for auditor in auditors for call in auditor.calls)
    assert total == pytest.approx(0.2 * 0.001)


def test_strong_evidence_refutes_and_weak_evidence_does_not():
    (certificate,) = audited(
        Asking(lambda alpha: Evidence(words="seen", code="y > 3", log_e_value=-math.log(alpha), samples=7))
    )
    own = certificate.samples - certificate.pilot_samples
    assert (certificate.verdict, certificate.falsifier, own) == ("refuted", "asking", 7)
    assert (certificate.witness.event, certificate.witness.code) == ("seen", "y > 3")
    assert certificate.log_e_value >= -math.log(certificate.level)
    (certificate,) = audited(Asking(lambda alpha: Evidence(words="seen", log_e_value=-math.log(alpha) - 1e-9)))
    assert certificate.verdict == "not refuted"
    assert certificate.tried[0] == "asking"


@pytest.mark.parametrize("answer", [ValueError("secret"), 3.0])
def test_an_auditor_that_fails_is_noted_and_the_audit_goes_on(answer):
    (certificate,) = audited(Asking(answer))
    assert certificate.verdict == "not refuted"
    assert "asking" in certificate.note
    assert "secret" not in certificate.note


def test_an_auditor_draws_the_same_again():
    first, second = Asking(), Asking()
    audited(first)
    audited(second)
    assert first.calls[0][5] == second.calls[0][5]


def test_auditors_are_chosen_by_name():
    asking = Asking()
    audited(asking, falsifiers=["black box"])
    assert not asking.calls
    with pytest.raises(UnknownNameError):
        audited(asking, falsifiers=["askign"])


def test_registered_pairs_are_tried_first():
    pairs = NeighbourPairs(
        name="far-out", mechanism="laplace", pairs=lambda mechanism, at: [(np.float64(100.0), np.float64(100.0 + at.value))]
    )
    found = audit(Laplace(scale=1.0), at=l1(1.0), samples=200, rng=1, registry=registry(pairs=(pairs,)))
    claims = [one.witness.pair for one in found if one.hypothesis == "real arithmetic"]
    assert claims[0] == ("100.0", "101.0")
    assert ("0.0", "1.0") in claims


@dataclass(frozen=True)
class WeakAtTheEdge:
    """Ten times less noise than its claim needs, for values between 50 and 70 only."""

    def event(self, at):
        return Laplace(scale=1.0).event(at)

    def claims(self, at):
        return Laplace(scale=1.0).claims(at)

    def release(self, value, rng):
        return self.release_many(value, 1, rng)[0]

    def release_many(self, value, n, rng):
        return np.asarray(value) + rng.laplace(scale=0.1 if 50 < value < 70 else 1.0, size=n)


def test_a_registered_pair_finds_what_the_usual_pair_does_not():
    edge = NeighbourPairs(name="edge", mechanism="weak-at-the-edge", pairs=lambda mechanism, at: [(60.0, 60.0 + at.value)])
    assert not any(
        one.refuted
        for one in audit(WeakAtTheEdge(), at=l1(1.0), samples=2_000, rng=1, floating_point=False, registry=registry())
    )
    found = audit(WeakAtTheEdge(), at=l1(1.0), samples=2_000, rng=1, registry=registry(pairs=(edge,)))
    assert found[0].refuted
    assert found[0].witness.pair == ("60.0", "61.0")


def test_a_pair_that_is_too_far_apart_is_refused():
    wide = NeighbourPairs(name="wide", mechanism="laplace", pairs=lambda mechanism, at: [(0.0, 2.0 * at.value)])
    with pytest.raises(InvalidValueError, match="NeighbourPairs\\(wide\\)"):
        audit(Laplace(scale=1.0), at=l1(1.0), samples=200, rng=1, registry=registry(pairs=(wide,)))
