"""Records of CSV: what a right writer wrote comes back, whatever the cells hold; what a broken one wrote is bounded."""

import csv
import io
import pickle
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpkit.data.columns.kinds import Category, Number
from dpkit.data.columns.schema import Schema
from dpkit.data.tables import csv as csv_lines
from dpkit.data.tables import csv_records
from dpkit.data.tables.open_source import open_source, open_table
from dpkit.data.tables.text_files import TextForm
from dpkit.privacy.neighbours import Neighbours
from dpkit.testing.strategies import examples

HOSTILE = "\"\r\n,;\t\x00\ufeff\u2028\x85\x0b\x1c\\'a1 ä\U0001f600"
CELLS = st.text(alphabet=HOSTILE, max_size=6) | st.sampled_from(["", '"', '""', "\r\n", "\n" * 9, '\n"', '",', "NA", "1"])
ROWS = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=6)
)
QUOTING = [csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]
LIMITS = {"chunk": st.integers(1, 40), "longest": st.integers(8, 60)}
MANY = examples(150)


def written(rows, *, delimiter=",", quoting=csv.QUOTE_MINIMAL, end="\r\n", is_closed=True):
    """As a right writer writes them: cells with a carriage return or a line feed are quoted, whatever ends the lines."""
    lines = []
    for row in rows:
        text = io.StringIO()
        csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator="\r\n").writerow(row)
        lines.append(text.getvalue().removesuffix("\r\n"))
    return (end.join(lines) + (end if is_closed else "")).encode("utf-8")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("csv") / "records.csv"


@contextmanager
def limits(chunk=csv_records.CHUNK, longest=csv_records.LONGEST_RECORD):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_records, "CHUNK", chunk)
        patch.setattr(csv_records, "LONGEST_RECORD", longest)
        patch.setattr(csv_lines, "FEWEST_LINES", 1)
        yield


def rows_of(table, *, rows=3):
    """Every row as a list of cells, None for a row of missing ones."""
    found = []
    for batch in table.batches(table.names, rows):
        missing = batch.cells[table.names[0]].missing
        columns = [batch.cells[name].values.tolist() for name in table.names]
        for number, row in enumerate(zip(*columns, strict=True)):
            found.append(None if missing is not None and missing[number] else list(row))
    return found


@given(
    rows=ROWS,
    delimiter=st.sampled_from(",;\t|"),
    quoting=st.sampled_from(QUOTING),
    end=st.sampled_from(["\n", "\r\n"]),
    is_closed=st.booleans(),
    marked=st.booleans(),
    chunk=LIMITS["chunk"],
    size=st.integers(1, 40),
)
@MANY
def test_what_a_right_writer_wrote_comes_back(file, rows, delimiter, quoting, end, is_closed, marked, chunk, size):
    names = [f"column {number}\n" for number in range(len(rows[0]))]
    text = written([names, *rows], delimiter=delimiter, quoting=quoting, end=end, is_closed=is_closed or rows[-1] == [""])
    file.write_bytes((b"\xef\xbb\xbf" if marked else b"") + text)
    peer = list(csv.reader(io.StringIO(text.decode(), newline=""), delimiter=delimiter))
    assert peer == [names, *rows]
    table = open_table(file, delimiter=delimiter)
    assert table.names == tuple(names)
    with limits(chunk=chunk):
        assert rows_of(table) == rows
        pieces = pickle.loads(pickle.dumps(table.pieces(size)))
        assert [row for piece in pieces for row in rows_of(piece)] == rows
        assert sum(batch.rows for batch in table.batches((), 2)) == len(rows)


def reference(data, delimiter, longest):
    """One record after another by a machine of four states. None for one that makes no sense or is too long."""
    records, at = [], 0
    while at < len(data):
        start, cells, makes_sense = at, [], True
        while True:
            cell, end = _quoted_cell(data, at, delimiter) if data[at : at + 1] == '"' else (None, at)
            if cell is None:
                makes_sense &= data[at : at + 1] != '"'
                end = at
                while end < len(data) and data[end] not in (delimiter, "\n"):
                    end += 1
                cell = data[at:end].removesuffix("\r") if data[end : end + 1] != delimiter else data[at:end]
            cells.append(cell)
            at = end
            if data[at : at + 1] != delimiter:
                break
            at += 1
        length = len(data[start:at].encode("utf-8", "surrogateescape"))
        records.append(cells if makes_sense and length <= longest else None)
        at += 1
    return records


