"""True claims at their boundary, along every path that samples: refuted no more often than the confidence allows."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from null_runs import PATHS, refutations


@pytest.mark.parametrize("path", PATHS)
def test_null_runs_keep_to_their_level(path):
    # 60 runs at 0.05: more than 9 has a probability below 2e-3 (and the seeds are fixed)
    assert refutations(path, 60, confidence=0.95, samples=200, first_seed=60_000) <= 9


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
def test_of_two_thousand_null_runs_on_a_path_at_most_eight_are_refuted(path):
    assert refutations(path, 2_000, confidence=0.999, samples=1_000, first_seed=70_000) <= 8
