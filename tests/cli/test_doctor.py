"""`dpkit doctor` says what is here, and what is wrong."""

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner
from laws.ledger_laws import tamper

from dpkit import ZCDP, Ledger
from dpkit.cli import main
from dpkit.cli.doctor import _OFFERS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def diagnosis(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        done = CliRunner().invoke(main, ["doctor", "--json", *arguments])
        return done.exit_code, {one["subject"]: one for one in json.loads(done.stdout)["findings"]}

    return run


def test_it_names_what_is_installed(diagnosis):
    code, found = diagnosis()
    assert code == 0
    assert {"dpkit", "python", "numpy", "plugin irls", "passes over rows", "pyarrow"} <= set(found)


def test_ledgers_of_the_folder_are_verified(diagnosis, tmp_path):
    Ledger.create(tmp_path / "a.ledger", budget=ZCDP(rho=1.0), dataset="a").close()
    code, found = diagnosis()
    assert code == 0
    assert "verifies, 1 entries" in found["ledger a.ledger"]["state"]
    tamper(tmp_path / "a.ledger", "UPDATE entries SET hash = replace(hash, 'a', 'b')")
    code, found = diagnosis()
    assert code == 1
    assert not found["ledger a.ledger"]["ok"]


def test_a_ledger_that_is_not_there_is_said(diagnosis):
    code, found = diagnosis("missing.ledger")
    assert code == 1
    assert not found["ledger missing.ledger"]["ok"]


def test_text_ends_with_a_verdict(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["doctor"]).stdout.endswith("All is well.\n")


def test_extras_are_those_of_the_distribution():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for package, (extra, _) in _OFFERS.items():
        assert any(line.startswith(package) for line in extras[extra]), package
    # `docs` and `dev` are for those who work on dpkit
    assert {extra for extra, _ in _OFFERS.values()} == set(extras) - {"docs", "dev"}
