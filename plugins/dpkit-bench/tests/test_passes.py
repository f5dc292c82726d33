"""The bench of passes on small sizes: every row is there, and what is compared computes the same thing."""

import numpy as np
import pytest
from dpkit_bench.passes import STREAM, as_markdown, measure_passes
from dpkit_bench.plain_passes import Pass, PlainPasses


@pytest.mark.slow
def test_every_pass_is_measured_both_ways():
    pytest.importorskip("numba")
    rows = measure_passes(rows=20_000, repeats=1, threads=2)
    assert [(row.name, row.columns) for row in rows if row.beside == STREAM] == [
        ("gradient pass, by numpy", 10), ("moments pass, by numpy", 10),
        ("gradient pass, by numpy", 100), ("moments pass, by numpy", 100),
        ("gradient pass, compiled", 10), ("moments pass, compiled", 10),
    ]  # fmt: skip
    assert [row.name for row in rows if "fit" in row.name] == ["private fit, by numpy", "private fit, compiled"]
    assert all(row.ratio > 0.0 for row in rows)
    assert len(as_markdown(rows).splitlines()) == len(rows) + 2


@pytest.mark.parametrize("threads", [1, 2])
def test_the_passes_without_privacy_find_the_line(threads):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(30_000, 3)) @ np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
    table = np.column_stack([x, x @ [0.5, -1.0, 0.25]])
    asked = [("magnitudes",), ("scatter",), ("scatter",), ("lengths", "targets"), *[("step",)] * 60]
    passes = tuple(Pass(names, from_rows=place < 6) for place, names in enumerate(asked))
    turned, position = PlainPasses(table=table, threads=threads, passes=passes).run()
    np.testing.assert_allclose(turned @ position, [0.5, -1.0, 0.25], atol=1e-3)
