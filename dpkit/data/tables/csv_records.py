"""Records of CSV by RFC 4180: where each one begins and ends, and its cells.

A cell that begins with a quote goes on to its closing quote, over delimiters, line ends and doubled quotes; a quote elsewhere
is an ordinary character. A record ends at a line feed outside quotes, or with its file; a carriage return before that belongs
to the line end, any other is an ordinary character. So whatever a cell holds, a writer that quotes and doubles makes one record
of it, and the records beside it are read alike. A record that is too long is read to its end and let go: it is one record.

A closing quote stands before a delimiter or a line end, or ends the file. A quote that opens a cell and finds no such answer
was written by a broken writer: its record makes no sense, and ends at the next line feed as if the quote were none. So it costs
the records after it only where the next quote that is not doubled looks like its answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import field
from functools import cache
from itertools import accumulate

from dpkit.data.tables.files import no_such_file
from dpkit.data.tables.text_files import Readable, TextForm
from dpkit.errors import SourceError, raise_alone
from dpkit.values import dataclass

LONGEST_RECORD = 1 << 20
"""The largest record in bytes, without the line feed. A longer one is not kept in memory: it is malformed, as a whole."""

CHUNK = 1 << 20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_BODY = rb'[^"]*+(?:""[^"]*+)*+'
_SETTLES = 4
"""How many bytes after a closing quote say whether it is one: no delimiter is longer in UTF-8."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordRun:
    """Some records of a file, one after another, from a place on; `data` is None for one record that is too long."""

    begins: int
    data: bytes | None = field(repr=False)
    quoted: list[bytes] | None = field(default=None, repr=False)
    """The records with their line ends, where there are quotes; otherwise every line feed ends one."""

    def records(self) -> list[bytes | None]:
        """Each record without its line end; None for one that is too long."""
        if self.data is None:
            return [None]
        if self.quoted is not None:
            lines = [record.removesuffix(b"\n") for record in self.quoted]
        else:
            lines = self.data.split(b"\n")
            if not lines[-1]:  # a line end closes a record, it does not open another
                lines.pop()
        longest, returns = max(map(len, lines), default=0), b"\r" in self.data
        if returns and self.quoted is None and longest <= LONGEST_RECORD and len(lines) > 1:
            lines = self.data.removesuffix(b"\n").removesuffix(b"\r").replace(b"\r\n", b"\n").split(b"\n")
            return list(lines)  # the same as one by one, in a fraction of the time
        found: list[bytes | None] = list(lines)
        if longest > LONGEST_RECORD:
            found = [None if len(line) > LONGEST_RECORD else line for line in lines]
        if returns:
            found = [None if line is None else line.removesuffix(b"\r") for line in found]
        return found

    def count(self) -> int:
        """How many records there are, without making them."""
        if self.data is None:
            return 1
        if self.quoted is not None:
            return len(self.quoted)
        return self.data.count(b"\n") + (self.data[-1:] not in (b"\n", b""))

    def first(self) -> bytes | None:
        """The first record, without looking at the others."""
        if self.data is None:
            return None
        record = self.data[: self.data.find(b"\n") + 1 or None] if self.quoted is None else self.quoted[0]
        quoted = None if self.quoted is None else [record]
        return RecordRun(begins=self.begins, data=record, quoted=quoted).records()[0]

    def first_from(self, place: int) -> int | None:
        """Where the first record of this run begins that does not begin before a place."""
        if place <= self.begins:
            return self.begins
        if self.data is None:
            return None
        if self.quoted is None:
            length = self.data.find(b"\n", place - 1 - self.begins) + 1
        else:
            length = next((end for end in accumulate(map(len, self.quoted)) if self.begins + end >= place), 0)
        return self.begins + length if 0 < length < len(self.data) else None


