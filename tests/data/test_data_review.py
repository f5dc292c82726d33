"""What a review of data and running found, each as it was found: it must not come back."""

import decimal
import os

import numpy as np
import pytest

import dpkit
from dpkit import Category, DeclaredSetting, Neighbours, Number, PrivacyUnit, Schema
from dpkit.data.columns.cells import text_of
from dpkit.data.tables.cached_source import CachedSource
from dpkit.errors import LedgerDisagreementError, SourceError
from dpkit.release.curator import DataCurator, Purse
from dpkit.release.run_algorithms import run_algorithms

CITATION = dpkit.Citation(key="dpkit", locator="tests")


def levels(column, count):
    def rows(block):
        return (block[:, :1] == np.arange(count)).astype(np.float64)

    return dpkit.Query(
        name="levels", columns=(column,), rows=rows, shape=(count,), grid=1.0, bound=1.0,
        sensitivity=lambda relation: (dpkit.l1(1.0), dpkit.l2(1.0)), because=CITATION,
    )  # fmt: skip


def totals(data, schema, **options):
    (total,) = dpkit.BlockEngine(dpkit.open_source(data, schema, **options)).evaluate([levels(schema.names[0], 2)])
    return total.nearest()


def test_a_null_does_not_change_other_rows_of_polars():
    polars = pytest.importorskip("polars")
    schema = Schema(columns=(Category(name="c", levels=(str(2**53 + 1), "other")),))
    whole = [2**53 + 1] * 50
    assert totals(polars.DataFrame({"c": whole}), schema)[0] == 50
    assert totals(polars.DataFrame({"c": [*whole, None]}), schema)[0] == 50


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (decimal.Decimal(2**60), decimal.Decimal(2**60 + 1)),
        (decimal.Decimal("0.1"), decimal.Decimal("0.1000000000000000055")),
        (b"x\x80", b"x\x81"),
        ("M\udcfcller", "M\udcf6ller"),
        (2**60, 2**60 + 1),
    ],
)
def test_persons_that_differ_stay_different(one, other):
    assert text_of(one) != text_of(other)


def test_spellings_of_one_number_are_one():
    assert {text_of(cell) for cell in (7, 7.0, "7", decimal.Decimal(7), decimal.Decimal("7.00"), np.int8(7), b"7")} == {"7"}
    assert text_of(decimal.Decimal("NaN")) is None
    assert text_of(decimal.Decimal("1.50")) == text_of(1.5)


def test_persons_in_latin_1_are_not_merged(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes("c,id\nb,Müller\na,Möller\n".encode("latin-1"))
    schema = Schema(columns=(Category(name="c", levels=("a", "b")),))
    unit = PrivacyUnit(column="id", at_most=1)
    assert totals(path, schema, unit=unit).tolist() == [1.0, 1.0]


def test_a_date_that_python_cannot_hold_raises_nothing():
    polars = pytest.importorskip("polars")
    schema = Schema(columns=(Category(name="c", levels=("a", "b")),))
    frame = polars.DataFrame({"c": polars.Series([2**30 + 12345, 0], dtype=polars.Int32).cast(polars.Date)})
    assert totals(frame, schema).tolist() == [0.0, 0.0]


SCHEMA = Schema(columns=(Number(name="x", lower=0.0, upper=1.0, missing=0.0),))


@pytest.mark.parametrize(
    "setting",
    [
        DeclaredSetting(schema=SCHEMA, neighbours=Neighbours.REPLACE_ONE),
        DeclaredSetting(schema=SCHEMA, unit=PrivacyUnit(column="id", at_most=5)),
        DeclaredSetting(schema=Schema(columns=(Number(name="x", lower=0.0, upper=2.0),))),
    ],
    ids=["relation", "unit", "schema"],
)
def test_a_plan_for_other_data_is_refused(setting):
    engine = dpkit.BlockEngine(dpkit.open_source({"x": [0.5]}, SCHEMA))
    with pytest.raises(dpkit.InvalidValueError, match="what the source declares"):
        DataCurator(engine=engine, setting=setting, purse=Purse(dpkit.PureEvent(epsilon=1.0)))


def test_a_ledger_of_another_relation_or_unit_is_refused(tmp_path):
    setting = DeclaredSetting(schema=SCHEMA)
    for index, terms in enumerate(({"neighbours": Neighbours.REPLACE_ONE}, {"unit": {"column": "id", "at_most": 2}})):
        path = tmp_path / f"{index}.ledger"
        with (
            dpkit.Ledger.create(path, budget=dpkit.ZCDP(rho=1.0), dataset="tests", **terms) as ledger,
            pytest.raises(LedgerDisagreementError),
        ):
            run_algorithms({}, engine=None, setting=setting, ledger=ledger)


def test_integer_noise_on_fractions_is_refused_before_anything_is_charged():
    from dpkit.release.noise import check_delivery

    query = dpkit.Query(
        name="half", columns=("x",), rows=lambda block: block[:, 0], shape=(), grid=0.5, bound=1.0,
        sensitivity=lambda relation: (dpkit.l1(1.0),), because=CITATION,
    )  # fmt: skip
    with pytest.raises(dpkit.InvalidValueError, match="not whole numbers"):
        check_delivery(query, dpkit.DiscreteLaplace(scale=2.0))
    check_delivery(query, dpkit.Laplace(scale=2.0))


def total_of(name):
    return dpkit.Query(
        name="total", columns=(name,), rows=lambda block: block, shape=(1,), grid=2.0**-10, bound=1.0,
        sensitivity=lambda relation: (dpkit.l1(1.0), dpkit.l2(1.0)), because=CITATION,
    )  # fmt: skip


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("rows", [300, 450])
def test_files_that_change_between_passes_are_refused_without_a_word_of_their_rows(tmp_path, rows, cached):
    """Which rows of a person are used was chosen by their places: in another file these may all be of one person."""
    path = tmp_path / "people.csv"

    def write(owner, count, time):
        path.write_text("x,y,who\n" + "".join(f"0.5,0.5,{owner(place)}\n" for place in range(count)), encoding="utf-8")
        os.utime(path, ns=(time, time))

    write(lambda place: place // 3, 300, 10**18)
    columns = tuple(Number(name=name, lower=0.0, upper=1.0, missing=0.0) for name in ("x", "y"))
    source = dpkit.open_source(path, Schema(columns=columns), unit=PrivacyUnit(column="who", at_most=1))
    engine = dpkit.BlockEngine(CachedSource(source) if cached else source)
    (found,) = engine.evaluate([total_of("x")])
    assert found.nearest() == 50.0
    write(lambda place: place % 100, rows, 10**18 + 1)
    with pytest.raises(SourceError, match="its files have changed since they were first read") as told:
        engine.evaluate([total_of("y")])
    assert "300" not in str(told.value)
    assert "450" not in str(told.value)
    engine.close()


def test_a_file_that_changes_during_a_pass_gives_no_total(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("x\n" + "0.5\n" * 100, encoding="utf-8")
    source = dpkit.open_source(path, SCHEMA)
    blocks = source.blocks(["x"], 10)
    next(blocks)
    os.utime(path, ns=(1, 1))
    with pytest.raises(SourceError, match="changed"):
        list(blocks)
