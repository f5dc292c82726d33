"""An algorithm's own noise is held against the laws; many instances of one class are not all audited by their outputs."""

import numpy as np
import pytest

import dpkit
from dpkit.testing import claim_laws, unregistered_noise
from dpkit.testing.unregistered_noise import MOST_AUDITED, check_noise


class Own(dpkit.Laplace):
    """Noise that nobody registered."""


class OwnWithoutDensity:
    """The same, of which nothing is said but what it costs."""

    def __init__(self, scale):
        self.scale, self._noise = scale, dpkit.Laplace(scale=scale)

    def event(self, at):
        return self._noise.event(at)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return self._noise.claims(at, neighbours)

    def release(self, value, rng=None):
        return self._noise.release(value, rng)

    def release_many(self, value, n, rng=None):
        return self._noise.release_many(value, n, rng)


@pytest.mark.parametrize(("kind", "audited"), [(Own, MOST_AUDITED), (OwnWithoutDensity, 4)])
def test_noise_that_says_its_density_is_audited_a_few_times_and_other_noise_each_time(monkeypatch, kind, audited):
    seen = []

    def counted(case):
        seen.append(case.factory.make())

    monkeypatch.setattr(claim_laws, "claims_survive_a_quick_audit", counted)
    monkeypatch.setattr(unregistered_noise, "LAWS", (counted,))
    schema = dpkit.Schema(columns=(dpkit.Number(name="x", lower=0, upper=1),))
    setting, registry = dpkit.DeclaredSetting(schema=schema), dpkit.default_registry()
    query = registry.algorithm("count").prepare(setting).statistic.query
    tried = set()
    for scale in (1.0, 2.0, 3.0, 4.0, 2.0):
        check_noise(query, kind(scale=scale), setting=setting, registry=registry, registered={}, seed=0, tried=tried)
    assert len(seen) == audited
    assert np.unique([noise.scale for noise in seen]).size == audited
