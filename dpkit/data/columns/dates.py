"""Columns of dates and of times, read by a declared format or as ISO writes them; codes are days, or seconds, since 1970.

Times have no zone: they are what a clock showed. A cell that names its zone, by its type, is taken in UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

import numpy as np

from dpkit.contracts.table import Cells
from dpkit.data.columns.cells import FloatArray, read_texts, text_of
from dpkit.data.columns.kinds import Policy
from dpkit.data.expressions.calendar import DAY, EPOCH, FIRST, LAST, day_of, second_of, seconds_of
from dpkit.data.expressions.facts import Fact, ValueKind
from dpkit.errors import InvalidValueError
from dpkit.privacy.checks import nonempty_text
from dpkit.values import dataclass

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_PARTS = {
    "Y": r"(?P<Y>[0-9]{4})",
    "y": r"(?P<y>[0-9]{2})",
    "m": r"(?P<m>[0-9]{1,2})",
    "d": r"(?P<d>[0-9]{1,2})",
    "H": r"(?P<H>[0-9]{1,2})",
    "I": r"(?P<I>[0-9]{1,2})",
    "M": r"(?P<M>[0-9]{1,2})",
    "S": r"(?P<S>[0-9]{1,2})",
    "f": r"(?P<f>[0-9]{1,6})",
    "p": r"(?P<p>[ap]m)",
    "b": rf"(?P<b>{'|'.join(month[:3] for month in _MONTHS)})",
    "B": rf"(?P<B>{'|'.join(_MONTHS)})",
}
_LONGEST = 100


@lru_cache(maxsize=64)
def _pattern(written: str) -> re.Pattern[str] | None:
    """How a format is matched; None where it is none. Names of months are English ones, whatever the machine speaks."""
    pieces, seen = [], []
    for piece in re.findall(r"%.|%|[^%]+", written, re.DOTALL):
        name = piece[1:] if piece.startswith("%") else None
        if name is None:
            pieces.append(re.escape(piece))
        elif name == "%":
            pieces.append("%")
        elif name in _PARTS and name not in seen:
            pieces.append(_PARTS[name])
            seen.append(name)
        else:
            return None
    has_day = "d" in seen and any(one in seen for one in "mbB") and any(one in seen for one in "Yy")
    return re.compile("".join(pieces), re.IGNORECASE) if has_day else None


def read_moment(text: str, written: str | None) -> datetime | None:
    """What a text says by a format; None where it says something else, or names a day that there is not."""
    pattern = None if written is None or len(text) > _LONGEST else _pattern(written)
    found = None if pattern is None else pattern.fullmatch(text.strip())
    if found is None:
        return None
    parts = found.groupdict()
    short = int(parts.get("y") or 0)
    year = int(parts["Y"]) if "Y" in parts else short + (1900 if short >= 69 else 2000)
    month = next((_month(parts[one]) for one in "mbB" if one in parts), 0)
    hour = int(parts.get("H") or parts.get("I") or 0)
    if "I" in parts and "H" not in parts:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if (parts.get("p") or "").lower() == "pm" else 0)
    micro = int((parts.get("f") or "0").ljust(6, "0"))
    try:
        return datetime(year, month, int(parts["d"]), hour, int(parts.get("M") or 0), int(parts.get("S") or 0), micro)
    except ValueError:
        return None


def _month(text: str) -> int:
    if text[0].isdigit():
        return int(text)
    return next(place for place, month in enumerate(_MONTHS, start=1) if month.startswith(text.lower()[:3]))


def _clock(moment: datetime) -> datetime:
    """Without a zone: in UTC, where there was one."""
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Date:
    """A day between declared, public bounds; its code counts days since 1970-01-01.

    `format` says how texts write it, by %Y, %m, %d, %b and the like; without one, as ISO does: 2024-12-31. `missing` and
    `unknown` (anything that is no date) are `Policy.DROP` or a date; days `outside` the bounds are clipped or dropped.
    """

    name: str
    lower: str = "0001-01-01"
    upper: str = "9999-12-31"
    format: str | None = None
    missing: Policy | str = Policy.DROP
    unknown: Policy | str = Policy.DROP
    outside: Policy = Policy.CLIP
    _codes: dict[str, float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_codes", _checked(self, "Date", _day_of_text, "a date such as 2024-12-31"))

    @property
    def range(self) -> tuple[float, float]:
        """The first and the last day."""
        return self._codes["lower"], self._codes["upper"]

    @property
    def whole(self) -> bool:
        """Days are whole numbers."""
        return True

    @property
    def may_drop(self) -> bool:
        """Whether one of its policies drops rows."""
        return Policy.DROP in (self.missing, self.unknown, self.outside)

    @property
    def fact(self) -> Fact:
        """What expressions may know of it."""
        lower, upper = self.range
        return Fact(kind=ValueKind.DATE, lower=lower, upper=upper, nullable=self.may_drop, whole=True)

    def encode(self, cells: Cells) -> FloatArray:
        """The day of each cell."""
        return _encoded(self, cells, unit="D", size=1.0)

    def code_of(self, cell: object) -> float | None:
        """The code of one cell; None for one that is no date."""
        if isinstance(cell, datetime):
            return float(_clock(cell).toordinal() - EPOCH)
        if isinstance(cell, date):
            return float(cell.toordinal() - EPOCH)
        text = text_of(cell)
        return None if text is None else _day_of_text(text, self.format)

    def cell(self, code: float) -> object:
        """A cell that has this code."""
        return date.fromordinal(round(code) + EPOCH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Time:
    """A time between declared, public bounds; its code counts seconds since 1970 began, on a clock without a zone.

    As `Date`, with %H, %M, %S, %f, %I and %p in its format; ISO writes 2024-12-31 23:59:59.
    """

    name: str
    lower: str = "0001-01-01 00:00:00"
    upper: str = "9999-12-31 23:59:59"
    format: str | None = None
    missing: Policy | str = Policy.DROP
    unknown: Policy | str = Policy.DROP
    outside: Policy = Policy.CLIP
    _codes: dict[str, float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_codes", _checked(self, "Time", _second_of_text, "a time such as 2024-12-31 23:59:59"))

    @property
    def range(self) -> tuple[float, float]:
        """The first and the last second."""
        return self._codes["lower"], self._codes["upper"]

    @property
    def whole(self) -> bool:
        """Seconds may have fractions."""
        return False

    @property
    def may_drop(self) -> bool:
        """Whether one of its policies drops rows."""
        return Policy.DROP in (self.missing, self.unknown, self.outside)

    @property
    def fact(self) -> Fact:
        """What expressions may know of it."""
        lower, upper = self.range
        return Fact(kind=ValueKind.TIME, lower=lower, upper=upper, nullable=self.may_drop)

    def encode(self, cells: Cells) -> FloatArray:
        """The second of each cell."""
        return _encoded(self, cells, unit="us", size=1e6)

    def code_of(self, cell: object) -> float | None:
        """The code of one cell; None for one that is no time."""
        if isinstance(cell, datetime):
            return seconds_of(_clock(cell))
        if isinstance(cell, date):
            return (cell.toordinal() - EPOCH) * DAY
        text = text_of(cell)
        return None if text is None else _second_of_text(text, self.format)

    def cell(self, code: float) -> object:
        """A cell that has this code."""
        return datetime(1970, 1, 1) + timedelta(seconds=min(max(code, FIRST * DAY), (LAST + 1.0) * DAY - 1.0))


def _day_of_text(text: str, written: str | None) -> float | None:
    if written is None:
        found = day_of(text)
        second = second_of(text) if found is None else None
        return found if second is None else float(np.floor(second / DAY))
    moment = read_moment(text, written)
    return None if moment is None else float(moment.toordinal() - EPOCH)


def _second_of_text(text: str, written: str | None) -> float | None:
    if written is None:
        return second_of(text)
    moment = read_moment(text, written)
    return None if moment is None else seconds_of(moment)


def _checked(column: Date | Time, kind: str, read: Callable[[str, str | None], float | None], allowed: str) -> dict[str, float]:
    """The codes of bounds and of policies that are values; `InvalidValueError` for what makes no sense."""
    where = f"{kind}({nonempty_text(column.name, field='name', where=kind)})"
    if column.format is not None and (not isinstance(column.format, str) or _pattern(column.format) is None):
        fix = "Allowed: %Y %y %m %b %B %d %H %I %M %S %f %p and %%, each once; a year, a month and a day must be there."
        raise InvalidValueError(field="format", found=column.format, allowed="a format such as %d.%m.%Y", where=where, fix=fix)
    codes: dict[str, float] = {}
    for name in ("lower", "upper"):
        codes[name] = _code_of_text(getattr(column, name), name, column.format, read, allowed, where)
    if codes["lower"] > codes["upper"]:
        raise InvalidValueError(field="upper", found=column.upper, allowed=f"not before {column.lower}", where=where)
    for name in ("missing", "unknown", "outside"):
        policy = getattr(column, name)
        options = [Policy.DROP, Policy.CLIP] if name == "outside" else [Policy.DROP]
        found = next((option for option in options if policy is option or policy == option.value), None)
        if found is not None:
            object.__setattr__(column, name, found)
            continue
        if name == "outside":
            raise InvalidValueError(field=name, found=policy, allowed="'clip' or 'drop'", where=where)
        code = _code_of_text(policy, name, column.format, read, f"'drop', or {allowed}", where)
        if not codes["lower"] <= code <= codes["upper"]:
            raise InvalidValueError(field=name, found=policy, allowed=f"from {column.lower} to {column.upper}", where=where)
        codes[name] = code
    return codes


def _code_of_text(
    given: object, name: str, written: str | None, read: Callable[[str, str | None], float | None], allowed: str, where: str
) -> float:
    """As ISO writes it, or by the column's own format."""
    text = given.isoformat() if isinstance(given, date) else given if isinstance(given, str) else ""
    for format_ in (None, written):
        code = read(text, format_)
        if code is not None:
            return code
    raise InvalidValueError(field=name, found=str(given), allowed=allowed, where=where)


