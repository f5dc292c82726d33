"""A table of a database, as dpkit reads tables: cells as texts, by Arrow batches, the same rows in the same order each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

import dpkit


class DatabaseTable:
    """A table or view. `opened` gives a cursor, `text` spells a column, `orders` are columns that say where rows lie.

    `unopened` is said where `probe`, which any such database answers, is not answered.
    """

    def __init__(
        self,
        *,
        source: str,
        table: str,
        opened: Callable[[], AbstractContextManager[Any]],
        text: Callable[[str], str],
        orders: Sequence[str],
        unopened: str,
        probe: str = "SELECT 1",
    ) -> None:
        self._source = source
        self._table = ".".join(map(_quoted, table.split(".")))
        self._opened = opened
        self._text = text
        with _errors_alone(source, unopened), opened() as cursor:
            _reader(cursor, probe).read_all()
            with _errors_alone(source, f"it has no table {table!r} that can be read"):
                found = _reader(cursor, f"SELECT * FROM {self._table} LIMIT 0")
                self.names: tuple[str, ...] = tuple(found.schema.names)
        if len(set(self.names)) != len(self.names):
            raise dpkit.SourceError(source=source, reason="two columns of the table have the same name.")
        self._order = next(order for order in orders if not order or self._has_place(order))

    def batches(self, names: Sequence[str], rows: int) -> Iterator[dpkit.Batch]:
        """Every row, at most `rows` at a time."""
        shown = [f"COALESCE({self._text(_quoted(name))}, '') AS c{place}" for place, name in enumerate(names)] or ["'' AS c0"]
        order = f" ORDER BY {self._order}" if self._order else ""
        with _errors_alone(self._source, "the table cannot be read"), self._opened() as cursor:
            for batch in _reader(cursor, f"SELECT {', '.join(shown)} FROM {self._table}{order}"):
                for start in range(0, batch.num_rows, rows):
                    part = batch.slice(start, rows)
                    cells = {name: _cells(part.column(place)) for place, name in enumerate(names)}
                    yield dpkit.Batch(rows=part.num_rows, cells=cells)

    def _has_place(self, order: str) -> bool:
        """Whether rows of the table say where they lie; those of a view do not."""
        if order in self.names:
            return False
        try:
            with self._opened() as cursor:
                _reader(cursor, f"SELECT {order} FROM {self._table} LIMIT 0").read_all()
        except Exception:  # noqa: BLE001 - whatever a driver raises means no
            return False
        return True


class FileDatabaseTable(DatabaseTable):
    """A table of a database that is one file: a ledger notices when the file changes."""

    def __init__(self, *, file: str, **more: Any) -> None:
        self.paths = (file,)
        super().__init__(source=file, **more)


def _reader(cursor: Any, query: str) -> Any:
    """The answer as Arrow batches: from a cursor of ADBC, or a connection of DuckDB, whose versions name it differently."""
    if hasattr(cursor, "sql"):
        found = cursor.sql(query)
        return found.to_arrow_reader() if hasattr(found, "to_arrow_reader") else found.fetch_arrow_reader()
    cursor.execute(query)
    return cursor.fetch_record_batch()


def _cells(column: Any) -> dpkit.Cells:
    """Texts as Python's objects. One that is no UTF-8 is its bytes; nothing is told apart by an error."""
    try:
        items = column.to_pylist()
    except Exception:  # noqa: BLE001 - as above
        items = [_item(value) for value in column]
    return dpkit.Cells(values=np.fromiter(items, dtype=object, count=len(items)))


def _item(value: Any) -> object:
    try:
        return value.as_py()
    except Exception:  # noqa: BLE001 - as above
        return ...


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def _errors_alone(source: str, reason: str) -> Iterator[None]:
    """What a driver says may quote a row or an address: nothing of it is passed on."""
    try:
        yield
        return
    except (dpkit.DpkitError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException:  # noqa: BLE001 - as above
        pass
    raise dpkit.SourceError(source=source, reason=reason if reason.endswith("?") else f"{reason}.")
