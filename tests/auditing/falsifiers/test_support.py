"""Support: one impossible output is proof."""

import math

import numpy as np
import pytest

from dpkit import PureDP, audit


class Shifted:
    """Exponential noise on the right of the value: an impossible output shows at once."""

    def log_density(self, output, value):
        gap = np.asarray(output) - value
        return np.where(gap >= 0.0, -gap, -np.inf)


def test_an_impossible_output_is_proof():
    def fn(value, n, rng):
        return value + rng.exponential(size=n)

    certificate = audit(fn, PureDP(epsilon=1.0), (0.0, 1.0), density=Shifted(), falsifiers=["support"], rng=1)[0]
    assert certificate.falsifier == "support"
    assert certificate.log_e_value == math.inf
    assert 0.0 <= certificate.witness.output[0] < 1.0


@pytest.mark.parametrize("samples", range(16, 26))
def test_a_refutation_that_leaves_too_few_samples_for_a_bound_is_a_certificate(samples):
    def fn(value, n, rng):
        return value + rng.exponential(size=n)

    found = audit(
        fn, PureDP(epsilon=0.1), (0.0, 1.0), confidence=0.5, samples=samples, density=Shifted(), falsifiers=["support"], rng=1
    )
    assert found[0].refuted