def _encoded(column: Date | Time, cells: Cells, *, unit: str, size: float) -> FloatArray:
    """Codes of cells, clipped and mapped by policy. Each distinct text is read once a block."""
    values, codes = cells.values, column._codes
    if values.dtype.kind == "M":
        whole = _in_units(values, unit)
        missing = np.isnat(values)
        found = np.where(missing, np.nan, whole / size)
        unknown = np.zeros(values.shape[0], dtype=np.bool_)
    else:
        found, missing, unknown = _read_each(column, cells)
    if cells.missing is not None:
        missing, unknown = missing | cells.missing, unknown & ~cells.missing
    lower, upper = column.range
    result = np.clip(found, lower, upper) + 0.0
    if column.outside is Policy.DROP:
        result[(found < lower) | (found > upper)] = np.nan
    result[missing] = codes.get("missing", np.nan)
    result[unknown] = codes.get("unknown", np.nan)
    return result


def _in_units(values: np.ndarray[tuple[int, ...], np.dtype[np.generic]], unit: str) -> FloatArray:
    """Arrays of numpy's own times, however fine: as whole units, and as days where units would not fit."""
    days = values.astype("datetime64[D]").astype(np.int64)
    if unit == "D":
        return days.astype(np.float64)
    near = np.where(np.abs(days) < 10_000_000, values.astype("datetime64[us]").astype(np.int64), np.int64(0))
    return np.where(np.abs(days) < 10_000_000, near.astype(np.float64), days * DAY * 1e6)


