"""A value planted in the data shows in no error of opening it."""

import pytest

import dpkit

SCHEMA = dpkit.Schema(columns=(dpkit.Number(name="987654", lower=0, upper=1), dpkit.Boolean(name="CANARY")))


def test_a_cell_of_a_file_without_a_header_is_not_offered_as_a_name(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("987654.1,CANARYx\n0.5,true\n")
    with pytest.raises(dpkit.SourceError) as caught:
        dpkit.open_source(path, SCHEMA)
    assert "987654.1" not in str(caught.value)
    assert "CANARYx" not in str(caught.value)
    assert "first line" in str(caught.value)


def test_a_cell_that_is_spelt_like_a_declared_column_makes_no_header(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("987654,CANARYx\n0.5,true\n")
    with pytest.raises(dpkit.SourceError, match=r"no column named 'CANARY'.*--header") as caught:
        dpkit.open_source(path, SCHEMA)
    assert "CANARYx" not in str(caught.value)


def test_equal_cells_of_a_first_line_are_noticed_where_they_are_declared(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("a,a,CANARY,987654\n1,2,true,0.5\n")
    dpkit.open_source(path, SCHEMA)
    path.write_text("CANARY,CANARY,987654\n1,2,0.5\n")
    with pytest.raises(dpkit.SourceError, match="same name, 'CANARY'"):
        dpkit.open_source(path, SCHEMA)


def test_a_piece_of_a_file_does_not_show_its_first_line(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("CANARY,987654,secret\n1,2,3\n")
    assert "secret" not in repr(dpkit.open_source(path, SCHEMA).parts(100))


@pytest.mark.parametrize("data", ["x,name\n0.5,secret.csv", ["secret", "other"], ["secret\n0.5.csv"], "secret"])
def test_data_that_is_taken_for_a_path_is_not_shown(data):
    with pytest.raises(dpkit.SourceError) as caught:
        dpkit.open_source(data, SCHEMA)
    assert "secret" not in str(caught.value)
