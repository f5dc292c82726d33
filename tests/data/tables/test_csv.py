"""Plain lines by Arrow: cell by cell what the reader of single lines says, or nothing at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpkit.data.tables import csv as csv_lines
from dpkit.data.tables import csv_records
from dpkit.data.tables.csv import plain_cells
from dpkit.data.tables.open_source import open_table
from dpkit.testing.strategies import examples

CELL = st.text(alphabet="ab01.-+eEnN \t\x00\x0b\x0c\x1c\x85\u2028\u00a0\ufeff\u00fc\U0001f600'\\#", max_size=5).map(str.encode)
ODD = st.binary(max_size=8).filter(lambda cell: b"\n" not in cell) | st.sampled_from(
    [b'"', b'"a,b"', b"\r", b"", b"\xff", b","]
)


@pytest.fixture(autouse=True, scope="module")
def few():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_lines, "FEWEST_LINES", 1)
        yield


def by_line(lines, delimiter, width, places):
    records = [csv_records.split(line, delimiter) for line in lines]
    return (
        [[record[place] for record in records] for place in places]
        if all(record is not None and len(record) == width for record in records)
        else None
    )


def compare(lines, delimiter, width, places):
    found = plain_cells(lines, delimiter, width, places)
    expected = by_line(lines, delimiter, width, places)
    if found is not None:
        for texts, _ in found:
            assert len(set(texts)) == len(texts)
        found = [[texts[place] for place in order.tolist()] for texts, order in found]
        assert found == expected
    return found, expected


@given(
    st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(CELL, min_size=width, max_size=width), min_size=1, max_size=6))
)
@examples(300)
def test_plain_lines_are_read_alike(records):
    lines = [b",".join(record) for record in records]
    width = len(records[0])
    found, expected = compare(lines, ",", width, list(range(width))[::-1])
    assert expected is not None
    assert found is not None or lines[0].startswith(b"\xef\xbb\xbf")


@given(
    st.integers(1, 3), st.lists(st.lists(ODD | CELL, min_size=1, max_size=4), min_size=1, max_size=5), st.sampled_from(",;\t|")
)
@examples(500)
def test_odd_lines_are_read_alike_or_left_to_the_other_reader(width, records, delimiter):
    lines = [delimiter.encode().join(record) for record in records]
    compare(lines, delimiter, width, [0])
    compare(lines, delimiter, width, list(range(width)))


def test_a_line_that_is_too_long_and_a_long_delimiter_are_left_to_the_other_reader():
    assert plain_cells([b"a", None], ",", 1, [0]) is None
    assert plain_cells(["aäb".encode()], "ä", 2, [0]) is None


def test_one_odd_line_changes_no_other(tmp_path, monkeypatch):
    lines = [f"{number},x{number}" for number in range(300)]
    lines[100] = '5,"a,b"'
    lines[200] = "1,2,3"
    (tmp_path / "a.csv").write_text("\n".join(["n,t", *lines, ""]))

    def cells():
        return [
            (batch.cells["t"].values.tolist(), None if (mask := batch.cells["t"].missing) is None else mask.tolist())
            for batch in open_table(tmp_path / "a.csv").batches(["t"], 75)
        ]

    with_arrow = cells()
    used = []
    original = csv_lines.plain_cells
    monkeypatch.setattr(csv_lines, "plain_cells", lambda *arguments: used.append(original(*arguments)) or used[-1])
    assert cells() == with_arrow
    assert [found is not None for found in used] == [True, False, False, True]
    monkeypatch.setattr(csv_lines, "plain_cells", lambda *arguments: None)
    assert cells() == with_arrow
