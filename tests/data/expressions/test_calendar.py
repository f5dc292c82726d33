"""The calendar, against Python's own."""

import datetime

import numpy as np

from dpkit.data.expressions import calendar
from dpkit.data.expressions.calendar import DAY, FIRST, LAST, day_of, second_of

RNG = np.random.default_rng(4)
DAYS = np.concatenate([RNG.integers(FIRST, LAST + 1, size=2000), np.arange(-800, 800), [FIRST, LAST]]).astype(np.float64)
DATES = [datetime.date.fromordinal(int(day) + calendar.EPOCH) for day in DAYS]


def test_parts_of_days():
    expected = {
        "year": lambda one: one.year,
        "quarter": lambda one: (one.month + 2) // 3,
        "month": lambda one: one.month,
        "week": lambda one: one.isocalendar().week,
        "day": lambda one: one.day,
        "dow": lambda one: one.isoweekday() % 7,
        "isodow": lambda one: one.isoweekday(),
        "doy": lambda one: one.timetuple().tm_yday,
    }
    for name, part in expected.items():
        found = calendar.part(DAYS, name)
        assert found.tolist() == [float(part(one)) for one in DATES], name
        lower, upper = calendar.RANGES[name]
        assert lower <= found.min() <= found.max() <= upper


def test_parts_of_times():
    seconds = RNG.uniform(FIRST * DAY, LAST * DAY, size=500).round(3)
    moments = [datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=float(np.floor(one))) for one in seconds]
    for name in calendar.OF_A_CLOCK:
        assert calendar.part(seconds, name).tolist() == [float(getattr(one, name)) for one in moments]


def test_beginnings():
    for day, found in zip(DATES, calendar.truncated(DAYS, "month"), strict=True):
        assert found == day.replace(day=1).toordinal() - calendar.EPOCH
    for day, found in zip(DATES, calendar.truncated(DAYS, "quarter"), strict=True):
        assert found == day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1).toordinal() - calendar.EPOCH
    weeks = calendar.truncated(DAYS, "week")
    assert (calendar.part(weeks, "isodow") == 1.0).all()
    assert ((DAYS - weeks >= 0) & (DAYS - weeks < 7)).all()


def test_months_later():
    days = np.array([day_of(one) for one in ("2024-01-31", "2023-01-31", "2024-12-15", "2024-02-29", "9999-12-31")])
    expected = [day_of(one) for one in ("2024-02-29", "2023-02-28", "2025-01-15", "2024-03-29", "9999-12-31")]
    assert calendar.months_later(days, np.ones(5)).tolist() == expected
    assert calendar.months_later(days[3:4], np.array([-12.0])).tolist() == [day_of("2023-02-28")]


def test_nothing_stays_nothing_and_nothing_raises():
    hard = np.array([np.nan, np.inf, -np.inf, 1e300, -1e300, 0.5])
    with np.errstate(all="ignore"):
        for name in calendar.RANGES:
            assert np.isnan(calendar.part(hard, name)[0])
        for unit in calendar.UNITS:
            assert np.isnan(calendar.truncated(hard, unit)[0])
        assert np.isnan(calendar.months_later(hard, np.full(6, np.nan))).all()


def test_texts():
    assert day_of("1970-01-02") == 1.0
    assert second_of("1970-01-01 00:00:01.5") == 1.5
    assert second_of("1970-01-01T00:00:01+02:00") is None
    assert day_of("1970-02-30") is None
    assert day_of("x" * 100) is None
