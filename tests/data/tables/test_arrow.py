"""Parquet files: a broken one is refused without what the reader said."""

import pytest

import dpkit

SCHEMA = dpkit.Schema(columns=(dpkit.Number(name="987654", lower=0, upper=1), dpkit.Boolean(name="CANARY")))


def test_a_broken_parquet_file_is_refused_without_what_the_reader_said(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "people.parquet"
    path.write_text("x\nsecret\n" * 9)
    with pytest.raises(dpkit.SourceError) as caught:
        dpkit.open_source(path, SCHEMA)
    assert caught.value.__context__ is None
