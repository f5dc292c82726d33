"""Text files in other clothes: compressed, encoded, quoted or delimited otherwise, they hold the same rows."""

import csv
import gzip
import io
import pickle

import pytest

from dpkit.data.tables.csv import CsvTable
from dpkit.data.tables.open_source import open_table
from dpkit.data.tables.text_files import TextForm
from dpkit.errors import SourceError

ROWS = [[str(n), f"Zoë {n}", ("it's", 'say "x"', "a,b;c", "two\nlines", "", "ÿ")[n % 6]] for n in range(300)]
NAMES = ["id", "name", "note"]


def written(*, delimiter=",", quote='"', encoding="utf-8", quoting=csv.QUOTE_MINIMAL, rows=ROWS):
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, quotechar=quote, quoting=quoting, lineterminator="\n")
    writer.writerows([NAMES, *rows])
    return text.getvalue().encode(encoding)


def cells(table, rows=64):
    found = {name: [] for name in NAMES}
    for batch in table.batches(NAMES, rows):
        for name in NAMES:
            found[name] += batch.cells[name].values.tolist()
    return [list(row) for row in zip(*found.values(), strict=True)]


def compressed(path, content):
    if path.suffix == ".gz":
        half = len(content) // 2
        path.write_bytes(gzip.compress(content[:half]) + gzip.compress(content[half:]))  # in two members
    else:
        pyarrow = pytest.importorskip("pyarrow")
        with pyarrow.output_stream(str(path), compression="zstd") as file:
            file.write(content)


@pytest.mark.parametrize("ending", [".csv.gz", ".tsv.gz", ".csv.zst", ".CSV.GZ"])
def test_compressed_files_hold_the_same_rows(tmp_path, ending):
    path = tmp_path / f"rows{ending.lower()}"
    compressed(path, written(delimiter="\t" if "tsv" in ending else ","))
    if ending.isupper():
        path = path.rename(tmp_path / f"rows{ending}")
    table = open_table(path)
    assert cells(table) == ROWS
    (piece,) = table.pieces(100)
    assert cells(pickle.loads(pickle.dumps(piece))) == ROWS


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-8-sig", "utf-32"])
def test_other_encodings_hold_the_same_rows(tmp_path, encoding):
    path = tmp_path / "rows.csv"
    path.write_bytes(written(encoding=encoding))
    assert cells(open_table(path, encoding=encoding)) == ROWS


@pytest.mark.parametrize(("delimiter", "quote"), [(";", "'"), ("|", "~"), (",", "'"), ("\t", '"')])
def test_other_quotes_and_delimiters_hold_the_same_rows(tmp_path, delimiter, quote):
    path = tmp_path / "rows.csv"
    path.write_bytes(written(delimiter=delimiter, quote=quote))
    assert cells(open_table(path, delimiter=delimiter, quote=quote)) == ROWS


@pytest.mark.parametrize("many", [1, 100])
def test_without_quotes_every_sign_is_itself(tmp_path, many):
    path = tmp_path / "rows.csv"
    path.write_text("id,name,note\n" + "1,\"a,'b'\n" * many, encoding="utf-8")
    assert cells(open_table(path, quote="none")) == [["1", '"a', "'b'"]] * many


def test_everything_at_once(tmp_path):
    path = tmp_path / "rows.csv.gz"
    compressed(path, written(delimiter=";", quote="'", encoding="cp1252"))
    assert cells(open_table([path], delimiter=";", quote="'", encoding="cp1252"), rows=7) == ROWS


def test_bytes_that_are_no_text_raise_nothing(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(written(encoding="utf-16", rows=ROWS[:2]) + b"\x00\xd8\xff")
    assert cells(open_table(path, encoding="utf-16"))[:2] == ROWS[:2]


@pytest.mark.parametrize("ending", [".csv.gz", ".csv.zst"])
def test_a_broken_file_is_a_message_without_its_content(tmp_path, ending):
    path = tmp_path / f"rows{ending}"
    compressed(path, written())
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(SourceError, match=r"not readable|no header") as caught:
        cells(open_table(path))
    assert caught.value.__context__ is None
    path.write_bytes(written())
    with pytest.raises(SourceError):
        open_table(path)
    path.unlink()
    with pytest.raises(SourceError, match="no such file"):
        open_table(path)


@pytest.mark.parametrize(
    "form",
    [
        {"quote": ""},
        {"quote": "''"},
        {"quote": "é"},
        {"quote": ";", "delimiter": ";"},
        {"encoding": "klingon"},
        {"encoding": "base64"},
        {"encoding": "a\0b"},
        {"delimiter": ""},
        {"delimiter": '"'},
    ],
)
def test_what_is_no_form_is_refused(form):
    with pytest.raises(SourceError):
        TextForm(**form)


def test_a_very_long_record_is_one_row_of_missing_cells(tmp_path):
    path = tmp_path / "rows.csv.gz"
    long = [["1", "x" * (3 << 20), "y"], ["2", "b", "c"]]
    compressed(path, written(rows=long))
    (batch,) = CsvTable([str(path)]).batches(NAMES, 10)
    assert batch.cells["id"].missing.tolist() == [True, False]
    assert batch.cells["id"].values.tolist()[1] == "2"
