"""Every law of sources has a mutant that it catches; what is right passes all of them."""

from pathlib import Path

import numpy as np
import pytest

import dpkit
from dpkit.testing.run_laws import LawNotApplicable, LawUnchecked
from dpkit.testing.source_laws import SOURCE_LAWS, SourceCase, a_row_is_read_by_itself


class Rows:
    """Twenty rows of two columns."""

    names = ("a", "b")

    def __init__(self, start=0, stop=20):
        self.start, self.stop = start, stop

    def batches(self, names, rows):
        for start in range(self.start, self.stop, rows):
            places = np.arange(start, min(start + rows, self.stop))
            cells = {name: dpkit.Cells(values=places * (1.0 if name == "a" else 2.0)) for name in names}
            yield dpkit.Batch(rows=places.size, cells=cells)

    def pieces(self, size):
        step = max(1, size // 16)
        return [type(self)(start, min(start + step, self.stop)) for start in range(self.start, self.stop, step)]


class SameNames(Rows):
    names = ("a", "a")


class TooMany(Rows):
    def batches(self, names, rows):
        return super().batches(names, 2 * rows)


class UnaskedColumn(Rows):
    def batches(self, names, rows):
        return super().batches(("a", "b"), rows)


class LosesTheLast(Rows):
    def batches(self, names, rows):
        return (batch for batch in super().batches(names, rows) if batch.rows == rows or rows > 20)


class DependsOnOthers(Rows):
    def batches(self, names, rows):
        for batch in super().batches(names, rows):
            if len(names) == 1:
                (name,) = names
                batch = dpkit.Batch(rows=batch.rows, cells={name: dpkit.Cells(values=batch.cells[name].values + 1.0)})
            yield batch


class OverlappingPieces(Rows):
    def pieces(self, size):
        return [Rows(0, 11), Rows(10, 20)]


class Lines:
    """A file of numbers, one a line."""

    names = ("a",)

    def __init__(self, path):
        self.path = path

    def numbers(self):
        return Path(self.path).read_text("utf-8", "replace").split("\n")[:-1]

    def batches(self, names, rows):
        found = np.array(self.numbers(), dtype=object)
        for start in range(0, len(found), rows):
            part = found[start : start + rows]
            yield dpkit.Batch(rows=len(part), cells={name: dpkit.Cells(values=part) for name in names})


def _number(text):
    try:
        return float(text)
    except ValueError:
        return float("nan")


class InUnitsOfTheLargest(Lines):
    """Scaled to [-1, 1] by the largest of all."""

    def numbers(self):
        found = np.array([_number(text) for text in super().numbers()])
        return found / np.nanmax(np.abs(found))


class SkipsWhatIsNoNumber(Lines):
    def numbers(self):
        return [text for text in super().numbers() if not np.isnan(_number(text))]


class RaisesOnText(Lines):
    def numbers(self):
        return [float(text) for text in super().numbers()]


def lines(kind, folder):
    example = folder / "numbers.txt"
    example.write_text("".join(f"{place}.25\n" for place in range(9)))
    path = dpkit.Parameter(name="path", kind="path", doc="A file.", examples=(str(example),))
    return SourceCase(factory=dpkit.Factory(name="lines", doc="Lines.", make=kind, parameters=(path,)))


def test_lines_that_are_read_one_by_one_pass(tmp_path):
    a_row_is_read_by_itself(lines(Lines, tmp_path))


@pytest.mark.parametrize("mutant", [InUnitsOfTheLargest, SkipsWhatIsNoNumber, RaisesOnText])
def test_a_row_that_depends_on_other_lines_is_caught(mutant, tmp_path):
    with pytest.raises((AssertionError, ValueError)):
        a_row_is_read_by_itself(lines(mutant, tmp_path))


def test_a_frame_whose_column_turns_to_text_passes(tmp_path):
    pandas = pytest.importorskip("pandas")
    a_row_is_read_by_itself(lines(lambda path: pandas.read_csv(path, header=None, names=["a"]), tmp_path))


MUTANTS = {
    SameNames: "names_are_distinct_texts",
    TooMany: "batches_hold_what_was_asked_for",
    UnaskedColumn: "batches_hold_what_was_asked_for",
    LosesTheLast: "rows_do_not_depend_on_the_batch",
    DependsOnOthers: "columns_can_be_read_alone",
    OverlappingPieces: "pieces_are_the_rows",
}


def source(kind):
    return SourceCase(factory=dpkit.Factory(name="rows", doc="Rows.", make=kind))


@pytest.mark.parametrize("law", [law for law in SOURCE_LAWS if law is not a_row_is_read_by_itself])
def test_a_right_source_passes(law):
    law(source(Rows))


def test_rows_that_come_from_no_file_are_not_known_to_be_read_one_by_one():
    with pytest.raises(LawUnchecked, match="no example opens a file"):
        a_row_is_read_by_itself(source(Rows))


@pytest.mark.parametrize(("mutant", "name"), MUTANTS.items(), ids=lambda item: getattr(item, "__name__", item))
def test_a_wrong_source_is_caught(mutant, name):
    (law,) = [law for law in SOURCE_LAWS if law.__name__ == name]
    with pytest.raises(AssertionError):
        law(source(mutant))


def test_a_source_that_cannot_be_opened_here_is_not_judged():
    path = dpkit.Parameter(name="path", kind="text", doc="A file.")

    def opened(path):
        raise dpkit.SourceError(source=path, reason="there is no such file.")

    case = SourceCase(factory=dpkit.Factory(name="files", doc="Files.", make=opened, parameters=(path,)))
    with pytest.raises(LawNotApplicable, match="examples"):
        SOURCE_LAWS[0](case)


def test_every_law_of_sources_has_a_mutant():
    assert {*MUTANTS.values(), "a_row_is_read_by_itself"} == {law.__name__ for law in SOURCE_LAWS}
