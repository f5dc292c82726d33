"""`dpkit ledger`: create, show, close, verify, export; mistakes are messages and exit code 2, a failed check is exit code 1."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner
from laws.ledger_laws import UNIT, tamper

from dpkit.cli import main
from dpkit.errors import RunStateError
from dpkit.privacy.events import Repeat
from dpkit.release.ledger.ledger import Ledger


def run(*arguments, code=0):
    result = CliRunner().invoke(main, ["ledger", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "flights.ledger"
    run("create", path, "--dataset", "flights", "--rho", "0.5", "--column", "passenger", "--at-most", "3")
    with Ledger.open(path, who="ada") as ledger:
        ledger.reserve("first")
        ledger.released(ledger.charge("first", UNIT, key="0"), 1.5)
    return path


@pytest.mark.parametrize(
    ("options", "kind", "accountant"),
    [
        (("--epsilon", "1"), "PureDP", "pure"),
        (("--epsilon", "1", "--delta", "1e-6"), "ApproxDP", "zcdp"),
        (("--epsilon", "1", "--delta", "1e-6", "--accountant", "rdp"), "ApproxDP", "rdp"),
        (("--rho", "0.5"), "ZCDP", "zcdp"),
        (("--mu", "1", "--neighbours", "replace-one"), "GDP", "gdp"),
    ],
)
def test_a_ledger_is_created_with_the_budget_stated(tmp_path, options, kind, accountant):
    document = json.loads(run("create", tmp_path / "l", "--dataset", "d", *options, "--json"))
    assert document["terms"]["budget"]["value"]["is"] == kind
    assert document["spent"] != document["remaining"]
    with Ledger.open(tmp_path / "l") as ledger:
        assert ledger.terms.accountant.name == accountant


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "one budget"),
        (("--epsilon", "1", "--rho", "1"), "one budget"),
        (("--mu", "1", "--delta", "0.1"), "one number"),
        (("--rho", "1", "--column", "a"), "--at-most"),
        (("--rho", "-1"), "rho"),
        (("--epsilon", "1", "--delta", "1e-6", "--accountant", "best"), "No theorem covers"),
        (("--rho", "1", "--accountant", "zcpd"), "Did you mean 'zcdp'"),
    ],
)
def test_wrong_options_are_a_message_and_no_file(tmp_path, options, said):
    assert said in run("create", tmp_path / "l", "--dataset", "d", *options, code=2)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_created_twice(path):
    assert "already" in run("create", path, "--dataset", "d", "--rho", "1", code=2)


def test_it_shows_terms_balance_and_entries(path):
    text = run("show", path, "--entries")
    for piece in (
        "flights",
        "passenger",
        "ZCDP(rho=0.5",
        "FZ21",
        "ada",
        "release -> released",
        "The ledger adds rho, not epsilons",
    ):
        assert piece in text
    assert "ada" not in run("show", path)
    document = json.loads(run("show", path, "--run", "first", "--json"))
    assert [entry["kind"] for entry in document["entries"]] == ["reserve", "charge", "release"]
    assert document["spent"]["value"]["rho"] == 1 / 1024
    assert "no such file" in run("show", path.parent / "missing", code=2)


def test_verify_is_0_when_fine_and_1_when_not(path, tmp_path):
    assert "rollback" in run("verify", path)
    head = tmp_path / "head"
    run("export", path, "--head-only", "--to", head)
    assert "rollback" not in run("verify", path, "--head", head)
    assert json.loads(run("verify", path, "--head", head, "--json"))["ok"] is True
    with Ledger.open(path) as ledger:
        ledger.charge("first", UNIT, key="1")
    later = tmp_path / "export"
    later.write_text(run("export", path), encoding="utf-8")
    tamper(
        path, "DELETE FROM entries WHERE seq > 2", "UPDATE head SET seq = 2, hash = (SELECT hash FROM entries WHERE seq = 2)"
    )
    run("verify", path)  # this is what cannot be found ...
    assert "rolled back" in run("verify", path, "--head", later, code=1)  # ... without a head
    tamper(path, "UPDATE entries SET value = NULL, body = replace(body, '1/1024', '1/2048')")
    assert "PROBLEM entry 2" in run("verify", path, code=1)
    document = json.loads(run("verify", path, "--json", code=1))
    assert document["ok"] is False
    assert document["problems"][0]["entry"] == 2
    path.write_bytes(b"no ledger at all, and long enough to be read as a header" * 10)
    run("verify", path, code=2)
    later.write_text("{}", encoding="utf-8")
    assert "not the head" in run("verify", path, "--head", later, code=2)


def test_a_digest_that_was_kept_finds_a_log_that_was_cut_back(path):
    early = json.loads(run("show", path, "--json"))["digest"]
    assert f"digest      {early} (entry 3)" in run("show", path)
    with Ledger.open(path) as ledger:
        ledger.charge("first", UNIT, key="1")
    late = json.loads(run("show", path, "--json"))["digest"]
    assert "rollback" not in run("verify", path, "--since", late)
    assert "entry 3; 1 came after it" in run("verify", path, "--since", f" {early.upper()} ")
    assert json.loads(run("verify", path, "--since", early, "--json"))["since"] == 3
    tamper(
        path, "DELETE FROM entries WHERE seq > 3", "UPDATE head SET seq = 3, hash = (SELECT hash FROM entries WHERE seq = 3)"
    )
    run("verify", path)  # this is what cannot be found ...
    assert "cut back" in run("verify", path, "--since", late, code=1)  # ... without a digest
    assert json.loads(run("verify", path, "--since", late, "--json", code=1))["since"] is None
    run("verify", path, "--since", early)
    for wrong in ("", "no digest", late[:-1], "0" * 64):
        assert "digest" in run("verify", path, "--since", wrong, code=1)


def test_close_gives_back_what_an_abandoned_run_holds_once_it_is_told_to(path):
    with Ledger.open(path) as ledger:
        ledger.reserve("abandoned", Repeat(event=UNIT, times=100))
        ledger.charge("abandoned", UNIT, key="0")
    held = json.loads(run("show", path, "--json"))["held"]["value"]["rho"]
    assert "--yes" in run("close", path, "abandoned")
    assert json.loads(run("show", path, "--json"))["held"]["value"]["rho"] == held > 100 / 1024
    document = json.loads(run("close", path, "abandoned", "--yes", "--json"))
    assert document["held"]["value"]["rho"] == document["spent"]["value"]["rho"] == 2 / 1024
    with Ledger.open(path) as ledger, pytest.raises(RunStateError):
        ledger.charge("abandoned", UNIT, key="1")
    run("close", path, "abandoned", "--yes")
    run("close", path, "nobody", "--yes", code=2)
    run("verify", path)


def test_the_export_is_json_lines(path):
    lines = [json.loads(line) for line in run("export", path).splitlines()]
    assert len(lines) == 5
    assert lines[-1]["dpkit-ledger-head"] == 1


@pytest.mark.parametrize("verb", ["create", "show", "close", "verify", "export"])
def test_every_verb_has_an_example_and_json(verb):
    text = run(verb, "--help")
    assert f"Example: dpkit ledger {verb}" in " ".join(text.split())
    assert "--json" in text


def test_its_help_loads_no_numpy():
    code = (
        "import sys\nfrom dpkit.cli import main\n"
        "try: main(['ledger', '--help'])\nexcept SystemExit: pass\n"
        "print('numpy' in sys.modules, file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stderr.strip() == "False"
