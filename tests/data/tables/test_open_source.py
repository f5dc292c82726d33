"""Every kind of table gives the same codes, by columns and batches; what is refused is public and shows no cell."""

import builtins
import subprocess
import sys

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from pyarrow import parquet

from dpkit.contracts.table import Source, Table
from dpkit.data.columns.kinds import Boolean, Category, Number
from dpkit.data.columns.schema import PrivacyUnit, Schema
from dpkit.data.tables.csv_records import LONGEST_RECORD
from dpkit.data.tables.open_source import expanded_paths, open_source, open_table
from dpkit.errors import DpkitError, InvalidValueError, MissingExtraError, PrivateFactError, SourceError
from dpkit.privacy.neighbours import Neighbours

CANARY = "canary-7301"
SCHEMA = Schema(
    columns=(
        Number(name="age", lower=0, upper=120, missing=40.0),
        Category(name="city", levels=("Bern", "Ulm"), unknown="Ulm"),
        Boolean(name="smokes"),
    )
)
AGES = [30, None, 200, 4, 55]
CITIES = ["Bern", "Ulm", "Rom", None, "Bern"]
SMOKES = [True, False, True, False, None]
CODES = np.array([[30, 0, 1], [40, 1, 0], [120, 1, 1], [4, np.nan, 0], [55, 0, np.nan]])


def columns():
    return {"age": AGES, "city": CITIES, "smokes": SMOKES, "id": [1, 1, 2, 3, 3]}


def written(value):
    return "" if value is None else str(value)


def csv_text(delimiter=","):
    lines = [delimiter.join(columns())]
    lines += [delimiter.join(map(written, row)) for row in zip(*columns().values(), strict=True)]
    return "\n".join(lines) + "\n"


def as_csv(path):
    (path / "people.csv").write_text(csv_text(), encoding="utf-8")
    return path / "people.csv"


def as_tsv_without_last_newline(path):
    (path / "people.tsv").write_bytes(b"\xef\xbb\xbf" + csv_text("\t").rstrip("\n").replace("\n", "\r\n").encode())
    return str(path / "people.tsv")


def as_parquet(path):
    parquet.write_table(pyarrow.table(columns()), path / "people.parquet", row_group_size=2)
    return path / "people.parquet"


def as_glob(path):
    table = pyarrow.table(columns())
    parquet.write_table(table.slice(0, 2), path / "a.parquet")
    parquet.write_table(table.slice(2).select(["id", "smokes", "city", "age"]), path / "b.parquet")
    return str(path / "*.parquet")


def as_list_of_csv(path):
    header, *lines = csv_text().splitlines()
    (path / "one.csv").write_text("\n".join([header, *lines[:3]]), encoding="utf-8")
    (path / "two.csv").write_text("\n".join([header, *lines[3:]]), encoding="utf-8")
    return [path / "one.csv", str(path / "two.csv")]


def as_structured(path):
    rows = [
        tuple(np.nan if cell is None else cell for cell in row[:1]) + row[1:3] for row in zip(*columns().values(), strict=True)
    ]
    return np.array(rows, dtype=[("age", float), ("city", object), ("smokes", object)])


