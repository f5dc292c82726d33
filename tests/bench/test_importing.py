"""Importing dpkit costs hardly more than what it stands on."""

from dpkit.bench.importing import imports_as_markdown, measure_imports


def test_importing_takes_at_most_1_3_times_what_numpy_and_scipy_take():
    rows = measure_imports(repeats=3)
    assert [row.name for row in rows] == ["import dpkit", "account and events"]
    assert rows[0].ratio <= 1.3
    assert all(row.ours_seconds > 0.0 and row.base_seconds > 0.0 for row in rows)
    assert imports_as_markdown(rows).count("\n") == 3