def runs_of(path: str, form: TextForm, start: int = 0, stop: int | None = None) -> Iterator[RecordRun]:
    """Every record of a file that begins in a range of bytes; at `start` and `stop` a record must begin."""
    try:
        with closing(form.open(path)) as file:
            if start == 0 and file.read(len(BYTE_ORDER_MARK)) == BYTE_ORDER_MARK:
                start = len(BYTE_ORDER_MARK)
            yield from _runs(file, form.delimiter, start, stop)
    except FileNotFoundError:
        raise_alone(no_such_file(path))
    except OSError as error:
        raise_alone(SourceError(source=path, reason=f"{error.strerror or 'it cannot be read'}."))


def beginnings(path: str, form: TextForm, size: int) -> list[int]:
    """Places at which records begin, the first one 0, the others `size` bytes apart or as little more as records allow.

    Only a reading from the start of a file knows whether a line end is within quotes, so the whole file is read.
    """
    found: list[int] = []
    for run in runs_of(path, form):
        found = found or [run.begins]
        while (place := run.first_from(found[-1] + size)) is not None:
            found.append(place)
    return [0, *found[1:]]  # a byte order mark belongs to the first record


def split(record: bytes, delimiter: str) -> list[str] | None:
    """The cells of one record; None where its quotes do not make sense."""
    # bytes that are no UTF-8 stay what they are: two persons whose names are spelt in Latin-1 are two persons
    text = record.decode("utf-8", errors="surrogateescape")
    if '"' not in text:
        return text.split(delimiter)
    cells = []
    for quoted, plain in _cell_pattern(delimiter).findall(text):
        if plain.startswith('"'):
            return None
        cells.append(quoted.replace('""', '"') if quoted else plain)
    return cells


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cells:
    """What the cells of records look like, as a pattern of bytes. Every match ends before a line feed or with the bytes."""

    pattern: re.Pattern[bytes]
    with_line_end: re.Pattern[bytes]

    def end_of_record(self, data: bytes) -> int | None:
        """Where the record that begins these bytes ends, with its line end; None where they end first."""
        match = self.pattern.match(data)
        assert match is not None, "the pattern also matches nothing"
        return match.end() + 1 if match.end() < len(data) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grammar:
    """What records look like: where more bytes may follow, which can leave a cell undecided, and at the end of a file."""

    going_on: _Cells
    at_end: _Cells
    decided_cells: re.Pattern[bytes]
    undecided_cell: re.Pattern[bytes]
    answer: re.Pattern[bytes]

    def records(self, data: bytes, *, ended: bool) -> list[bytes]:
        """The records at the beginning of these bytes whose ends they decide, each with its line end."""
        cells = self.at_end if ended else self.going_on
        found = [record for record in cells.with_line_end.findall(data) if record]
        if not ended and cells.end_of_record(found[-1]) is None:
            found.pop()
        return found

    def end_of_record(self, data: bytes, *, ended: bool) -> int | None:
        """Where the record that begins these bytes ends, with its line end; None where they do not decide it."""
        if ended:
            return self.at_end.end_of_record(data) or len(data)
        return self.going_on.end_of_record(data)


@cache
def _grammar(delimiter: str) -> _Grammar:
    between = re.escape(delimiter.encode())
    plain = rb"(?:(?!" + between + rb")[^\n])*+" if len(delimiter.encode()) > 1 else rb"[^\n" + between + rb"]*+"
    closed = rb'"' + _BODY + rb'"(?:(?=' + between + rb")|\r?(?=\n))"
    closed_at_end = rb'"' + _BODY + rb'"(?:(?=' + between + rb")|\r?(?=\n|\Z))"
    undecided = rb'"' + _BODY + rb'(?:"[\s\S]{0,%d})?+\Z' % (_SETTLES - 1)
    return _Grammar(
        going_on=_cells(rb"(?:" + closed + rb"|" + undecided + rb"|" + plain + rb")", between),
        at_end=_cells(rb"(?:" + closed_at_end + rb"|" + plain + rb")", between),
        decided_cells=re.compile(rb"(?:(?:" + closed + rb"|(?!" + undecided + rb")" + plain + rb")" + between + rb")*+"),
        undecided_cell=re.compile(undecided),
        answer=re.compile(rb'"(?:(?=' + between + rb")|\r?(?=\n|\Z))"),
    )