KINDS = {
    "csv": as_csv,
    "tsv": as_tsv_without_last_newline,
    "parquet": as_parquet,
    "glob": as_glob,
    "list of csv": as_list_of_csv,
    "arrow": lambda path: pyarrow.table(columns()),
    "arrow dictionary": lambda path: pyarrow.table({**columns(), "city": pyarrow.array(CITIES).dictionary_encode()}),
    "record batch": lambda path: pyarrow.RecordBatch.from_pydict(columns()),
    "pandas": lambda path: pandas.DataFrame(columns()),
    "pandas nullable": lambda path: pandas.DataFrame(columns()).convert_dtypes(),
    "pandas categorical": lambda path: pandas.DataFrame(columns()).astype({"city": "category"}),
    "polars": lambda path: polars.DataFrame(columns()),
    "mapping": lambda path: columns(),
    "structured": as_structured,
    "object array": lambda path: np.array([AGES, CITIES, SMOKES], dtype=object).T,
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
@pytest.mark.parametrize("in_memory", [None, True, False])
def test_every_kind_of_table_gives_the_same_codes(kind, in_memory, tmp_path):
    data = kind(tmp_path)
    names = ["age", "city", "smokes"] if isinstance(data, np.ndarray) and data.dtype.names is None else None
    source = open_source(data, SCHEMA, names=names, neighbours=Neighbours.REPLACE_ONE, in_memory=in_memory)
    assert isinstance(source, Source)
    for rows in (1, 2, 3, 100):
        found = list(source.blocks((), rows))
        assert all(block.shape[0] <= rows for block in found)
        assert np.array_equal(np.concatenate(found), CODES, equal_nan=True)
    swapped = np.concatenate(list(source.blocks(["smokes", "age"], 2)))
    assert np.array_equal(swapped, CODES[:, [2, 0]], equal_nan=True)
    assert source.public_rows() == 5


def test_the_number_of_rows_is_public_under_replace_one_with_rows_as_units_only():
    for unit, neighbours in ((PrivacyUnit(), Neighbours.ADD_REMOVE), (PrivacyUnit(column="id"), Neighbours.REPLACE_ONE)):
        with pytest.raises(PrivateFactError):
            open_source(columns(), SCHEMA, unit=unit, neighbours=neighbours).public_rows()


def codes_of_csv(path, text, **options):
    path = path / "x.csv"
    path.write_bytes(text)
    source = open_source(path, Schema(columns=(Number(name="x", lower=-9, upper=9, missing=-9.0, text=-8.0),)), **options)
    return [row[0] for block in source.blocks((), 3) for row in block.tolist()]


def test_a_record_is_read_alike_whatever_the_records_beside_it_hold(tmp_path):
    lines = {
        b"1,a": 1.0,
        b'2,"a,b"': 2.0,
        b'3,"unclosed': -9.0,
        b'4,"a ""quoted"" word"': 4.0,
        b"5": -9.0,
        b"6,a,b": -9.0,
        b"": -9.0,
        b"\xff\xfe,\x00": -8.0,
        b'"7"x,a': -9.0,
        b"8,a\rb": 8.0,
        b"1e999,": 9.0,
        b"," + b"a" * 200_000: -9.0,
        b'1,"' + b"a" * 200_000 + b'"': 1.0,
        b'2,"a\nb\r\n""\n"': 2.0,
        b'3,"' + b"a\n" * LONGEST_RECORD + b'"': -9.0,
        b"2," + b"a" * (LONGEST_RECORD + 10): -9.0,
        b"3," + b"a" * (3 * LONGEST_RECORD): -9.0,
        b"4,last": 4.0,
    }
    for order in (list(lines), list(lines)[::-1]):
        for end in (b"\n", b""):
            found = codes_of_csv(tmp_path, b"x,y\n" + b"\n".join(order) + end)
            if not order[-1] and not end:
                order = order[:-1]
            assert found == [lines[line] for line in order]


def test_what_is_wrong_with_a_table_is_said_without_its_cells(tmp_path):
    headerless = tmp_path / "headerless.csv"
    headerless.write_text(f"{CANARY},41\n{CANARY},42\n", encoding="utf-8")
    (tmp_path / "empty.csv").touch()
    (tmp_path / "twice.csv").write_text(f"age,age\n{CANARY},1\n", encoding="utf-8")
    (tmp_path / "broken.parquet").write_text(CANARY, encoding="utf-8")
    good = as_parquet(tmp_path).read_bytes()
    (tmp_path / "cut.parquet").write_bytes(good[:-20])
    (tmp_path / "folder.csv").mkdir()
    wrong = {
        headerless: "no column named 'age'",
        tmp_path / "empty.csv": "no header",
        tmp_path / "twice.csv": "same name",
        tmp_path / "broken.parquet": "not readable",
        tmp_path / "cut.parquet": "not readable",
        tmp_path / "folder.csv": "directory",
        tmp_path / "absent.csv": "no such file",
        tmp_path / "absent.parquet": "no such file",
        tmp_path / "none*.csv": "no file matches",
        tmp_path / "people.xlsx": "format is not known",
    }
    for path, message in wrong.items():
        with pytest.raises(SourceError, match=message) as caught:
            open_source(path, SCHEMA)
        assert CANARY not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_files_that_differ_in_their_columns_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("y\n1\n", encoding="utf-8")
    parquet.write_table(pyarrow.table({"x": [1]}), tmp_path / "a.parquet")
    parquet.write_table(pyarrow.table({"y": [1]}), tmp_path / "b.parquet")
    for pattern in ("*.csv", "*.parquet"):
        with pytest.raises(SourceError, match="not th"):
            open_table(tmp_path / pattern)
    with pytest.raises(SourceError, match="mixed"):
        open_table([tmp_path / "a.csv", tmp_path / "a.parquet"])


def test_a_missing_column_offers_near_names():
    with pytest.raises(SourceError, match=r"no column named 'age'.*Did you mean 'agee'"):
        open_source({"agee": [1], "city": ["Ulm"], "smokes": [True]}, SCHEMA)
    with pytest.raises(SourceError, match="no column named 'person'"):
        open_source(columns(), SCHEMA, unit=PrivacyUnit(column="person"))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: open_table(np.zeros(3)),
        lambda: open_table(np.zeros((3, 2))),
        lambda: open_table(np.zeros((3, 2)), names=["a"]),
        lambda: open_table(np.zeros((3, 2)), names=["a", "a"]),
        lambda: open_table({"a": [1], "b": [1, 2]}),
        lambda: open_table({"a": np.zeros((1, 1))}),
        lambda: open_table(7),
        lambda: open_table(pandas.DataFrame([[1, 2]], columns=["a", "a"])),
        lambda: open_table(pyarrow.Table.from_arrays([[1], [2]], names=["a", "a"])),
        lambda: open_table("x.csv", delimiter=";;"),
    ],
)
def test_what_is_no_table_is_refused(wrong):
    with pytest.raises((SourceError, InvalidValueError)):
        wrong()


