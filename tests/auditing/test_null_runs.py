"""True claims at their boundary, along every path that samples: refuted no more often than the confidence allows."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from null_runs import EXACT, PATHS, SAMPLED, main, refutations


@pytest.mark.parametrize("path", SAMPLED)
def test_null_runs_keep_to_their_level(path):
    # 60 runs at 0.05: more than 9 has a probability below 2e-3 (and the seeds are fixed)
    assert refutations(path, 60, confidence=0.95, samples=200, first_seed=60_000) <= 9


@pytest.mark.parametrize("path", EXACT)
def test_paths_without_samples_refute_nothing_at_the_boundary(path):
    assert refutations(path, 8, confidence=0.95, samples=2, first_seed=60_000) == 0


def test_a_stopped_run_goes_on_where_it_was(tmp_path, monkeypatch, capsys):
    record = tmp_path / "runs.jsonl"
    command = ["null_runs.py", "support", "--samples", "40", "--record", str(record), "--runs"]
    monkeypatch.setattr(sys, "argv", [*command, "2"])
    main()
    first = record.read_text(encoding="utf-8")
    record.write_text(first.replace("false", "true"), encoding="utf-8")  # what is recorded is not run again
    monkeypatch.setattr(sys, "argv", [*command, "3"])
    main()
    assert record.read_text(encoding="utf-8").startswith(first.replace("false", "true"))
    assert capsys.readouterr().out.splitlines()[-1] == "support: 2 of 3 refuted, 40 samples each"


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
def test_of_two_thousand_null_runs_on_a_path_at_most_eight_are_refuted(path):
    assert refutations(path, 2_000, confidence=0.999, samples=1_000, first_seed=70_000) <= 8