def _quoted_cell(data, at, delimiter):
    """The cell and its end, before a delimiter or line feed; None where its quote is not answered."""
    cell, place = "", at + 1
    while place < len(data):
        if data[place] != '"':
            cell, place = cell + data[place], place + 1
        elif data[place + 1 : place + 2] == '"':
            cell, place = cell + '"', place + 2
        else:
            after = data[place + 1 :]
            if after[:1] in ("", delimiter, "\n"):
                return cell, place + 1
            return (cell, place + 2) if after[:1] == "\r" and after[1:2] in ("", "\n") else (None, at)
    return None, at


@given(
    data=st.text(alphabet='ab"",\n\r¦', max_size=40).map(str.encode)
    | st.lists(st.sampled_from([b'"', b"\n", b",", b"\xc2", b"\xa6", b"\r", b"x", b'""', b"\xff"]), max_size=40).map(b"".join),
    delimiter=st.sampled_from(",¦"),
    size=st.integers(1, 20),
    chunk=st.integers(1, 12),
    longest=st.integers(1, 14),
)
@examples(500)
def test_whatever_bytes_there_are_every_reading_gives_the_same_records(file, data, delimiter, size, chunk, longest):
    file.write_bytes(data)
    text = data.decode("utf-8", "surrogateescape")

    def read(start=0, stop=None):
        runs = list(csv_records.runs_of(str(file), TextForm(delimiter=delimiter), start, stop))
        assert all(run.count() == len(run.records()) for run in runs)
        found = [record for run in runs for record in run.records()]
        return [None if record is None else csv_records.split(record, delimiter) for record in found]

    with limits(chunk=chunk, longest=longest):
        expected = reference(text, delimiter, longest)
        assert read() == expected
        places = csv_records.beginnings(str(file), TextForm(delimiter=delimiter), size)
        assert [record for start, stop in pairwise([*places, None]) for record in read(start, stop)] == expected
        assert all(later - earlier >= size for earlier, later in pairwise(places))
    with limits(longest=longest):
        assert read() == expected


SCHEMA = Schema(columns=(Number(name="x", lower=0, upper=1, missing=1), Category(name="t", levels=("a",), unknown="drop")))


@given(
    rows=st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1, max_size=6),
    other=st.lists(st.text(alphabet=HOSTILE, max_size=30), min_size=2, max_size=2),
    place=st.integers(0, 5),
    quoting=st.sampled_from(QUOTING),
    end=st.sampled_from(["\n", "\r\n"]),
    size=st.integers(1, 99),
    **LIMITS,
)
@MANY
def test_a_person_s_cells_change_that_person_s_row_alone(file, rows, other, place, quoting, end, size, chunk, longest):
    place %= len(rows)

    def codes(rows):
        file.write_bytes(written([["x", "t"], *rows], quoting=quoting, end=end))
        source = open_source(file, SCHEMA, neighbours=Neighbours.REPLACE_ONE)
        with limits(chunk=chunk, longest=longest):
            found = np.concatenate([np.zeros((0, 2)), *(block for part in source.parts(size) for block in part.blocks((), 2))])
            assert source.public_rows() == len(found) == len(rows)
        return found

    before, after, without = (
        codes(rows),
        codes([*rows[:place], other, *rows[place + 1 :]]),
        codes(rows[:place] + rows[place + 1 :]),
    )
    assert np.array_equal(np.delete(before, place, axis=0), without, equal_nan=True)
    assert np.array_equal(np.delete(after, place, axis=0), without, equal_nan=True)