def test_values_that_python_cannot_hold_do_not_raise():
    years = pyarrow.array([10**15, 0], type=pyarrow.timestamp("s"))
    table = pyarrow.table({"x": years, "y": pyarrow.array([[1], None]), "z": pyarrow.array([b"\xff", b"2"])})
    for name, codes in {"x": [3.0, 3.0], "y": [3.0, 2.0], "z": [3.0, 2.0]}.items():
        column = Number(name=name, lower=0, upper=3, missing=2.0, text=3.0)
        assert np.concatenate(list(open_source(table, Schema(columns=(column,))).blocks((), 9)))[:, 0].tolist() == codes


def test_a_table_of_a_plugin_is_taken_as_it_is():
    table = open_table(columns())
    assert isinstance(table, Table)
    assert open_table(table) is table


def test_parquet_without_pyarrow_says_which_extra_to_install(monkeypatch, tmp_path):
    path = as_parquet(tmp_path)
    real = builtins.__import__

    def without(name, *arguments, **keywords):
        if name.partition(".")[0] == "pyarrow":
            raise ImportError(name)
        return real(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"pip install 'dpkit\[arrow\]'") as caught:
        open_source(path, SCHEMA)
    assert isinstance(caught.value, DpkitError)


def test_optional_packages_load_only_where_they_are_needed():
    code = (
        "import sys; from dpkit.data.tables.open_source import open_source;"
        "from dpkit.data.summing.block_engine import BlockEngine;"
        "print([m for m in ('pyarrow', 'pandas', 'polars') if m in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"


def test_globs_are_written_out_in_order(tmp_path):
    for name in ("b.csv", "a.csv"):
        (tmp_path / name).write_text("x\n")
    assert expanded_paths(str(tmp_path / "*.csv")) == [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    assert expanded_paths(str(tmp_path / "absent.csv")) == [str(tmp_path / "absent.csv")]
    with pytest.raises(SourceError, match="no file matches"):
        expanded_paths(str(tmp_path / "c*.csv"))
    with pytest.raises(SourceError, match="several lines"):
        expanded_paths("x\n1")
