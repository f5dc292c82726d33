"""Public rows that stand in for the data of a plan: read as these would be, never these themselves, and refused where wrong."""

import os

import numpy as np
import pytest

from dpkit.analysis.public_warnings import check_files
from dpkit.analysis.stand_in import LEAST_ROWS, MOST_ROWS, open_stand_in
from dpkit.errors import SourceError, SpecError

LIKE = ("  rows: 200\n", "  rows: 200\n  like: public.csv\n")


@pytest.fixture
def public(folder):
    """Writes public.csv, whose columns are changed as told."""

    def write(rows=60, name="public.csv", **columns):
        made = {"age": [30 + n % 7 for n in range(rows)], "sex": ["fm"[n % 2] for n in range(rows)]} | columns
        lines = [",".join(map(str, cells)) for cells in zip(*made.values(), strict=True)]
        (folder / name).write_text("\n".join([",".join(made), *lines, ""]), encoding="utf-8")
        return folder / name

    return write


def test_rows_are_codes_as_the_data_would_have_and_what_a_condition_leaves_out_is_nan(loaded, public):
    public()
    spec = loaded(("  columns:", "  where: \"age > 31 and sex = 'f'\"\n  let: {twice: 2 * age}\n  columns:"))
    found = open_stand_in(spec, public())
    codes = found.codes(spec.data.schema)
    assert (found.name, found.rows, codes.shape) == ("public.csv", 60, (60, 3))
    used = codes[~np.isnan(codes).any(axis=1)]
    expected = [(30 + n % 7, n % 2, 2 * (30 + n % 7)) for n in range(60) if n % 7 > 1 and not n % 2]
    assert used.tolist() == [list(map(float, row)) for row in expected]
    assert np.isnan(codes[len(used) :]).all()


def test_of_many_rows_some_are_taken_in_the_same_shares(loaded):
    rows = 3 * MOST_ROWS
    given = {"age": np.arange(rows) % 50, "sex": np.where(np.arange(rows) % 5, "f", "m")}
    spec = loaded(("  columns:", "  where: sex = 'm'\n  columns:"))
    codes = open_stand_in(spec, given).codes(spec.data.schema)
    assert len(codes) == pytest.approx(MOST_ROWS, rel=0.02)
    assert np.mean(~np.isnan(codes[:, 0])) == pytest.approx(0.2, rel=0.03)


@pytest.mark.parametrize("place", ["people.csv", "./people.csv", "link.csv", "hard.csv", "peo*.csv"])
def test_the_private_data_never_stand_in_for_themselves(loaded, folder, place):
    os.symlink(folder / "people.csv", folder / "link.csv")
    os.link(folder / "people.csv", folder / "hard.csv")
    for spec in (loaded(), loaded(("source: people.csv", "source: [p*ople.csv]"))):
        with pytest.raises(SourceError, match="it is the private data of this analysis"):
            open_stand_in(spec, str(folder / place))
        with pytest.raises(SourceError, match="it is the private data of this analysis"):
            spec.plan(like=[str(folder / place)])
    with pytest.raises(SourceError, match="it is the private data of this analysis"):
        loaded(("  rows: 200\n", f"  rows: 200\n  like: {place}\n")).plan()
    source = "source: {run: csv, with: {paths: [people.csv]}}"
    with pytest.raises(SourceError, match="it is the private data of this analysis"):
        open_stand_in(loaded(("source: people.csv", source)), folder / place)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rows": LEAST_ROWS - 1}, f"it has {LEAST_ROWS - 1} rows, which are too few.*At least {LEAST_ROWS} are needed"),
        ({"age": ["old"] * 40 + [30] * 20}, "40 of 60 cells of column 'age' hold no number"),
        ({"age": [3_000] * 31 + [30] * 29}, "31 of 60 cells of column 'age' lie outside of the declared bounds"),
        ({"sex": ["w"] * 60}, "60 of 60 cells of column 'sex' hold none of the declared levels"),
    ],
)
def test_a_column_that_is_another_one_is_told(loaded, public, changes, said):
    with pytest.raises(SourceError, match=f"Cannot read public.csv: .*{said}"):
        open_stand_in(loaded(), public(**changes))


def test_a_few_odd_cells_are_as_the_policies_say(loaded, public):
    path = public(age=["old"] * 20 + ["" for _ in range(20)] + [30] * 20)
    assert np.isnan(open_stand_in(loaded(), path).codes(loaded().data.schema)[:, 0]).sum() == 40
    spec = loaded(("age: [0, 100]", "age: {lower: 0, upper: 100, text: 7}"))
    codes = open_stand_in(spec, path).codes(spec.data.schema)
    assert (np.isnan(codes[:, 0]).sum(), (codes[:, 0] == 7).sum()) == (20, 20)


@pytest.mark.parametrize(
    ("column", "cells", "said"),
    [
        ("member: boolean", ["perhaps"], "hold neither true nor false"),
        ("member: date", ["soon"], "hold no date"),
        ("member: time", ["soon"], "hold no time"),
        ("member: {type: date, lower: 2020-01-01, upper: 2020-12-31}", ["1999-05-05"], "lie outside of the declared bounds"),
    ],
)
def test_every_kind_of_column_is_looked_at(loaded, public, column, cells, said):
    spec = loaded(("    sex:", f"    {column}\n    sex:"))
    with pytest.raises(SourceError, match=f"60 of 60 cells of column 'member' {said}"):
        open_stand_in(spec, public(member=cells * 60))
    assert open_stand_in(loaded(), public(member=cells * 60)).rows == 60  # what is not declared does not matter


def test_a_missing_column_is_told_with_near_names(loaded, public):
    path = public()
    path.write_text(path.read_text(encoding="utf-8").replace("age", "agee", 1), encoding="utf-8")
    with pytest.raises(SourceError, match=r"no column named 'age'; .* every declared column. Did you mean 'agee'\?"):
        open_stand_in(loaded(), path)


def test_an_analysis_names_it_and_is_the_same_analysis(loaded, public, folder):
    public()
    assert loaded(LIKE).data.like == (str(folder / "public.csv"),)
    assert loaded(LIKE).fingerprint == loaded().fingerprint
    assert loaded((LIKE[0], "  rows: 200\n  like: [public.csv, other.csv]\n")).fingerprint == loaded().fingerprint
    with pytest.raises(SpecError, match=r"data.like`: found 3.*allowed: a path, a glob, or a list of them"):
        loaded((LIKE[0], "  rows: 200\n  like: 3\n"))
    with pytest.raises(SpecError, match="it is the table that stands in for the data"):
        loaded(LIKE, ("report: out/report.html", "report: public.csv"))


def test_a_check_looks_at_it(loaded, public):
    public()
    check_files(loaded(LIKE))
    public(rows=3)
    with pytest.raises(SourceError, match="it has 3 rows, which are too few"):
        check_files(loaded(LIKE))
