"""The finder finds: a reader of CSV that lets one person's cells move more than that person's row is caught by neighbours."""

import csv
from pathlib import Path

import numpy as np
import pytest

from dpkit.data.columns.kinds import Number
from dpkit.data.columns.schema import Schema
from dpkit.data.tables import csv as csv_lines
from dpkit.data.tables import csv_records
from dpkit.data.tables.csv_records import RecordRun
from dpkit.data.tables.open_source import open_source
from dpkit.privacy.neighbours import Neighbours

SCHEMA = Schema(columns=(Number(name="x", lower=0, upper=40, missing=40),))
OTHERS = [[str(number), "ab"] for number in range(9)]
LONG = 60
HOSTILE = ["", '"', "\n", "a\r\nb" * 9, "\rb", 'a,"\n' * 4, "\n" * LONG, "1,2\n" * LONG + '"', "a" * LONG]


def assert_one_person_moves_one_row(path):
    """Whatever that person's cell holds: rows, and the sum with 40 for what is missing, of the whole and of its parts."""
    for cell in HOSTILE:
        for place in (0, 4, 9):
            rows = [*OTHERS[:place], ["7", cell], *OTHERS[place:]]
            with path.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([["x", "t"], *rows])
            source = open_source(path, SCHEMA, neighbours=Neighbours.REPLACE_ONE)
            for size in (1, 30, 1 << 20):
                parts = source.parts(size)
                codes = np.concatenate([block for part in parts for block in part.blocks((), 4)])
                assert len(codes) == source.public_rows() == sum(part.count() for part in parts) == 10
                assert 0 <= np.sum(codes) - sum(range(9)) <= 40


@pytest.fixture(autouse=True)
def _short_records(monkeypatch):
    monkeypatch.setattr(csv_records, "LONGEST_RECORD", LONG)
    monkeypatch.setattr(csv_records, "CHUNK", 32)
    yield
    monkeypatch.undo()
    csv_records._grammar.cache_clear()


def every_line_feed_ends_a_record(monkeypatch):
    monkeypatch.setattr(csv_records, "_BODY", rb'[^"\n]*+(?:""[^"\n]*+)*+')
    csv_records._grammar.cache_clear()


def a_long_record_ends_at_its_line_feed(monkeypatch):
    def after(file, data, grammar):
        file.seek(file.tell() - len(data))
        while file.read(1) not in (b"\n", b""):
            pass
        return file.tell()

    monkeypatch.setattr(csv_records, "_after_long_record", after)


def a_long_record_is_no_row(monkeypatch):
    whole = RecordRun.records
    monkeypatch.setattr(RecordRun, "records", lambda run: [record for record in whole(run) if record is not None])


def a_carriage_return_ends_a_record(monkeypatch):
    whole = RecordRun.records

    def torn(run):
        return [line for record in whole(run) for line in (record.split(b"\r") if record is not None else [None])]

    monkeypatch.setattr(RecordRun, "records", torn)


def parts_begin_after_a_line_feed(monkeypatch):
    def beginnings(path, delimiter, size):
        data, found = Path(path).read_bytes(), [0]
        while (place := data.find(b"\n", found[-1] + size - 1) + 1) and place < len(data):
            found.append(place)
        return found

    monkeypatch.setattr(csv_lines, "beginnings", beginnings)


def an_unanswered_quote_is_looked_for_in_one_chunk(monkeypatch):
    monkeypatch.setattr(csv_records, "_closed", lambda file, opened, grammar: None)


MUTANTS = [
    every_line_feed_ends_a_record,
    a_long_record_ends_at_its_line_feed,
    a_long_record_is_no_row,
    a_carriage_return_ends_a_record,
    parts_begin_after_a_line_feed,
    an_unanswered_quote_is_looked_for_in_one_chunk,
]


def test_the_reader_itself_is_right(tmp_path):
    assert_one_person_moves_one_row(tmp_path / "people.csv")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__.replace("_", " "))
def test_the_law_catches_the_mutant(mutant, tmp_path, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        assert_one_person_moves_one_row(tmp_path / "people.csv")
