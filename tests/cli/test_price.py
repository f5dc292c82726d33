"""`dpkit price` answers from the shell, in text and JSON, and refuses in words."""

import json

import pytest
from click.testing import CliRunner

from dpkit.cli.lazy_verbs import main


def run(*arguments):
    return CliRunner().invoke(main, ["price", *arguments])


def test_the_example_of_the_help_is_priced():
    found = run("20 x gaussian(ratio=1.0) sampled at 0.01", "--delta", "1e-6")
    assert found.exit_code == 0, found.output
    for words in ("epsilon = ", "certified: between", "subsampled-gaussian", "other accountants", "assumed:"):
        assert words in found.output


def test_a_file_is_priced_in_json(tmp_path):
    path = tmp_path / "history.json"
    path.write_text(json.dumps({"history": [[1.0, 1.0, 3]], "mechanism": "rdp"}), encoding="utf-8")
    document = json.loads(run(str(path), "--json").output)
    assert document["interval"][0] <= document["epsilon"]
    assert document["accountants"]["zcdp"] > document["epsilon"]
    assert document["origin"] == "Opacus"


@pytest.mark.parametrize("arguments", [["gausian(ratio=1)"], ["none.json"], ["gaussian(ratio=1)", "--delta", "2"], ["[1, 2]"]])
def test_mistakes_end_with_exit_code_2(arguments):
    found = run(*arguments)
    assert found.exit_code == 2
    assert "Traceback" not in found.output


def test_a_sign_before_a_count_is_refused_as_such_and_taken_for_no_option():
    found = run("-3 x gaussian(ratio=1)", "--delta", "1e-6")
    assert found.exit_code == 2
    assert "without a sign" in found.output
    assert "--delta" in run("gaussian(ratio=1)", "--detla", "1e-6").output


@pytest.mark.parametrize("text", ["3 x gaussian(ratio=1)\n", '{"history": [[1.0, 1.0, 3]]}'])
def test_a_single_dash_reads_the_standard_input(text):
    found = CliRunner().invoke(main, ["price", "-", "--json"], input=text)
    assert json.loads(found.output)["epsilon"] == pytest.approx(
        json.loads(run("3 x gaussian(ratio=1)", "--json").output)["epsilon"]
    )


def test_a_file_is_read_whatever_its_name_ends_with(tmp_path):
    path = tmp_path / "history.txt"
    path.write_text("[[1.0, 1.0, 3]]", encoding="utf-8")
    assert json.loads(run(str(path), "--json").output)["origin"] == "a history"
