"""Falsifiers that draw no samples: a wrong theorem falls to the declared law."""

import math

from dpkit import ApproxDP, DiscreteLaplace, Gaussian, Laplace, PureDP, RandomizedResponse, audit, l1, l2, records


def test_a_wrong_theorem_falls_without_samples():
    for mechanism, at, claim in [
        (Laplace(scale=0.9), l1(1.0), PureDP(epsilon=1.0)),
        (Gaussian(scale=2.0), l2(1.0), ApproxDP(epsilon=1.0, delta=1e-5)),
        (RandomizedResponse(epsilon=1.01), records(1), PureDP(epsilon=1.0)),
        (DiscreteLaplace(scale=0.9), l1(1), PureDP(epsilon=1.0)),
    ]:
        real = [c for c in audit(mechanism, claim, at=at, samples=5_000, rng=1) if c.hypothesis == "real arithmetic"]
        assert [c.verdict for c in real] == ["refuted"], mechanism
        assert real[0].samples == 0
        assert real[0].log_e_value == math.inf
