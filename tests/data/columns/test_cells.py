"""What a raw cell says: no cell makes reading fail, equal numbers are spelt alike, and different persons apart."""

import decimal
import fractions

import numpy as np
import pytest

from dpkit.contracts.table import Cells
from dpkit.data.columns.cells import Kind, objects, read_names, read_numbers, read_texts, text_of


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


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (decimal.Decimal(2**60), decimal.Decimal(2**60 + 1)),
        (decimal.Decimal("0.1"), decimal.Decimal("0.1000000000000000055")),
        (b"x\x80", b"x\x81"),
        ("M\udcfcller", "M\udcf6ller"),
        (2**60, 2**60 + 1),
    ],
)
def test_persons_that_differ_stay_different(one, other):
    assert text_of(one) != text_of(other)


def test_names_that_are_numbers_are_the_same_from_a_text_and_from_a_float():
    as_texts = ["12.0", "-3.0", "-0.0", "0.5", "0.10000000000000001", "1e+16", None]
    as_floats = [12.0, -3.0, 0.0, 0.5, 0.1, 1e16, None]
    assert read_names(Cells(values=objects(as_texts))) == read_names(Cells(values=objects(as_floats)))
    others = ["012.0", "1.10", "1e5", "12.", "1.0.0", "12.0 ", "v1.0", "1_0.0", "nan", "inf", "1.0" * 200, "", None]
    assert read_names(Cells(values=objects(others))) == [one or None for one in others]


def test_spellings_of_one_number_are_one():
    assert {text_of(cell) for cell in (7, 7.0, "7", decimal.Decimal(7), decimal.Decimal("7.00"), np.int8(7), b"7")} == {"7"}
    assert text_of(decimal.Decimal("NaN")) is None
    assert text_of(decimal.Decimal("1.50")) == text_of(1.5)
