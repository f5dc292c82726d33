"""Audits of analyses with private keys: their noise is tried, or it is said that it is not; a threshold too low is refuted."""

import numpy as np
import pytest

import dpkit
from dpkit.auditing.algorithms.audit_analysis import audit_plan
from dpkit.mechanisms.thresholded_keys import ThresholdedGeometric

pytest.importorskip("dpkit_stats", reason="the plugin dpkit-stats is not installed")


def audited(tmp_path, others="", *, delta=1e-6, samples=1_000):
    head = "dpkit: 1\ndata: {source: a.csv, columns: {city: text, x: [0, 1]}}\nbudget: {epsilon: 1, "
    steps = "  - {id: cities, run: count, by: {column: city, keys: private}}\n" + others
    (tmp_path / "a.yaml").write_text(f"{head}delta: {delta}}}\nsteps:\n{steps}", encoding="utf-8")
    return audit_plan(dpkit.load(tmp_path / "a.yaml").plan(), samples=samples, seed=1)


def test_an_audit_of_an_analysis_tries_the_noise_of_private_keys_or_says_that_it_does_not(tmp_path):
    found = audited(tmp_path)
    assert not found.refuted
    assert {certificate.target.partition(":")[0] for certificate in found.certificates} == {"cities/keys"}
    assert found.keys == ()
    found = audited(tmp_path, "  - {id: means, run: mean, by: {column: city, keys: private}, with: {column: x}}\n")
    assert found.as_json()["keys"] == ["cities", "means"]
    assert "step means: the noise of its private keys claims no single loss, so it was not tried" in str(found)


def test_a_threshold_that_is_one_too_low_is_refuted(tmp_path, monkeypatch):
    release = ThresholdedGeometric.release

    def too_low(self, value, rng=None):
        """Keys come out at one less: a key of one person e + 1 times as often as is claimed."""
        counts = np.asarray(value)
        return np.where(counts > 0, release(self, np.where(counts > 0, counts + 1, 0), rng) - 1, 0).clip(0)

    assert not audited(tmp_path, delta=0.01, samples=20_000).refuted
    monkeypatch.setattr(ThresholdedGeometric, "release", too_low)
    assert audited(tmp_path, delta=0.01, samples=20_000).refuted