@pytest.mark.parametrize("ends", [1, 1000, 2_000_000])
def test_line_ends_of_a_cell_make_no_rows_of_their_own(file, ends):
    """Of a small cell, of one that fills a chunk, and of one that is too long: 40 stands for what is missing."""
    schema = Schema(columns=(Number(name="x", lower=0, upper=100, missing=40),))
    file.write_bytes(written([["x", "t"], ["1", "a"], ["2", '"' + "\r\n" * ends + "7,7\n"], ["3", "c"]], end="\n"))
    source = open_source(file, schema, neighbours=Neighbours.REPLACE_ONE)
    found = [row[0] for block in source.blocks((), 3) for row in block.tolist()]
    assert found == [1.0, 2.0 if ends < 2_000_000 else 40.0, 3.0]
    assert source.public_rows() == 3
    assert sum(part.count() for part in source.parts(7)) == 3


def test_a_carriage_return_that_no_writer_quoted_stays_in_its_cell(file):
    """Python's own writer, up to 3.12, quotes only the characters that end its lines."""
    file.write_bytes(b'x,t\n1,a\rb\n2,"q,q"\n\r3,"q"\n4\r,c\n')
    assert rows_of(open_table(file)) == [["1", "a\rb"], ["2", "q,q"], ["\r3", "q"], ["4\r", "c"]]


STRAY = {
    "inside a cell": ('3,5" pipe', ["3", '5" pipe']),
    "two inside a cell": ('3,a "b" c', ["3", 'a "b" c']),
    "at the start of a cell": ('3,"unclosed', None),
    "closed too early": ('3,"Rock" Johnson', None),
    "before a space": ('3,"a" ', None),
    "with a backslash": ('3,"a \\"b\\" c"', None),
    "alone": ('3,"', None),
}


@pytest.mark.parametrize(("line", "cells"), STRAY.values(), ids=STRAY.keys())
@pytest.mark.parametrize("quoted", [False, True])
def test_a_stray_quote_costs_its_own_record(file, line, cells, quoted):
    """Whether no record after it has quotes, or all have."""
    rows = [[str(number), "one, two" if quoted else "one"] for number in range(50)]
    lines = written(rows).decode().splitlines()
    expected = [*rows[:3], cells, *rows[4:]]
    lines[3] = line
    file.write_text("\n".join(["x,t", *lines, ""]), encoding="utf-8")
    with limits(longest=40):
        assert rows_of(open_table(file)) == expected
    assert rows_of(open_table(file)) == expected


def test_a_stray_quote_swallows_what_looks_like_its_cell_and_no_more(file):
    """The next quote is one that stands before a delimiter: nobody can tell it from a closing one."""
    file.write_text('x,t\n1,"a\n2,b\n3",c\n4,d\n', encoding="utf-8")
    assert rows_of(open_table(file)) == [None, ["4", "d"]]


@given(st.text(alphabet='ab"\n\r,', max_size=40), st.integers(1, 4), st.integers(1, 12))
@examples(200)
def test_counting_rows_gives_the_batches_of_a_reading(file, text, rows, chunk):
    """No cell is made where no column is asked for: the batches have as many rows as those that have cells."""
    file.write_bytes(b"x,y\n" + text.encode())
    with limits(chunk=chunk):
        table = open_table(file)
        assert [batch.rows for batch in table.batches((), rows)] == [batch.rows for batch in table.batches(("x",), rows)]


@given(st.lists(st.sampled_from([b"a", b"\r", b"\n", b'"', b","]), min_size=1, max_size=12).map(b"".join))
@settings(deadline=None)
def test_the_first_record_and_carriage_returns_are_those_of_a_reading_one_by_one(data):
    lines = data.split(b"\n")
    lines = lines[:-1] if not lines[-1] else lines
    run = csv_records.RecordRun(begins=0, data=data)
    assert run.records() == [line.removesuffix(b"\r") for line in lines]
    assert run.first() == run.records()[0]
    ends = [line + b"\n" for line in lines]
    quoted = csv_records.RecordRun(begins=0, data=b"".join(ends), quoted=ends)
    assert quoted.first() == quoted.records()[0]