def _read_each(column: Date | Time, cells: Cells) -> tuple[FloatArray, np.ndarray, np.ndarray]:
    items: list[object] = cells.values.tolist() if cells.values.dtype.kind == "O" else list(read_texts(cells))
    known: dict[object, float] = {}
    found = np.full(len(items), np.nan)
    missing, unknown = (np.zeros(len(items), dtype=np.bool_) for _ in range(2))
    for place, item in enumerate(items):
        if _is_nothing(item):
            missing[place] = True
            continue
        key = item if type(item) in (str, date, datetime) else None
        code = known.get(key) if key is not None else None
        if code is None:
            read = _read_one(column, item)
            code = np.nan if read is None else read
            if key is not None:
                known[key] = code
        found[place] = code
        unknown[place] = code != code
    return found, missing, unknown


def _is_nothing(item: object) -> bool:
    """An empty cell, however a table marks it."""
    if isinstance(item, str):
        return not item.strip()
    return item is None or (isinstance(item, float) and item != item) or type(item).__name__ in ("NaTType", "NAType")


def _read_one(column: Date | Time, item: object) -> float | None:
    try:
        if isinstance(item, np.datetime64):
            item = item.astype("datetime64[us]").item()
        return column.code_of(item)
    except Exception:  # noqa: BLE001 - a zone that only claims to be one: no cell may be told from another
        return None
