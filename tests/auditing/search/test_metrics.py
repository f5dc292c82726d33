"""Sizes in each metric, on differences whose sizes are known."""

import math

import numpy as np
import pytest

from dpkit.auditing.search.metrics import MEASURED, is_measured, size_in, sizes_in
from dpkit.errors import InvalidValueError


@pytest.mark.parametrize(
    ("metric", "difference", "size"),
    [
        ("l1", [3.0, -4.0], 7.0),
        ("l2", [3.0, -4.0], 5.0),
        ("linf", [3.0, -4.0], 4.0),
        ("frobenius", [[1.0, 2.0], [2.0, 4.0]], 5.0),
        ("trace", [[1.0, 9.0], [9.0, -5.0]], 4.0),
        ("rank_one", [[4.0, 2.0], [2.0, 1.0]], 5.0),
        ("rank_one", [[1.0, 0.0], [0.0, 1.0]], math.inf),
    ],
)
def test_the_size_of_a_difference(metric, difference, size):
    assert size_in(metric, np.array(difference)) == pytest.approx(size, rel=1e-12)


@pytest.mark.parametrize("metric", MEASURED)
def test_a_difference_that_is_no_number_is_never_small(metric):
    spoilt = np.array([[math.nan, 0.0], [0.0, 0.0]])
    assert not size_in(metric, spoilt) <= 1.0


def test_a_metric_without_a_measure_is_refused():
    assert not is_measured("records")
    with pytest.raises(InvalidValueError, match="l1, l2"):
        sizes_in("records", np.zeros((1, 2)))
