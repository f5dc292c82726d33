"""The median is numpy's, to the last bit."""

import numpy as np
import pytest
from dpkit_irls.rows.medians import median


@pytest.mark.parametrize("size", [1, 2, 3, 10, 101])
def test_as_numpy_has_it(size):
    rng = np.random.default_rng(size)
    for values in (rng.normal(size=size), rng.integers(-2, 3, size).astype(float), np.exp(rng.normal(0.0, 300.0, size))):
        assert median(values) == np.median(values)