def _cells(cell: bytes, between: bytes) -> _Cells:
    several = cell + rb"(?:" + between + cell + rb")*+"
    return _Cells(pattern=re.compile(several), with_line_end=re.compile(several + rb"(?:\n|\Z)"))


@cache
def _cell_pattern(delimiter: str) -> re.Pattern[str]:
    between = re.escape(delimiter)
    body = _BODY.decode()
    return re.compile(rf'(?:\A|{between})(?:"({body})"(?={between}|\Z)|([^{between}]*+))')


def _runs(file: Readable, delimiter: str, start: int, stop: int | None) -> Iterator[RecordRun]:
    file.seek(start)
    data, begins, ended = b"", start, False  # what is read and not yet told, and its place: a record begins there
    while not ended and (stop is None or begins < stop):
        chunk = file.read(CHUNK)
        ended = not chunk
        data += chunk
        if b'"' not in data:  # every line feed ends a record
            run = RecordRun(begins=begins, data=data if ended else data[: data.rfind(b"\n") + 1])
        else:
            quoted = _grammar(delimiter).records(data, ended=ended)
            run = RecordRun(begins=begins, data=data[: sum(map(len, quoted))], quoted=quoted)
        length = len(run.data or b"")
        if length:
            yield run if stop is None or begins + length <= stop else _shortened(run, stop)
        begins += length
        data = data[length:]
        if len(data) > LONGEST_RECORD and (stop is None or begins < stop):
            yield RecordRun(begins=begins, data=None)
            begins = _after_long_record(file, data, _grammar(delimiter))
            file.seek(begins)
            data = b""


def _shortened(run: RecordRun, stop: int) -> RecordRun:
    """The records of a run up to a place."""
    assert run.data is not None, "a record that is too long is not shortened"
    data = run.data[: stop - run.begins]
    if run.quoted is None:
        return RecordRun(begins=run.begins, data=data)
    ends = accumulate(map(len, run.quoted))
    kept = [record for record, end in zip(run.quoted, ends, strict=True) if end <= len(data)]
    return RecordRun(begins=run.begins, data=data, quoted=kept)


def _after_long_record(file: Readable, data: bytes, grammar: _Grammar) -> int:
    """Where the next record begins. These are the first bytes of a record, up to where the file was read; they do not end it.

    Cells are let go as they are decided. A dot stands for the beginning of one that goes on and can no longer be quoted.
    """
    while True:
        match = grammar.decided_cells.match(data)
        assert match is not None, "the pattern also matches nothing"
        cell = data[match.end() :]
        if grammar.undecided_cell.match(cell):
            opened = file.tell() - len(cell)
            closed = _closed(file, opened, grammar)
            file.seek(opened + 1 if closed is None else closed)
            data = b"."
        else:
            data = b"." + cell[-_SETTLES:] if cell else b""  # the last bytes may begin a delimiter
        chunk = file.read(CHUNK)
        data += chunk
        end = grammar.end_of_record(data, ended=not chunk)
        if end is not None:
            return file.tell() - len(data) + end


def _closed(file: Readable, opened: int, grammar: _Grammar) -> int | None:
    """The place after the quote that closes the one at `opened`; None where none does."""
    body = re.compile(_BODY)
    file.seek(opened + 1)
    data = b""
    while True:
        chunk = file.read(CHUNK)
        data += chunk
        match = body.match(data)
        assert match is not None, "the pattern also matches nothing"
        data = data[match.end() :]  # nothing, or a quote that is not doubled by what is read so far
        if len(data) > _SETTLES or not chunk:
            return file.tell() - len(data) + 1 if grammar.answer.match(data) else None
