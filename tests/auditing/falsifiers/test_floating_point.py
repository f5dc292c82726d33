"""Floating point: what only rounding gives away falls there, and only there."""

from dpkit import PureDP, audit


def test_numpy_laplace_falls_in_floating_point_and_only_there():
    def fn(value, n, rng):
        return value + rng.laplace(size=n)

    real, rounding = audit(fn, PureDP(epsilon=1.0), (0.0, 1.0), samples=20_000, floating_point=True, rng=1)
    assert (real.hypothesis, real.verdict) == ("real arithmetic", "not refuted")
    assert (rounding.hypothesis, rounding.verdict) == ("floating point", "refuted")
