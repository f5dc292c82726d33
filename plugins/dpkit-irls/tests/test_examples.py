"""The examples run, small, and say what the pages say."""

import subprocess
import sys
from pathlib import Path

from dpkit_irls import bars

FIGURE1 = Path(__file__).parents[3] / "examples" / "figure1"


def test_figure_1_is_drawn_small_and_goes_on_where_it_was(tmp_path):
    for _ in range(2):
        command = [sys.executable, FIGURE1 / "figure1.py", "--small", "--out", tmp_path]
        subprocess.run(command, check=True, capture_output=True, timeout=300)
    table = (tmp_path / "figure1.md").read_text(encoding="utf-8")
    assert "does not hold" in table
    assert "| 3,000 |" in table


def test_the_attack_succeeds_as_often_as_the_theory_says_and_never_accuses_falsely():
    done = subprocess.run(
        [sys.executable, FIGURE1 / "attack.py", "--trials", "2000"], check=True, capture_output=True, text=True, timeout=300
    )
    for line in done.stdout.splitlines()[1:]:
        _, _, found, theory, false = map(float, line.split())
        assert abs(found - theory) < 0.05
        assert false == 0.0


def test_the_table_of_bars_runs_small(capsys):
    bars.main(["--small", "--datasets", "1"])
    assert "| bounded | paper: need |" in capsys.readouterr().out
