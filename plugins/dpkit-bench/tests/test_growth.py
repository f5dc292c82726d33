"""What growth measures is what it says: rows by counter, exact moments, the same totals in any number of parts."""

import numpy as np
import pytest
from dpkit_bench import growth
from dpkit_bench.counted_rows import CountedRows, moments
from dpkit_bench.plots import growth_picture

from dpkit import BlockEngine


def test_rows_depend_on_their_number_alone():
    source = CountedRows(rows=50_000, width=3)
    whole = np.concatenate(list(source.blocks(source.columns, 10**9)))
    assert whole.shape == (50_000, 3)
    for rows in (7_000, 65_536):
        np.testing.assert_array_equal(np.concatenate(list(source.blocks(source.columns, rows))), whole)
    fewer = np.concatenate(list(CountedRows(rows=30_001, width=3).blocks(("x2", "x0"), 1_000)))
    np.testing.assert_array_equal(fewer, whole[:30_001, [2, 0]])
    assert len(np.unique(whole, axis=0)) > 0.99 * len(whole)
    assert abs(whole.mean()) < 0.01
    assert np.abs(whole).max() == 1.0


def test_its_pass_is_the_second_moments():
    source = CountedRows(rows=30_000, width=4)
    rows = np.concatenate(list(source.blocks(source.columns, 10**9)))
    (total,) = BlockEngine(source).evaluate([moments(4)])
    np.testing.assert_array_equal(total.nearest(), rows.T @ rows)


def test_parts_have_the_same_total(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "rows.parquet"
    rows = CountedRows(rows=4_001, width=2)
    assert growth._written(path, rows, groups=4)
    schema = growth.Schema(columns=tuple(growth.Number(name=name, lower=-1.0, upper=1.0, missing=0.0) for name in rows.columns))
    source = growth.open_source(str(path), schema)
    (expected,) = BlockEngine(rows).evaluate([moments(2)])
    for count in (1, 2, 4):
        (total,) = growth._parts_pass(source, 2, path, count)()
        np.testing.assert_array_equal(total.nearest(), expected.nearest())


def test_a_series_begins_at_one_and_grows_with_its_sizes():
    rows = list(growth.rows_growth(3_000, 2, 1))
    assert [row.size for row in rows] == [1_000, 3_000] * 2
    assert [row.ratio for row in rows][::2] == [1.0, 1.0]
    assert growth.decades(1_000_000) == [10**power for power in range(7)]
    assert growth.decades(500) == [1, 10, 100, 500]
    assert growth.as_markdown(rows).count("\n") == 3
    assert growth_picture(rows).count("<polyline") == 2
