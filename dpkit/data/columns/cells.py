"""What a raw cell says, as a number or as a text. Total: whatever a cell holds, it gets an answer, and nothing raises.

Each cell is read on its own, by one rule for all sources, so what a row means never depends on the rows beside it.
"""

from __future__ import annotations

import decimal
import math
import numbers
import re
from collections.abc import Sequence
from enum import IntEnum
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpkit.contracts.table import Cells

FloatArray = npt.NDArray[np.float64]
KindArray = npt.NDArray[np.uint8]

MISSING_WORDS = frozenset({"", "na", "n/a", "null", "none"})
"""How a number column spells that it holds nothing, in any case."""

LONGEST_NUMBER = 400
"""A longer text is not read as a number."""


def objects(items: Sequence[object]) -> npt.NDArray[np.generic]:
    """A one-dimensional array of Python's objects, whatever they are; numpy would take lists in it apart."""
    return np.fromiter(items, dtype=object, count=len(items))


class Kind(IntEnum):
    """What a cell of a number column turned out to be."""

    NUMBER = 0
    MISSING = 1
    NAN = 2
    TEXT = 3


def read_numbers(cells: Cells, *, decimal_comma: bool = False) -> tuple[FloatArray, KindArray]:
    """The number in each cell (possibly infinite; 0 where there is none), and what the cell is.

    With `decimal_comma`, texts write 1.5 as 1,5; a text with a point is then no number, since nobody knows what it means.
    """
    values = cells.values
    kinds = np.zeros(values.shape[0], dtype=np.uint8)
    if values.dtype.kind in "fiub":
        with np.errstate(all="ignore"):
            found = np.array(values, dtype=np.float64)
            may_lack = np.isnan(np.sum(found))  # one cheap look: seldom is a cell NaN
        if may_lack:
            absent = np.isnan(found)
            kinds[absent] = Kind.NAN
            found[absent] = 0.0
    elif values.dtype.kind in "OUS":
        items = values.tolist()
        found = _read_objects([_with_point(item) for item in items] if decimal_comma else items, kinds)
    else:  # times, complex numbers, records: nothing that a number column understands
        found = np.zeros(values.shape[0])
        kinds[:] = Kind.TEXT
    if cells.missing is not None:
        found[cells.missing] = 0.0
        kinds[cells.missing] = Kind.MISSING
    return found, kinds


def read_texts(cells: Cells) -> list[str | None]:
    """Each cell as a text, None where it holds nothing. Whole numbers are spelt alike, whatever type holds them."""
    values = cells.values
    if values.dtype.kind in "fiub" and values.size:
        distinct, places = np.unique(values, return_inverse=True)
        spelt = [text_of(item) for item in distinct.tolist()]
        texts = [spelt[place] for place in places.reshape(-1).tolist()]
    elif values.dtype.kind in "OUSMm":
        items = values.tolist()
        texts = [item or None for item in items] if _are_texts(items) else [text_of(item) for item in items]
    else:
        texts = [None] * values.shape[0]
    if cells.missing is not None:
        texts = [None if absent else text for text, absent in zip(texts, cells.missing.tolist(), strict=True)]
    return texts


def read_names(cells: Cells) -> list[str | None]:
    """Each cell as a name of a person or a key: a text in which a writer of numbers wrote a float is spelt as that number is.

    So 12.0 in a CSV, whose column has gaps, is the 12 that it is in Parquet; 012, 1.10 and 1e5 stay what they are.
    """
    texts = read_texts(cells)
    if cells.values.dtype.kind in "OUS":
        distinct = {text for text in set(texts) if text is not None and ("." in text or "e+" in text)}
        floats = {text: spelt for text in distinct if (spelt := _float_as_number(text)) != text}
        if floats:
            return [None if text is None else floats.get(text, text) for text in texts]
    return texts


def _float_as_number(text: str) -> str:
    if len(text) <= LONGEST_NUMBER and _SPELT.fullmatch(text):
        number = float(text)
        if text in (repr(number), f"{number:.17g}"):
            return text_of(number) or text
    return text


def text_of(cell: object) -> str | None:
    """The text of one cell; None for an empty one and for what has no spelling of its own."""
    if isinstance(cell, np.generic):
        cell = cell.item()
    if isinstance(cell, bytes):
        cell = cell.decode("utf-8", errors="surrogateescape")  # bytes that differ stay different: they may be two persons
    if isinstance(cell, str):
        return str.__str__(cell) or None  # of a subclass, whose own methods may do anything
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, decimal.Decimal):
        return _decimal_text(cell)
    if isinstance(cell, float):
        if math.isnan(cell):
            return None
        cell = int(cell) if cell.is_integer() else cell
    if isinstance(cell, int):
        return str(int(cell)) if -(10**300) < cell < 10**300 else hex(cell)  # very long integers refuse str()
    return repr(cell) if isinstance(cell, float) or type(cell).__module__ == "datetime" else None


