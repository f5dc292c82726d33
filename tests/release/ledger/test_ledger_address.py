"""Paths, addresses and names of the user's list; passwords are shown nowhere."""

import os
import pickle
from pathlib import Path

import pytest

import dpkit
from dpkit import LedgerAddress
from dpkit.release.ledger.ledger_address import has_password, ledger_place, may_only_read

ADDRESS = "postgresql://anna:geheim@db.example:5433/budgets?dataset=flights&password=geheim&sslmode=require"


@pytest.fixture
def listed(tmp_path, monkeypatch):
    path = tmp_path / "ledgers.yaml"
    path.write_text(
        f"# ours\n\nflights: {ADDRESS}\nbirths: 'postgresql://db.example/budgets?dataset=births'\n", encoding="utf-8"
    )
    path.chmod(0o600)
    monkeypatch.setenv("DPKIT_LEDGERS", str(path))
    return path


def test_a_name_of_the_list_is_its_address(listed, tmp_path):
    assert ledger_place("flights", tmp_path) == LedgerAddress(ADDRESS)
    assert str(ledger_place("births")) == "postgresql://db.example/budgets?dataset=births"
    assert ledger_place("other", tmp_path) == tmp_path / "other"
    assert ledger_place("flights.ledger", tmp_path) == tmp_path / "flights.ledger"
    assert ledger_place("./flights", tmp_path) == tmp_path / "flights"
    assert ledger_place(Path("flights")) == Path("flights")


def test_a_name_that_is_a_file_too_is_refused(listed, tmp_path):
    (tmp_path / "flights").write_bytes(b"")
    with pytest.raises(dpkit.InvalidValueError, match=r"Write \./flights"):
        ledger_place("flights", tmp_path)


def test_no_password_is_shown(listed):
    address = LedgerAddress(ADDRESS)
    for shown in (str(address), repr(address), f"{address}"):
        assert "geheim" not in shown
        assert "anna@db.example:5433/budgets?dataset=flights&sslmode=require" in shown
    assert has_password(address)
    assert not has_password(LedgerAddress("postgresql://anna@host/db"))
    assert pickle.loads(pickle.dumps(address)) == address


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://anna:ge/heim@host/db",
        "postgresql://anna:ge?heim@host/db",
        "postgresql://anna:ge#heim@host/db",
        "postgresql:anna:geheim@host/db",
        "postgres:anna:geheim@host/db",
        "mysql:anna:geheim@host",
        "postgresql://host/db?dataset=a&dataset=geheim",
        "postgresql://anna:heim@host:geheim/db",
    ],
)
def test_what_is_no_address_is_not_quoted(text, tmp_path):
    with pytest.raises(dpkit.InvalidValueError) as caught:
        ledger_place(text, tmp_path)
    assert "heim" not in str(caught.value)


@pytest.mark.parametrize(
    "option", ["passwd=geheim", "p%61ssword=geheim", "sslpassword=geheim", "PGPASSWORD=geheim", "api_key=geheim"]
)
def test_options_that_hold_secrets_are_not_shown(option):
    address = LedgerAddress(f"postgresql://anna@host/db?dataset=d&{option}")
    assert "geheim" not in f"{address}{address!r}"
    assert "dataset=d" in str(address)
    assert has_password(address)
    assert "geheim" in address.text


def test_an_empty_host_stays(tmp_path):
    address = LedgerAddress("postgresql:///db").with_option("dataset", "a b")
    assert address.text == str(address) == "postgresql:///db?dataset=a+b"


def test_a_list_with_a_password_that_others_may_read_is_refused(listed):
    listed.chmod(0o644)
    with pytest.raises(dpkit.LedgerStorageError, match="chmod 600") as caught:
        ledger_place("flights")
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize("text", ["flights postgresql://h/d", "a: b", "a: x://y\na: x://z", "- a", "{"])
def test_a_list_that_is_none_is_refused_by_its_line(listed, text):
    listed.write_text(text, encoding="utf-8")
    with pytest.raises(dpkit.LedgerStorageError, match=r"line [12] of the list"):
        ledger_place("flights")


@pytest.mark.parametrize("text", ["postgresql://[::1/db", "postgresql://host:port/db"])
def test_an_address_that_cannot_be_read_is_refused(text):
    with pytest.raises(dpkit.InvalidValueError, match="address"):
        ledger_place(text)


def test_an_analysis_never_holds_a_password(tmp_path):
    (tmp_path / "a.yaml").write_text(
        "dpkit: 1\ndata: {source: d.csv, columns: {x: [0, 1]}}\n"
        f"budget: {{epsilon: 1, ledger: '{ADDRESS}'}}\nsteps: [{{id: c, run: count}}]\n",
        encoding="utf-8",
    )
    with pytest.raises(dpkit.SpecError, match="a password") as caught:
        dpkit.load(tmp_path / "a.yaml")
    assert "geheim" not in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_may_only_be_read(tmp_path):
    path = tmp_path / "l"
    path.write_bytes(b"")
    path.chmod(0o400)
    assert may_only_read(path)
