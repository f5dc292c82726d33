"""Dates and times as numbers: days, or seconds, since 1970 began, in the calendar of SQL (Gregorian throughout).

Times have no zone: they are what a clock showed. Every function is total: NaN in, NaN out.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

DAY = 86_400.0
"""Seconds."""

FIRST, LAST = -719_162.0, 2_932_896.0
"""The days that a column may hold: from 0001-01-01 to 9999-12-31."""

EPOCH = 719_163
"""1970-01-01, as Python counts days."""
_LONGEST = 40
_FAR = 1e12
"""Beyond every time of the calendar, and within 64 bits."""

RANGES = {
    "year": (1.0, 9999.0),
    "quarter": (1.0, 4.0),
    "month": (1.0, 12.0),
    "week": (1.0, 53.0),
    "day": (1.0, 31.0),
    "dow": (0.0, 6.0),
    "isodow": (1.0, 7.0),
    "doy": (1.0, 366.0),
    "hour": (0.0, 23.0),
    "minute": (0.0, 59.0),
    "second": (0.0, 59.0),
    "epoch": (FIRST * DAY, (LAST + 1.0) * DAY),
}
"""The parts that can be taken, each with its range. `dow` counts from Sunday, 0; `isodow` from Monday, 1; weeks are ISO's."""

OF_A_CLOCK = ("hour", "minute", "second")
UNITS = ("year", "quarter", "month", "week", "day", *OF_A_CLOCK)
"""What dates and times can be cut down to."""


def part(codes: Codes, name: str) -> Codes:
    """A part of a date (`year`), or of the seconds of a day (`hour`), for codes of days or of seconds as the part asks."""
    return _with_nan(codes, _PARTS[name])


def truncated(codes: Codes, unit: str) -> Codes:
    """The first day of the year, quarter, month or week that a day is in; of seconds, the hour, minute or second."""
    return _with_nan(codes, _TRUNCATED[unit])


def months_later(codes: Codes, months: Codes) -> Codes:
    """The day `months` later; the last day of that month where it has no such day."""
    count = np.where(np.isnan(months), 0.0, np.clip(months, -120_000.0, 120_000.0))
    found = _with_nan(codes, lambda days: _months_later(days, np.asarray(count).astype(np.int64)))
    return np.where(np.isnan(months), np.nan, np.clip(found, FIRST, LAST))


def day_of(text: str) -> float | None:
    """The code of a date as ISO writes it, 2024-12-31; None for another text."""
    try:
        found = date.fromisoformat(text.strip()) if len(text) <= _LONGEST else None
    except ValueError:
        return None
    return None if found is None else float(found.toordinal() - EPOCH)


def second_of(text: str) -> float | None:
    """The code of a time as ISO writes it, 2024-12-31 23:59:59, or of a date; None for another text, or one with a zone."""
    try:
        found = datetime.fromisoformat(text.strip()) if len(text) <= _LONGEST else None
    except ValueError:
        return None
    return None if found is None or found.tzinfo is not None else seconds_of(found)


def seconds_of(moment: datetime) -> float:
    """The code of a time without a zone."""
    seconds = (moment.hour * 60 + moment.minute) * 60 + moment.second
    return (moment.toordinal() - EPOCH) * DAY + seconds + moment.microsecond / 1e6


def _with_nan(codes: Codes, function: Callable[[Whole], Whole]) -> Codes:
    missing = np.isnan(codes)
    whole = np.floor(np.clip(np.where(missing, 0.0, codes), -_FAR, _FAR)).astype(np.int64)
    found = function(whole).astype(np.float64)
    return np.where(missing, np.nan, found)


def _years(days: Whole) -> Whole:
    return days.astype("datetime64[D]").astype("datetime64[Y]").astype(np.int64) + 1970


def _months(days: Whole) -> Whole:
    """Months since January 1970."""
    return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)


def _month_begins(months: Whole) -> Whole:
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def _year_begins(days: Whole) -> Whole:
    return days.astype("datetime64[D]").astype("datetime64[Y]").astype("datetime64[D]").astype(np.int64)


def _weekday(days: Whole) -> Whole:
    """Monday is 0; 1970 began on a Thursday."""
    return (days + 3) % 7


def _week(days: Whole) -> Whole:
    """The ISO week: that of its Thursday, counted within the Thursday's year."""
    thursday = days - _weekday(days) + 3
    return np.asarray((thursday - _year_begins(thursday)) // 7 + 1)


def _months_later(days: Whole, months: Whole) -> Whole:
    begin = _months(days)
    target = begin + months
    length = _month_begins(target + 1) - _month_begins(target)
    return np.asarray(_month_begins(target) + np.minimum(days - _month_begins(begin), length - 1))


_PARTS: dict[str, Callable[[Whole], Whole]] = {
    "year": _years,
    "quarter": lambda days: _months(days) % 12 // 3 + 1,
    "month": lambda days: _months(days) % 12 + 1,
    "week": _week,
    "day": lambda days: days - _month_begins(_months(days)) + 1,
    "dow": lambda days: (_weekday(days) + 1) % 7,
    "isodow": lambda days: _weekday(days) + 1,
    "doy": lambda days: days - _year_begins(days) + 1,
    "hour": lambda seconds: seconds % 86_400 // 3600,
    "minute": lambda seconds: seconds % 3600 // 60,
    "second": lambda seconds: seconds % 60,
    "epoch": lambda seconds: seconds,
}

_TRUNCATED: dict[str, Callable[[Whole], Whole]] = {
    "year": _year_begins,
    "quarter": lambda days: _month_begins(_months(days) // 3 * 3),
    "month": lambda days: _month_begins(_months(days)),
    "week": lambda days: days - _weekday(days),
    "day": lambda days: days,
    "hour": lambda seconds: seconds // 3600 * 3600,
    "minute": lambda seconds: seconds // 60 * 60,
    "second": lambda seconds: seconds,
}
