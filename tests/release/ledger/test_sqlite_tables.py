"""The tables of a ledger: versions that are newer, older or none, and a log that only grows."""

import sqlite3

import pytest
from laws.ledger_laws import UNIT, new_ledger, tamper, times

import dpkit
from dpkit.release.ledger.ledger import Ledger
from dpkit.release.ledger.sqlite_tables import APPLICATION, VERSION
from dpkit.release.ledger.verify import verify, verify_file


@pytest.fixture
def path(tmp_path):
    return new_ledger(Ledger, tmp_path, releases=8)


def begun(path, **options):
    ledger = Ledger.open(path, **options)
    ledger.reserve("run", times(4))
    return ledger, ledger.charge("run", UNIT, key="0")


def test_a_newer_version_is_refused(path):
    raw = sqlite3.connect(path)
    raw.execute(f"PRAGMA user_version = {VERSION + 1}")
    raw.close()
    with pytest.raises(dpkit.NotALedgerError, match=f"version {VERSION + 1}.*up to {VERSION}.*Install"):
        Ledger.open(path)


def test_a_version_that_never_was_is_refused(path):
    raw = sqlite3.connect(path)
    raw.execute("PRAGMA user_version = -7")
    raw.close()
    with pytest.raises(dpkit.NotALedgerError, match="version -7"):
        Ledger.open(path)


def test_a_schema_that_is_no_text_is_damage(path):
    """SQLite quotes the text in its error, and Python cannot read the quotation."""
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE head", b"CREATE TABL\xd4 head"))
    with pytest.raises(dpkit.LedgerCorruptError, match="not UTF-8"):
        Ledger.open(path)
    assert not verify_file(path).ok


def as_version_0(path):
    """A ledger as version 0 wrote it: the log and its head, without look-up columns, indices or guards."""
    raw = sqlite3.connect(path, isolation_level=None)
    raw.execute("CREATE TABLE old (seq INTEGER PRIMARY KEY, body TEXT NOT NULL, value TEXT, hash TEXT NOT NULL)")
    raw.execute("INSERT INTO old SELECT seq, body, value, hash FROM entries")
    raw.execute("DROP TABLE entries")
    raw.execute("ALTER TABLE old RENAME TO entries")
    raw.execute("DROP TABLE brought_over")
    raw.execute("PRAGMA user_version = 0")
    raw.close()


def test_an_older_version_is_migrated_and_its_old_head_still_verifies(path):
    ledger, charge = begun(path)
    ledger.released(charge, 1.5)
    head = ledger.head()
    ledger.close()
    as_version_0(path)
    with Ledger.open(path) as migrated:
        assert migrated.head() == head
        assert migrated.charge("run", UNIT, key="0").value == 1.5
        migrated.charge("run", UNIT, key="1")
        assert verify(migrated, head=head).ok
    raw = sqlite3.connect(path)
    assert raw.execute("PRAGMA user_version").fetchone() == (VERSION,)
    assert raw.execute("PRAGMA application_id").fetchone() == (APPLICATION,)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        raw.execute("DELETE FROM entries")
    raw.close()


def test_a_broken_older_version_is_not_migrated(path):
    begun(path)[0].close()
    as_version_0(path)
    tamper(path, "UPDATE entries SET body = replace(body, 'run', 'fun') WHERE seq = 1")
    before = sqlite3.connect(path).execute("SELECT * FROM entries").fetchall()
    with pytest.raises(dpkit.LedgerCorruptError, match="chain is broken at entry 1"):
        Ledger.open(path)
    assert sqlite3.connect(path).execute("SELECT * FROM entries").fetchall() == before
    with pytest.raises(dpkit.NotALedgerError, match="reading only"):
        Ledger.open(path, read_only=True)


def test_the_log_refuses_to_be_changed(path):
    raw = sqlite3.connect(path)
    for statement in ("UPDATE entries SET body = ''", "DELETE FROM entries"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            raw.execute(statement)
    raw.close()
