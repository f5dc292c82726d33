"""A ledger that was put back from a backup: by copying a file, by `pg_dump`, into the same server or an empty one."""

import shutil
import subprocess

import pytest
from postgres_server import Server, missing, program

import dpkit
from dpkit import ZCDP
from dpkit.release.ledger.ledger import Ledger
from dpkit.release.ledger.steward import check_not_behind, write_off
from dpkit.release.ledger.verify import verify
from dpkit.testing.ledger_store_laws import UNIT, times

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


def begun(place):
    """A ledger with one charge, and its head."""
    with Ledger.create(place, budget=ZCDP(rho=8 / 1024), dataset="first") as ledger:
        ledger.reserve("run", times(4))
        ledger.released(ledger.charge("run", UNIT, key="0"), [1.5])
        return ledger.head()


def goes_on(place):
    """One more charge, after the backup; the digest that a result would keep."""
    with Ledger.open(place) as ledger:
        ledger.released(ledger.charge("run", UNIT, key="1"), [2.5])
        return ledger.head().hash


def refused_until_written_off(place, *, old, lost):
    with Ledger.open(place) as ledger:
        assert verify(ledger).ok
        assert ledger.head() == old
        assert ledger.spent() == ZCDP(rho=1 / 1024)
        with pytest.raises(dpkit.LedgerBehindError, match="charges are missing"):
            check_not_behind(ledger, {lost: "result.json"})
        check_not_behind(ledger, {old.hash: "result.json"})
        write_off(ledger, UNIT, since=lost)
        check_not_behind(ledger, {lost: "result.json", old.hash: "other.json"})
        assert ledger.spent() == ZCDP(rho=2 / 1024)
        ledger.charge("run", UNIT, key="2")
        assert ledger.spent() == ZCDP(rho=3 / 1024)
        assert verify(ledger).ok


def client(name, address, *arguments, **options):
    found = program(name)
    assert found is not None
    return subprocess.run([found, "-d", address, *arguments], check=True, capture_output=True, **options).stdout


def ledger_in(database):
    return f"{database}?dataset=first"


def dumped(address):
    return client("pg_dump", address, "--format=plain")


def restore(address, script):
    client("psql", address, "--quiet", "--set=ON_ERROR_STOP=1", input=script)


def test_a_file_that_was_put_back(tmp_path):
    old = begun(tmp_path / "l")
    shutil.copy(tmp_path / "l", tmp_path / "backup")
    lost = goes_on(tmp_path / "l")
    for path in tmp_path.glob("l*"):
        path.unlink()
    shutil.copy(tmp_path / "backup", tmp_path / "l")
    refused_until_written_off(tmp_path / "l", old=old, lost=lost)


def test_a_dump_that_was_put_back(postgres, database):
    old = begun(ledger_in(database))
    script = dumped(database)
    lost = goes_on(ledger_in(database))
    place = postgres.new_database("restored")
    restore(place, script)
    refused_until_written_off(ledger_in(place), old=old, lost=lost)


def test_a_dump_into_an_empty_server_needs_its_roles_first(database):
    old = begun(ledger_in(database))
    script = dumped(database)
    lost = goes_on(ledger_in(database))
    roles = subprocess.run(
        [str(program("pg_dumpall")), "-d", database, "--roles-only"], check=True, capture_output=True
    ).stdout.replace(b"CREATE ROLE admin;", b"")
    empty = Server()
    try:
        with pytest.raises(subprocess.CalledProcessError):
            restore(empty.new_database("without_roles"), script)
        place = empty.new_database("with_roles")
        restore(place, roles)
        restore(place, script)
        refused_until_written_off(ledger_in(place), old=old, lost=lost)
    finally:
        empty.remove()
