"""A value planted in the data shows in no error of opening or reading it; and no cell makes reading fail."""

import decimal
import fractions

import numpy as np
import pytest

import dpkit
from dpkit.contracts.table import Cells
from dpkit.data.columns.cells import Kind, objects, read_numbers, read_texts, text_of
from dpkit.errors import raise_alone

SCHEMA = dpkit.Schema(columns=(dpkit.Number(name="987654", lower=0, upper=1), dpkit.Boolean(name="CANARY")))


def test_a_cell_of_a_file_without_a_header_is_not_offered_as_a_name(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("987654.1,CANARYx\n0.5,true\n")
    with pytest.raises(dpkit.SourceError) as caught:
        dpkit.open_source(path, SCHEMA)
    assert "987654.1" not in str(caught.value)
    assert "CANARYx" not in str(caught.value)
    assert "first line" in str(caught.value)


def test_a_cell_that_is_spelt_like_a_declared_column_makes_no_header(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("987654,CANARYx\n0.5,true\n")
    with pytest.raises(dpkit.SourceError, match=r"no column named 'CANARY'.*--header") as caught:
        dpkit.open_source(path, SCHEMA)
    assert "CANARYx" not in str(caught.value)


def test_equal_cells_of_a_first_line_are_noticed_where_they_are_declared(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("a,a,CANARY,987654\n1,2,true,0.5\n")
    dpkit.open_source(path, SCHEMA)
    path.write_text("CANARY,CANARY,987654\n1,2,0.5\n")
    with pytest.raises(dpkit.SourceError, match="same name, 'CANARY'"):
        dpkit.open_source(path, SCHEMA)


def test_a_piece_of_a_file_does_not_show_its_first_line(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("CANARY,987654,secret\n1,2,3\n")
    assert "secret" not in repr(dpkit.open_source(path, SCHEMA).parts(100))


@pytest.mark.parametrize("data", ["x,name\n0.5,secret.csv", ["secret", "other"], ["secret\n0.5.csv"], "secret"])
def test_data_that_is_taken_for_a_path_is_not_shown(data):
    with pytest.raises(dpkit.SourceError) as caught:
        dpkit.open_source(data, SCHEMA)
    assert "secret" not in str(caught.value)


class Text(str):
    def __str__(self):
        raise RuntimeError("secret")

    strip = casefold = __str__


class Real(fractions.Fraction):
    def __float__(self):
        raise RuntimeError("secret")


@pytest.mark.parametrize("cell", [decimal.Decimal("9e1000000"), decimal.Decimal("9e-1999999999999999997"), Text("a"), Real(1)])
def test_no_cell_makes_reading_fail(cell):
    cells = Cells(values=objects([cell, 0.5]))
    numbers, kinds = read_numbers(cells)
    assert (numbers[1], kinds[1]) == (0.5, Kind.NUMBER)
    assert read_texts(cells)[1] == "0.5"


def test_large_and_small_decimals_are_spelt_alike_and_apart():
    spelt = [text_of(decimal.Decimal(text)) for text in ("9e1000000", "90e999999", "9e1000001", "-9e1000000")]
    assert spelt[0] == spelt[1]
    assert len(set(spelt)) == 3
    tiny = [text_of(decimal.Decimal(text)) for text in ("9e-1999999999999999997", "8e-1999999999999999997")]
    assert len({*tiny, "0"}) == 3


def test_integers_of_128_bits_in_a_polars_frame_are_read():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"x": polars.Series([1, None, 10**30], dtype=polars.Int128)})
    source = dpkit.open_source(frame, dpkit.Schema(columns=(dpkit.Number(name="x", lower=0, upper=5),)))
    np.testing.assert_array_equal(np.concatenate(list(source.blocks(("x",), 10)))[:, 0], [1.0, np.nan, 5.0])


def test_an_error_that_is_raised_alone_keeps_nothing_of_what_it_came_of():
    def replaced():
        try:
            raise ValueError("secret")
        except ValueError:
            raise_alone(dpkit.SourceError(source="it", reason="it is broken."))

    with pytest.raises(dpkit.SourceError) as caught:
        replaced()
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def test_a_broken_parquet_file_is_refused_without_what_the_reader_said(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "people.parquet"
    path.write_text("x\nsecret\n" * 9)
    with pytest.raises(dpkit.SourceError) as caught:
        dpkit.open_source(path, SCHEMA)
    assert caught.value.__context__ is None
