"""What a raw cell says: no cell makes reading fail, equal numbers are spelt alike, and different persons apart."""

import decimal
import fractions

import numpy as np
import pytest

from dpkit.contracts.table import Cells
from dpkit.data.columns.cells import Kind, objects, read_numbers, read_texts, text_of


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


def test_spellings_of_one_number_are_one():
    assert {text_of(cell) for cell in (7, 7.0, "7", decimal.Decimal(7), decimal.Decimal("7.00"), np.int8(7), b"7")} == {"7"}
    assert text_of(decimal.Decimal("NaN")) is None
    assert text_of(decimal.Decimal("1.50")) == text_of(1.5)
