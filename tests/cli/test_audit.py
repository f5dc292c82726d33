"""`dpkit audit`: exit codes, formats, replay."""

import json

import pytest
from click.testing import CliRunner

from dpkit.cli import main


@pytest.fixture
def run():
    return lambda *arguments: CliRunner().invoke(main, ["audit", *arguments])


def test_a_right_mechanism_exits_with_zero(run):
    result = run("Laplace(scale=1.0)", "--at", "l1(1.0)", "--samples", "1000", "--seed", "1")
    assert result.exit_code == 0, result.output
    assert "REFUTED" in result.output


def test_a_refuted_claim_exits_with_one_and_can_be_replayed(run, tmp_path):
    path, junit, sarif = tmp_path / "certificate.json", tmp_path / "junit.xml", tmp_path / "audit.sarif"
    target = "dpkit.auditing.zoo.additive:leaking_mean"
    result = run(
        target, "--epsilon", "1", "--pair", "[[0.0], [0.0, 1.0]]", "--seed", "1", "--json", "--junit", junit, "--sarif", sarif
    )
    assert result.exit_code == 1, result.output
    path.write_text(result.stdout, encoding="utf-8")
    assert json.loads(result.stdout)["certificates"][0]["verdict"] == "refuted"
    assert "failure" in junit.read_text(encoding="utf-8")
    assert json.loads(sarif.read_text(encoding="utf-8"))["version"] == "2.1.0"
    replayed = run("replay", str(path))
    assert replayed.exit_code == 0, replayed.output
    path.write_text(result.stdout.replace('"samples": ', '"samples": 1'), encoding="utf-8")
    assert run("replay", str(path)).exit_code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("Nonsense(scale=1.0)", "--at", "l1(1.0)"),
        ("no.such.module:fn", "--epsilon", "1", "--pair", "[0, 1]"),
        ("math:floor", "--epsilon", "1", "--mu", "1", "--pair", "[0, 1]"),
        ("math:floor", "--epsilon", "1", "--pair", "3"),
        ("Laplace(scale=1.0)",),
    ],
)
def test_wrong_input_exits_with_two(run, arguments):
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
