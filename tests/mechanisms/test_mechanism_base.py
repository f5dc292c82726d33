"""Additive noise from a law: the same mechanism as one written out by hand, at every scale."""

from dataclasses import dataclass

import numpy as np
import pytest

import dpkit
from dpkit.contracts.mechanism import Mechanism, OnGrid, WhiteBox
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnLaplaceEvent(dpkit.Event):
    ratio: float


RULE = dpkit.LossRule(
    name="own-laplace-pure",
    event=OwnLaplaceEvent,
    loss=dpkit.PureDP,
    neighbours=EITHER,
    because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
    bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
)


class OwnLaplace(dpkit.AdditiveNoise):
    law, rules, metric = LAPLACE, (RULE,), "l1"

    def unit_log_density(self, z):
        return -np.abs(z) - np.log(2.0)


@pytest.mark.parametrize("scale", [0.3, 1.0, 1e4])
def test_it_is_the_mechanism_written_out_by_hand(scale):
    own, known = OwnLaplace(scale=scale), dpkit.Laplace(scale=scale)
    assert all(isinstance(own, protocol) for protocol in (Mechanism, WhiteBox, OnGrid))
    assert own.grid == known.grid
    assert own.event(at=dpkit.l1(0.7)).ratio == known.event(at=dpkit.l1(0.7)).ratio
    value = np.array([[0.1, -3.0], [1e6, 0.0]])
    one, other = (noise.release_many(value, 5, np.random.default_rng(4)) for noise in (own, known))
    assert np.array_equal(one, other)
    assert np.allclose(own.log_density(one, value), known.log_density(one, value), rtol=1e-12)


def test_its_claims_are_its_rules():
    (claim,) = OwnLaplace(scale=2.0).claims(dpkit.l1(1.0), dpkit.Neighbours.REPLACE_ONE)
    assert (claim.loss, claim.because) == (dpkit.PureDP(epsilon=0.5), RULE.because)


def test_another_metric_is_refused():
    with pytest.raises(dpkit.InvalidValueError, match="a distance in l1"):
        OwnLaplace(scale=1.0).event(at=dpkit.l2(1.0))


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf"), "wide"])
def test_a_scale_that_is_none_is_refused(scale):
    with pytest.raises(dpkit.InvalidValueError, match="scale"):
        OwnLaplace(scale=scale)


def test_noise_without_a_density_cannot_be_made():
    class Unfinished(dpkit.AdditiveNoise):
        law, rules, metric = LAPLACE, (RULE,), "l1"

    with pytest.raises(TypeError, match="unit_log_density"):
        Unfinished(scale=1.0)


def test_the_factory_declares_scale_and_metric():
    factory = OwnLaplace.factory(name="own-laplace", doc="Laplace noise.")
    assert factory.metrics == ("l1",)
    assert factory.build(scale=2.0) == OwnLaplace(scale=2.0)


@pytest.mark.parametrize(("shape", "confidence"), [((), 0.5), ((3,), 0.95), ((4, 4), 0.999), ((2**20,), 0.999)])
def test_its_accuracy_is_that_of_the_law(shape, confidence):
    """Also far out, where the law gives the exact survival alone: there the bound may be a hundredth too large."""
    own, known = OwnLaplace(scale=3.0).accuracy(shape, confidence), dpkit.Laplace(scale=3.0).accuracy(shape, confidence)
    assert known * (1.0 - 1e-9) <= own <= known * 1.011