def _decimal_text(cell: decimal.Decimal) -> str | None:
    """All digits of it: a float would spell two long numbers alike."""
    if cell.is_nan():
        return None
    if cell.is_infinite():
        return repr(float(cell))
    if cell.adjusted() < 300 and cell == cell.to_integral_value():
        return str(int(cell))
    digits = len(cell.as_tuple().digits)
    # with the widest exponents: those of the usual context refuse numbers that a file may well hold
    wide = decimal.Context(prec=max(1, digits), Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX, traps=[])
    found = cell.normalize(wide)
    if found == cell:
        return str(found)
    digits_left = "".join(map(str, cell.as_tuple().digits)).rstrip("0")  # beyond every context
    return f"{'-' if cell.is_signed() else ''}{digits_left}E{cell.adjusted()}"


def _with_point(cell: object) -> object:
    """A cell whose number has a comma, with a point in its place; `.`, which is no number, for a text that has one already."""
    if isinstance(cell, bytes):
        cell = cell.decode("utf-8", errors="replace")
    if not isinstance(cell, str):
        return cell
    text = str.__str__(cell)
    return "." if "." in text else text.replace(",", ".", 1)


_SPELT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][-+]?[0-9]{1,3})?")


def plain_spelling(text: str, decimal: str = ".") -> str:
    """How a number would be spelt that a text writes with decimals or an exponent: 1.0 and 1e0 as 1; another text as it is."""
    if len(text) > LONGEST_NUMBER or not any(sign in text for sign in (decimal, "e", "E")):
        return text
    written = text if decimal == "." else str(_with_point(text))
    if not _SPELT.fullmatch(written):
        return text
    number = float(written)
    return text_of(number) or text if abs(number) < 2.0**53 else text


def _read_objects(items: list[object], kinds: KindArray) -> FloatArray:
    """The number in each cell; what each cell is goes to `kinds`."""
    found = _all_numbers(items)
    if found is not None:
        absent = np.isnan(found)
        kinds[absent] = Kind.NAN
        found[absent] = 0.0
        return found
    if _are_texts(items):  # each spelling is read once: columns with gaps repeat themselves
        known = {text: _number(text) for text in set(items)}
        read = [known[text] for text in items]
    else:
        read = [_number(cell) for cell in items]
    kinds[:] = [kind for _, kind in read]
    return np.array([number for number, _ in read], dtype=np.float64)


def _are_texts(items: list[object]) -> bool:
    """Whether all cells are texts, of no subclass, whose own methods may do anything."""
    return set(map(type, items)) == {str}


def _all_numbers(items: list[object]) -> FloatArray | None:
    """What `_number` says of each cell, several times faster, when all are texts that spell numbers; else None."""
    texts = [item for item in items if type(item) is str]
    if len(texts) < len(items) or max(map(len, texts), default=0) > LONGEST_NUMBER or "_" in "".join(texts) or "" in texts:
        return None  # an empty cell is known at once, any other text that is no number when it is met
    try:
        return np.array(list(map(float, texts)), dtype=np.float64)
    except ValueError:
        return None


def _number(cell: object) -> tuple[float, Kind]:
    if isinstance(cell, str):
        return _written_number(str.__str__(cell))
    if isinstance(cell, np.generic):
        cell = cell.item()
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):  # pandas' own None
        return 0.0, Kind.MISSING
    if isinstance(cell, bytes):
        return _written_number(cell.decode("utf-8", errors="replace"))
    if isinstance(cell, str):  # numpy's own
        return _written_number(cell)
    if isinstance(cell, numbers.Real | decimal.Decimal):
        number = _float_of(cell)
        return (0.0, Kind.NAN) if math.isnan(number) else (number, Kind.NUMBER)
    return 0.0, Kind.TEXT


def _written_number(text: str) -> tuple[float, Kind]:
    if len(text) > LONGEST_NUMBER:
        return 0.0, Kind.TEXT
    text = text.strip()
    if text.casefold() in MISSING_WORDS:
        return 0.0, Kind.MISSING
    try:
        number = float(text)
    except ValueError:
        return 0.0, Kind.TEXT
    if "_" in text:  # Python's own spelling, nobody else's
        return 0.0, Kind.TEXT
    return (0.0, Kind.NAN) if math.isnan(number) else (number, Kind.NUMBER)


def _float_of(number: numbers.Real | decimal.Decimal) -> float:
    try:
        return float(number)
    except OverflowError:  # a very long integer or fraction
        return -math.inf if isinstance(number, int | Fraction) and number < 0 else math.inf
    except Exception:  # noqa: BLE001 - a signalling NaN, or a type that only claims to be real: no cell may be told from another
        return math.nan
