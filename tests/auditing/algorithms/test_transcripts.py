"""Whole algorithms, end to end: honest ones stand, and a lie anywhere in them shows in the loss of their transcripts."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from release.algorithms import Averaging, total_query

import dpkit
from dpkit.auditing.algorithms.transcripts import audit_algorithm, audit_named_algorithm
from dpkit.auditing.certificates.replay import replay
from dpkit.data.setting import DeclaredSetting
from dpkit.release.curator import planned_event

SCHEMA = dpkit.Schema(columns=(dpkit.Number(name="x", lower=0.0, upper=1.0, missing=0.0),))
SETTING = DeclaredSetting(schema=SCHEMA)


def engines():
    """The second dataset has one row more, at the bound."""
    return tuple(dpkit.BlockEngine(dpkit.open_source({"x": values}, SCHEMA)) for values in ([0.5], [0.5, 1.0]))


def audited(algorithm, noise=1.0, **options):
    (certificate,) = audit_algorithm(algorithm, noise, setting=SETTING, engines=engines(), rng=3, **options)
    return certificate


class WithLaplace(Averaging):
    def mechanism(self, noise):
        return dpkit.Laplace(scale=noise)


@pytest.mark.parametrize("algorithm", [Averaging(SETTING, passes=2), WithLaplace(SETTING, passes=2)], ids=["gdp", "pure"])
def test_an_honest_algorithm_is_not_refuted_and_uses_what_it_pays_for(algorithm):
    certificate = audited(algorithm, noise=2.0, samples=300)
    assert not certificate.refuted
    loss = certificate.claim.loss
    assert loss == dpkit.PureDP(epsilon=1.0) or loss.mu == pytest.approx(np.sqrt(0.5))


class Understated(Averaging):
    """Its query moves by three times what it says."""

    def plan(self, noise):
        return dpkit.Repeat(event=planned_event(SETTING, thrice(), self.mechanism(noise)), times=self.passes)

    def step(self, state, curator):
        value = curator.release(thrice(), self.mechanism(state.noise))
        return replace(state, values=(*state.values, float(value)))


def thrice():
    honest = total_query()
    return replace(honest, rows=lambda block: 3.0 * honest.rows(block), bound=4.0)


def test_an_understated_sensitivity_shows_in_the_transcripts():
    certificate = audited(Understated(SETTING, passes=2), samples=1_000)
    assert certificate.refuted
    assert certificate.falsifier == "white box"
    assert certificate.samples < 600


@dataclass(frozen=True)
class Cheap:
    """Laplace noise whose event says half of what it costs."""

    scale: float

    def event(self, at):
        return dpkit.Laplace(scale=2.0 * self.scale).event(at)

    def claims(self, at):
        return dpkit.Laplace(scale=2.0 * self.scale).claims(at)

    def release(self, value, rng):
        return dpkit.Laplace(scale=self.scale).release(value, rng)

    def release_many(self, value, n, rng):
        return dpkit.Laplace(scale=self.scale).release_many(value, n, rng)

    def log_density(self, output, value):
        return dpkit.Laplace(scale=self.scale).log_density(output, value)


class WithCheapNoise(Averaging):
    def mechanism(self, noise):
        return Cheap(noise)


def test_a_mechanism_that_underprices_itself_shows_in_the_transcripts():
    certificate = audited(WithCheapNoise(SETTING, passes=1), noise=0.5, samples=1_500)
    assert certificate.refuted
    assert certificate.epsilon_lower >= certificate.claim.loss.epsilon


class Greedy(Averaging):
    def finished(self, state):
        return len(state.values) > self.passes


def test_a_run_that_overspends_its_plan_is_refuted_by_plan_coverage():
    certificate = audited(Greedy(SETTING, passes=1), samples=20)
    assert certificate.verdict == "refuted"
    assert (certificate.falsifier, certificate.hypothesis) == ("plan coverage", "records")
    assert certificate.log_e_value == np.inf
    assert certificate.samples == 1
    assert "its plan holds" in certificate.witness.event
    assert dpkit.AuditCertificate.from_json(certificate.to_json()) == certificate


def make(setting, passes, greedy):
    return (Greedy if greedy else Averaging)(setting, passes=passes)


def named(*, greedy, **options):
    parameters = (
        dpkit.Parameter(name="passes", kind="integer", doc="How often.", minimum=1, examples=(2,)),
        dpkit.Parameter(name="greedy", kind="boolean", doc="Once more.", examples=(False,)),
    )
    factory = dpkit.AlgorithmFactory(name="averaging", doc="A test.", make=make, parameters=parameters)
    plugin = SimpleNamespace(dpkit_algorithms=dpkit.hookimpl(lambda: [factory]))
    registry = dpkit.load_plugins(discover=False, extra={"averages": plugin}).registry
    (certificate,) = audit_named_algorithm(
        "averaging",
        {"passes": 2, "greedy": greedy},
        1.5,
        setting=SETTING,
        tables=({"x": [0.5]}, {"x": [0.5, 1.0]}),
        rng=7,
        registry=registry,
        **options,
    )
    return dpkit.AuditCertificate.from_json(certificate.to_json()), registry


@pytest.mark.parametrize("greedy", [False, True])
@pytest.mark.parametrize("claim", [None, dpkit.GDP(mu=0.2)])
def test_a_named_algorithm_is_replayed_from_its_certificate_alone(greedy, claim):
    certificate, registry = named(greedy=greedy, claim=claim, samples=200)
    result = replay(certificate, registry=registry)
    assert result.confirmed, result.differences
    recipe = certificate.recipe.replace('"noise":1.5', '"noise":1.25')
    assert recipe != certificate.recipe
    assert not replay(replace(certificate, recipe=recipe, digest=""), registry=registry).confirmed


def test_an_algorithm_that_is_an_object_of_the_caller_says_so():
    certificate = audited(Averaging(SETTING, passes=1), samples=20)
    with pytest.raises(dpkit.InvalidValueError, match="target"):
        replay(certificate)


class Adaptive(Averaging):
    """Asks with a tenth of the noise when the first answer was large, and plans for one noise only."""

    def step(self, state, curator):
        large = bool(state.values) and state.values[0] > 0.5
        mechanism = Disguised(state.noise, 0.1 * state.noise if large else state.noise)
        return replace(state, values=(*state.values, float(curator.release(total_query(), mechanism))))


@dataclass(frozen=True)
class Disguised(Cheap):
    """Prices itself at one scale and draws at another."""

    drawn: float = 1.0

    def event(self, at):
        return dpkit.Gaussian(scale=self.scale).event(at)

    def release(self, value, rng):
        return dpkit.Gaussian(scale=self.drawn).release(value, rng)

    def log_density(self, output, value):
        return dpkit.Gaussian(scale=self.drawn).log_density(output, value)


def test_an_adaptive_choice_that_is_not_paid_for_shows_in_the_transcripts():
    assert audited(Adaptive(SETTING, passes=2), samples=1_000).refuted


def test_a_claim_of_the_callers_own_is_tested_instead():
    honest = Averaging(SETTING, passes=4)
    certificate = audited(honest, claim=dpkit.GDP(mu=0.4), samples=300)
    assert certificate.refuted
    assert np.isfinite(certificate.epsilon_lower)
