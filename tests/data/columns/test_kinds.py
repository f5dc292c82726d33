"""Declared columns: every cell becomes a code within bounds or drops its row, and nothing raises on a value."""

import datetime
import decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpkit.contracts.table import Batch, Cells
from dpkit.data.columns.cells import objects
from dpkit.data.columns.kinds import Boolean, Category, Number, Policy
from dpkit.data.columns.schema import Schema
from dpkit.errors import InvalidValueError

ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(10**400), 10**400),
    st.floats(),
    st.text(),
    st.binary(),
    st.decimals(),
    st.fractions(),
    st.datetimes(),
    st.lists(st.integers()),
    st.complex_numbers(),
    st.sampled_from(
        ["nan", "inf", "-Infinity", "1e400", " 1.5 ", "1_0", "NA", "9" * 5000, "\ud800", "０", decimal.Decimal("sNaN")]
    ),
)
COLUMNS = [
    Number(name="x", lower=-1.0, upper=2.0),
    Number(name="x", lower=-1.0, upper=2.0, missing=0.5, nan=0.25, text=1.0, infinite=-1.0, outside="drop"),
    Number(name="x", lower=0, upper=9, whole=True, infinite="drop", outside=3),
    Category(name="x", levels=("a", "b", "1")),
    Category(name="x", levels=("a", "other"), missing="other", unknown="other"),
    Boolean(name="x", unknown=False),
]


def cells(*items):
    return Cells(values=objects(items))


def codes(column, *items):
    return column.encode(cells(*items)).tolist()


@pytest.mark.parametrize("column", COLUMNS, ids=str)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(items=st.lists(ANYTHING, max_size=8))
def test_whatever_a_cell_holds_its_code_is_within_bounds_or_drops_the_row(column, items):
    found = column.encode(cells(*items))
    low, high = column.range
    assert found.shape == (len(items),)
    assert ((low <= found) & (found <= high) | np.isnan(found)).all()
    assert column.may_drop or not np.isnan(found).any()
    alone = [column.encode(cells(item))[0] for item in items]
    assert np.array_equal(found.view(np.int64), np.array(alone).reshape(-1).view(np.int64))  # each cell is read on its own


def test_a_number_column_follows_its_policies():
    column = Number(name="x", lower=0.0, upper=10.0, missing=1.0, nan=2.0, text=3.0, infinite=4.0, outside=5.0)
    given = (None, float("nan"), "abc", float("inf"), 11, -1e308, 7, "7.5", b"8", decimal.Decimal(9), Fraction(1, 2), True)
    assert codes(column, *given) == [1.0, 2.0, 3.0, 4.0, 5.0, 5.0, 7.0, 7.5, 8.0, 9.0, 0.5, 1.0]
    assert codes(column, "", "NA", "null", "nan", "-inf", "1e999", "1_0", "1" * 500, [1], datetime.date(2020, 1, 1)) == [
        1.0,
        1.0,
        1.0,
        2.0,
        4.0,
        4.0,
        3.0,
        3.0,
        3.0,
        3.0,
    ]


def test_by_default_outside_is_clipped_and_nothing_drops_the_row():
    column = Number(name="x", lower=-1.0, upper=1.0)
    found = codes(column, -1e308, 1e308, float("-inf"), 5e-324, -0.0, None, "x", 10**400)
    assert found[:5] == [-1.0, 1.0, -1.0, 5e-324, 0.0]
    assert not np.signbit(found[4])
    assert np.isnan(found[5:7]).all()
    assert found[7] == 1.0


def test_whole_numbers_are_rounded_to_even():
    assert codes(Number(name="x", lower=0, upper=5, whole=True), 0.5, 1.5, 2.4, "9", -3) == [0.0, 2.0, 2.0, 5.0, 0.0]


def test_levels_are_one_whatever_type_spells_them():
    column = Category(name="x", levels=("3", "b"), unknown="b")
    assert codes(column, 3, 3.0, "3", np.int64(3), decimal.Decimal(3), b"3", "3.0", "c", "3.01") == [0.0] * 7 + [1.0, 1.0]
    assert column.encode(Cells(values=np.array([3, 4]))).tolist() == [0.0, 1.0]
    assert np.isnan(column.encode(Cells(values=np.array([3.0, np.nan]))))[1]
    assert Category(name="x", levels=(1, True)).levels == ("1", "true")


def test_booleans_are_read_from_words_and_numbers():
    column = Boolean(name="x", missing=True)
    assert codes(column, True, "YES", " t ", 1, 1.0, False, "no", 0, None, "") == [1.0] * 5 + [0.0] * 3 + [1.0] * 2
    assert np.isnan(codes(column, "perhaps", 2, 0.5)).all()


def test_a_mask_means_missing_whatever_the_array_holds():
    masked = Cells(values=np.array([1.0, np.nan, np.inf]), missing=np.array([False, True, True]))
    assert Number(name="x", lower=0, upper=9, missing=4.0, nan=5.0).encode(masked).tolist() == [1.0, 4.0, 4.0]


def test_types_that_hold_no_number_are_text():
    column = Number(name="x", lower=0, upper=1, text=1.0)
    assert column.encode(Cells(values=np.array(["2020-01-01"], dtype="M8[D]"))).tolist() == [1.0]
    assert column.encode(Cells(values=np.array([1j]))).tolist() == [1.0]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Number(name="", lower=0, upper=1),
        lambda: Number(name="x", lower=1, upper=0),
        lambda: Number(name="x", lower=0, upper=float("inf")),
        lambda: Number(name="x", lower=0, upper=1e300),
        lambda: Number(name="x", lower=0, upper=1, missing=2),
        lambda: Number(name="x", lower=0, upper=1, missing="clip"),
        lambda: Number(name="x", lower=0, upper=1, missing=Policy.CLIP),
        lambda: Number(name="x", lower=0, upper=1, outside="dropp"),
        lambda: Number(name="x", lower=0, upper=1.5, whole=True),
        lambda: Number(name="x", lower=0, upper=2, whole=True, missing=0.5),
        lambda: Category(name="x", levels=()),
        lambda: Category(name="x", levels=("a", "a")),
        lambda: Category(name="x", levels=("a", "")),
        lambda: Category(name="x", levels="ab"),
        lambda: Category(name="x", levels=("a",), unknown="c"),
        lambda: Boolean(name="x", unknown="maybe"),
        lambda: Boolean(name="x", unknown=1),
        lambda: Schema(columns=()),
        lambda: Schema(columns=(Boolean(name="x"), Boolean(name="x"))),
        lambda: Schema(columns=("x",)),
    ],
)
def test_wrong_declarations_are_refused(wrong):
    with pytest.raises(InvalidValueError):
        wrong()


def test_nothing_shows_a_value_when_it_is_printed():
    secret = cells("canary-7301")
    assert "canary" not in repr(secret) + repr(Batch(rows=1, cells={"x": secret}))


@pytest.mark.parametrize("level", [1e30, -(2.0**53), float("inf"), float("nan")])
def test_a_level_that_lost_digits_is_refused(level):
    with pytest.raises(InvalidValueError, match="in quotes"):
        Category(name="id", levels=(level, "b"))
    assert Category(name="id", levels=(3.0, 10**30)).levels == ("3", str(10**30))
