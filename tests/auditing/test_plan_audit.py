"""An audit before it starts: wrong arguments are named."""

import numpy as np
import pytest

import dpkit
from dpkit import InvalidValueError, PureDP, audit


def laplace(scale):
    return lambda value, n, rng: value + rng.laplace(scale=scale, size=n)


@pytest.mark.parametrize(
    "arguments",
    [
        {"target": laplace(1.0), "pair": (0.0, 1.0)},
        {"target": laplace(1.0), "claim": PureDP(epsilon=1.0)},
        {"target": 3, "claim": PureDP(epsilon=1.0), "pair": (0.0, 1.0)},
        {"target": laplace(1.0), "claim": 1.0, "pair": (0.0, 1.0)},
        {"target": laplace(1.0), "claim": PureDP(epsilon=1.0), "pair": (0.0, 1.0), "confidence": 1.0},
        {"target": laplace(1.0), "claim": PureDP(epsilon=1.0), "pair": (0.0, 1.0), "samples": 0},
        {"target": lambda value, n, rng: np.zeros(n + 1), "claim": PureDP(epsilon=1.0), "pair": (0.0, 1.0)},
        {"target": lambda value, n, rng: None, "claim": PureDP(epsilon=1.0), "pair": (0.0, 1.0)},
        {"target": dpkit.Laplace(scale=1.0)},
    ],
)
def test_wrong_input_is_named(arguments):
    with pytest.raises(InvalidValueError):
        audit(**arguments)


def test_an_unknown_falsifier_is_named():
    with pytest.raises(dpkit.UnknownNameError, match="black box"):
        audit(laplace(1.0), PureDP(epsilon=1.0), (0.0, 1.0), falsifiers=["blackbox"])
