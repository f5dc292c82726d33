"""Where there is no such file, names that are like it are offered."""

from dpkit.data.tables.files import no_such_file


def test_a_mistyped_name_is_offered_the_nearest(tmp_path):
    (tmp_path / "people.csv").write_text("x\n")
    assert str(no_such_file(str(tmp_path / "peple.csv"))).endswith("Did you mean 'people.csv'?")
    assert str(no_such_file(str(tmp_path / "zzz"))).endswith("there is no such file.")
    assert str(no_such_file(str(tmp_path / "no" / "people.csv"))).endswith("there is no such file.")
