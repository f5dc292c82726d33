"""The kit calls the audit engine: claims that are too small fall, by the pairs that a plugin registers where it takes them."""

from types import SimpleNamespace

import numpy as np
import pytest

import dpkit
from dpkit.testing.audit_laws import claims_survive_the_audit
from dpkit.testing.mechanism_cases import MechanismCase
from dpkit.testing.plugin_laws import MECHANISM_LAWS


def case(make, name="edge", pairs=()):
    factory = dpkit.MechanismFactory(name=name, doc="A test.", make=make, metrics=("l1",), shapes=((),))
    plugin = SimpleNamespace(
        dpkit_mechanisms=dpkit.hookimpl(lambda: [factory]), dpkit_neighbour_pairs=dpkit.hookimpl(lambda: list(pairs))
    )
    loaded = dpkit.load_plugins(discover=False, extra={"tests": plugin})
    assert loaded.plugins[-1].healthy, loaded.plugins[-1].problems
    return MechanismCase(factory=factory, registry=loaded.registry)


class Honest:
    inner = dpkit.Laplace(scale=1.0)

    def event(self, at):
        return self.inner.event(at)

    def claims(self, at):
        return self.inner.claims(at)

    def release(self, value, rng):
        return self.release_many(value, 1, rng)[0]

    def release_many(self, value, n, rng):
        return self.inner.release_many(value, n, rng)


class WeakFarOut(Honest):
    """A tenth of the noise, beyond a thousand only, where the kit does not look by itself."""

    def release_many(self, value, n, rng):
        mechanism = dpkit.Laplace(scale=0.1) if np.max(np.abs(value)) > 1_000.0 else self.inner
        return mechanism.release_many(value, n, rng)


def test_an_honest_mechanism_passes():
    claims_survive_the_audit(case(Honest))


def test_a_weak_spot_falls_at_a_registered_pair():
    far = dpkit.NeighbourPairs(name="far", mechanism="edge", pairs=lambda mechanism, at: [(2_000.0, 2_000.0 + at.value)])
    claims_survive_the_audit(case(WeakFarOut))
    with pytest.raises(AssertionError, match="REFUTED"):
        claims_survive_the_audit(case(WeakFarOut, pairs=[far]))


def test_it_is_one_of_the_laws_of_mechanisms():
    assert claims_survive_the_audit in MECHANISM_LAWS
