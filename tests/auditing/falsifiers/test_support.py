"""Support: one impossible output is proof."""

import math

import numpy as np

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
