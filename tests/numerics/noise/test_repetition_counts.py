"""Numbers of repetitions: drawn from the law that is priced, and from exact boundaries where floats do not decide."""

import math

import numpy as np
import pytest

import dpkit
from dpkit.numerics.noise import repetition_counts as module
from dpkit.numerics.noise.repetition_counts import repetition_counts
from dpkit.privacy.repeat_and_select import stopping_rate

SHAPES = (-0.5, 0.0, 0.5, 1.0, 3.0, math.inf)


def law_of(mean, shape, most=300):
    """P(k), k from 0 on, by products."""
    if math.isinf(shape):
        return np.array([math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(most)])
    gamma = stopping_rate(mean, shape)
    weights = [0.0, 1.0]
    for k in range(1, most - 1):
        weights.append(weights[-1] * (1.0 - gamma) * (k + shape) / (k + 1.0))
    first = (1.0 - gamma) * (shape / (gamma**-shape - 1.0) if shape else 1.0 / -math.log(gamma))
    return first * np.array(weights)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mean", [1.2, 4.0])
def test_the_sampler_has_the_law(mean, shape):
    law, n = law_of(mean, shape), 20_000
    rate = mean if math.isinf(shape) else stopping_rate(mean, shape)
    counts = np.bincount(repetition_counts(rate, shape, n, np.random.default_rng(7)), minlength=law.size)[: law.size]
    assert np.all(np.abs(counts - n * law) <= 6.0 * np.sqrt(n * law * (1 - law)) + 30.0 * (law < 1e-3))


@pytest.mark.parametrize("shape", SHAPES)
def test_exact_boundaries_agree_with_floats(shape, monkeypatch):
    rate = 3.0 if math.isinf(shape) else stopping_rate(3.0, shape)
    fast = repetition_counts(rate, shape, 60, np.random.default_rng(3))
    table = module._table(rate, shape)[0]
    monkeypatch.setattr(module, "_table", lambda *_: (table[:3], 2.0))  # nothing is sure
    slow = repetition_counts(rate, shape, 60, np.random.default_rng(3))
    assert np.array_equal(fast, slow)


def test_one_draw_is_a_whole_number_and_one_run_is_one():
    assert dpkit.repetitions(mean=1.0) == 1
    assert {dpkit.repetitions(mean=3.0, shape=0.0, rng=np.random.default_rng(i)) for i in range(40)} >= {1, 2, 3}
    assert dpkit.repetitions(mean=2.0, shape=math.inf) >= 0
    with pytest.raises(dpkit.InvalidValueError):
        dpkit.repetitions(mean=0.5)
