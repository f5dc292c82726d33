"""Records of CSV by Arrow, where they are so plain that nothing can be misunderstood: faster, and otherwise the same.

Where records begin and end is decided before (dpkit/data/tables/csv_records.py). Empty records and those with quotes, carriage
returns, bytes that are no UTF-8 or another number of cells are left to the reader of single records, with all records of their
batch: Arrow sees one line a record. Both readers give the same cells for what both read, so which one reads changes nothing.
"""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Sequence
from functools import cache

FEWEST_LINES = 64
"""For fewer lines Arrow does not pay."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def plain_cells(lines: Sequence[bytes | None], delimiter: str, width: int, places: Sequence[int]) -> list[list[str]] | None:
    """The cells of each of these columns, as texts; None where a line is not plain, or Arrow is not there."""
    if len(lines) < FEWEST_LINES or len(delimiter.encode()) != 1 or not _is_installed():
        return None
    complete = [line for line in lines if line is not None]
    if len(complete) < len(lines):
        return None
    data = b"\n".join([*complete, b""])
    if b'"' in data or b"\r" in data or data.startswith(_BYTE_ORDER_MARK):
        return None
    if width > 1 and (data.startswith(b"\n") or b"\n\n" in data):  # to Arrow, an empty line has as many cells as any other
        return None
    return _parsed(data, delimiter, width, places, len(lines))


def _parsed(data: bytes, delimiter: str, width: int, places: Sequence[int], rows: int) -> list[list[str]] | None:
    import pyarrow as pa
    from pyarrow import csv

    names = [str(place) for place in range(width)]
    wanted = [names[place] for place in places]
    try:
        table = csv.read_csv(
            io.BytesIO(data),
            read_options=csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=names),
            parse_options=csv.ParseOptions(
                delimiter=delimiter, quote_char=False, escape_char=False, newlines_in_values=False, ignore_empty_lines=False
            ),
            convert_options=csv.ConvertOptions(
                check_utf8=True,
                column_types=dict.fromkeys(names, pa.string()),
                strings_can_be_null=False,
                include_columns=wanted,
            ),
        )
    except (pa.ArrowException, OSError):  # what it says may quote a line
        return None
    return [table.column(name).to_pylist() for name in wanted] if table.num_rows == rows else None


@cache
def _is_installed() -> bool:
    return importlib.util.find_spec("pyarrow") is not None
