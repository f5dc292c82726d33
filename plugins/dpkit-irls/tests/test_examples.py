"""The examples run, small, and say what the pages say."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from dpkit_irls.measuring import accuracy_tables
from dpkit_irls.measuring.gaps import fitted, registry
from dpkit_irls.measuring.generator import sample
from dpkit_irls.regressions import prepare

import dpkit
from dpkit import DeclaredSetting, run_algorithms

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


@pytest.mark.slow
def test_the_table_of_bars_runs_small_and_goes_into_a_page(tmp_path):
    page = tmp_path / "page.md"
    marked = [f"{start}\nold\n{end}\n" for start, end in map(accuracy_tables.marks, accuracy_tables.TABLES)]
    page.write_text(f"before\n{''.join(marked)}after\n", encoding="utf-8")
    for _ in range(2):  # the second time nothing is measured again
        accuracy_tables.main(["--small", "--datasets", "1", "--into", str(page), "--keep", str(tmp_path / "kept")])
    made = page.read_text(encoding="utf-8")
    assert "| bounded | the paper's |" in made
    assert "| off-centre |" in made
    assert "Bar: 0.1." in made
    assert "\nold\n" not in made
    assert made.startswith("before\n")
    assert made.endswith("after\n")
    page.write_text("no marks", encoding="utf-8")
    with pytest.raises(dpkit.InvalidValueError, match="marks"):
        accuracy_tables.between_marks("no marks", "", "needs")


def test_the_simulated_curator_measures_what_a_run_would_give():
    """Same totals, same noise: with almost none, both fits are the same."""
    data = sample("paper", 3_000, np.random.default_rng(1))
    for method, name in (("bounded", "irls"), ("moments", "irls-moments")):
        quick = fitted(data, method, np.random.default_rng(2), known=registry(), noise={(method, 10, False): 1e-6})
        names = [f"x{place}" for place in range(10)]
        columns = [dpkit.Number(name=name, lower=-data.x_bound, upper=data.x_bound, missing=0.0) for name in names]
        columns.append(dpkit.Number(name="y", lower=-data.y_bound, upper=data.y_bound, missing=0.0))
        schema = dpkit.Schema(columns=tuple(columns))
        where = DeclaredSetting(schema=schema, neighbours=dpkit.Neighbours.REPLACE_ONE, rows=3_000)
        bound = {} if method == "bounded" else {"x_bound": data.x_bound}
        algorithm = prepare(name, where, features=names, target="y", intercept=False, **bound)
        source = dpkit.open_source(np.column_stack([data.x, data.y]), schema, neighbours=where.neighbours, names=[*names, "y"])
        run = run_algorithms(
            {"fit": (algorithm, 1e-6)}, engine=dpkit.BlockEngine(source), setting=where, rng=np.random.default_rng(2)
        )
        assert quick == pytest.approx(run.outcomes["fit"].result.coefficients, rel=1e-3)
