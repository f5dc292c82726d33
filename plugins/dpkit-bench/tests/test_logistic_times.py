"""The bench of how long a logistic regression takes: the same rows for both, a row a design."""

import numpy as np
import pytest

pytest.importorskip("dpkit_irls")
pytest.importorskip("sklearn")
from dpkit_bench.logistic_times import DESIGNS, as_markdown, rows_of, times_of


@pytest.mark.parametrize("design", DESIGNS)
def test_designs_are_what_they_say(design):
    x, y = rows_of(design, 20_000)
    assert x.shape == (20_000, 10)
    assert set(y) == {0.0, 1.0}
    assert (np.mean(y) < 0.1) == (design == "4% yes")
    assert (np.corrcoef(x.T)[0, 1] > 0.5) == (design == "AR(0.9)")


def test_both_are_timed_on_one_design():
    found = times_of("normal", 2_000, 1)
    assert found.cpu_ratio == pytest.approx(found.cpu / found.peer_cpu)
    assert min(found.first_cpu, found.first_wall, found.wall, found.peer_wall) > 0.0
    assert "| normal, N = 2,000 |" in as_markdown([found])
