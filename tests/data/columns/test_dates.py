"""Columns of dates and times: cells of every type, formats against Python's own, and everything that is no date."""

import datetime
import math
import random

import numpy as np
import pytest

import dpkit
from dpkit.contracts.table import Cells
from dpkit.data.columns.cells import objects
from dpkit.data.columns.dates import Date, Time, read_moment

DAY = datetime.date(2024, 2, 29)
CODE = float((DAY - datetime.date(1970, 1, 1)).days)
SECOND = CODE * 86400 + 13 * 3600 + 5 * 60 + 7


@pytest.mark.parametrize(
    "values",
    [
        objects(["2024-02-29"]),
        np.array(["2024-02-29"]),
        np.array([b"2024-02-29"]),
        objects([DAY]),
        objects([datetime.datetime(2024, 2, 29, 23, 59)]),
        objects([datetime.datetime(2024, 3, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))]),
        np.array(["2024-02-29"], dtype="datetime64[D]"),
        np.array(["2024-02-29T23:00"], dtype="datetime64[ns]"),
        objects([np.datetime64("2024-02-29")]),
        objects(["2024-02-29 10:00:00"]),
    ],
    ids=range(10),
)
def test_a_day_is_a_day_whatever_holds_it(values):
    assert Date(name="d").encode(Cells(values=values)).tolist() == [CODE]


def test_a_time_is_a_time_whatever_holds_it():
    moment = datetime.datetime(2024, 2, 29, 13, 5, 7)
    for values in (
        objects(["2024-02-29 13:05:07"]),
        objects(["2024-02-29T13:05:07"]),
        objects([moment]),
        np.array([moment], dtype="datetime64[ns]"),
        np.array([moment], dtype="datetime64[s]"),
    ):
        assert Time(name="t").encode(Cells(values=values)).tolist() == [SECOND]
    assert Time(name="t").encode(Cells(values=objects([DAY]))).tolist() == [CODE * 86400]


FORMATS = [
    "%Y-%m-%d", "%d.%m.%Y", "%m/%d/%y", "%d %b %Y", "%B %d, %Y", "%Y%m%d", "%d.%m.%Y %H:%M", "%Y-%m-%dT%H:%M:%S.%f",
    "%I:%M %p %d/%m/%Y", "100%% %d.%m.%Y",
]  # fmt: skip


@pytest.mark.parametrize("written", FORMATS)
def test_formats_are_read_as_python_reads_them(written):
    rng = random.Random(7)
    for _ in range(200):
        moment = datetime.datetime(1969, 1, 1) + datetime.timedelta(seconds=rng.randrange(3_000_000_000))
        text = moment.strftime(written)
        text = "".join(rng.choice("0123456789x /") if rng.random() < 0.03 else one for one in text)
        try:
            expected = datetime.datetime.strptime(text.strip(), written)
        except ValueError:
            expected = None
        found = read_moment(text, written)
        if found != expected:  # Python takes any blanks for one blank, and no blank for one
            assert (found, " " in written) == (None, True), text


HOSTILE = [
    None,
    "",
    " ",
    "x",
    "2024-02-30",
    "0000-01-01",
    "10000-01-01",
    "2024-02-29Z",
    "9" * 500,
    3,
    3.5,
    float("nan"),
    True,
    b"\xff",
    [1],
    ...,
]


@pytest.mark.parametrize(
    "column", [Date(name="d"), Time(name="d"), Date(name="d", format="%d.%m.%Y")], ids=["date", "time", "format"]
)
def test_whatever_a_cell_holds_it_has_a_code_or_none(column):
    found = column.encode(Cells(values=objects(HOSTILE)))
    assert np.isnan(found).all()
    far = np.array(["NaT", "-200000-01-01", "200000-01-01"], dtype="datetime64[D]")
    codes = column.encode(Cells(values=far))
    assert math.isnan(codes[0])
    assert tuple(codes[1:]) == column.range


def test_policies():
    column = Date(name="d", lower="2000-01-01", upper="2009-12-31", missing="2005-01-01", unknown="2006-01-01", outside="drop")
    found = column.encode(Cells(values=objects([None, "x", "1999-12-31", "2009-12-31"]))).tolist()
    assert found[0] == column.code_of("2005-01-01")
    assert found[1] == column.code_of("2006-01-01")
    assert math.isnan(found[2])
    assert found[3] == column.range[1]
    assert Date(name="d", lower="2000-01-01").encode(Cells(values=objects(["1999-12-31"]))).tolist() == [10957.0]
    assert not Date(name="d", missing="2005-01-01", unknown="2006-01-01").may_drop


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"lower": "yesterday"}, "lower"),
        ({"lower": "2024-01-01", "upper": "2023-01-01"}, "upper"),
        ({"format": "%Q"}, "format"),
        ({"format": "%Y"}, "format"),
        ({"format": "%d.%d.%m.%Y"}, "format"),
        ({"missing": "clip"}, "missing"),
        ({"upper": "2023-01-01", "missing": "2024-01-01"}, "missing"),
        ({"outside": "2024-01-01"}, "outside"),
    ],
)
def test_what_makes_no_sense_is_refused(given, field):
    with pytest.raises(dpkit.InvalidValueError) as caught:
        Date(name="d", **given)
    assert caught.value.field == field


def test_a_made_up_cell_has_its_code():
    for column, code in ((Date(name="d"), 12345.0), (Time(name="t"), 1234567890.0)):
        assert column.encode(Cells(values=objects([column.cell(code)]))).tolist() == [code]
