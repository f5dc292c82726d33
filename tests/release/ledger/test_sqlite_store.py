"""Files that are missing, foreign, newer, older, full, read-only, locked or damaged: a clear error, and no charge."""

import os
import sqlite3
import threading

import pytest
from laws.ledger_laws import UNIT, new_ledger, times

import dpkit
from dpkit import ZCDP
from dpkit.release.ledger.ledger import Ledger
from dpkit.release.ledger.sqlite_store import SqliteStore
from dpkit.release.ledger.verify import verify, verify_file


@pytest.fixture
def path(tmp_path):
    return new_ledger(Ledger, tmp_path, releases=8)


def begun(path, **options):
    ledger = Ledger.open(path, **options)
    ledger.reserve("run", times(4))
    return ledger, ledger.charge("run", UNIT, key="0")


def test_a_ledger_is_created_whole_and_overwrites_nothing(path, tmp_path):
    before = path.read_bytes()
    with pytest.raises(dpkit.LedgerExistsError, match="already"):
        Ledger.create(path, budget=ZCDP(rho=1.0), dataset="other")
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == [path.name]
    with pytest.raises(dpkit.LedgerStorageError, match=r"created|written"):
        Ledger.create(tmp_path / "nowhere" / "l", budget=ZCDP(rho=1.0), dataset="d")


def test_two_who_create_at_once_make_one(tmp_path):
    made, refused = [], []

    def create():
        try:
            made.append(Ledger.create(tmp_path / "l", budget=ZCDP(rho=1.0), dataset="d").id)
        except dpkit.LedgerExistsError:
            refused.append(1)

    threads = [threading.Thread(target=create) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(made), len(refused)) == (1, 3)
    with Ledger.open(tmp_path / "l") as ledger:
        assert ledger.id == made[0]


def test_what_is_no_ledger_is_refused(tmp_path):
    with pytest.raises(dpkit.NotALedgerError, match="no such file"):
        Ledger.open(tmp_path / "missing")
    assert not (tmp_path / "missing").exists()
    (tmp_path / "text").write_text("epsilon,delta\n" * 100, encoding="utf-8")
    (tmp_path / "empty").write_bytes(b"")
    sqlite3.connect(tmp_path / "other").execute("CREATE TABLE t (x)").connection.close()
    for name in ("text", "empty", "other"):
        with pytest.raises(dpkit.NotALedgerError, match="not a ledger"):
            Ledger.open(tmp_path / name)


def nothing_happened(path, spent):
    with Ledger.open(path) as ledger:
        assert ledger.spent() == spent
        assert verify(ledger).ok


def test_a_locked_file_is_an_error_after_the_time_given(path):
    ledger, charge = begun(path, timeout=0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for ask in (
        lambda: ledger.charge("run", UNIT, key="1"),
        lambda: ledger.released(charge, 1.0),
        lambda: ledger.close_run("run"),
        lambda: ledger.reserve("other"),
    ):
        with pytest.raises(dpkit.LedgerBusyError, match=r"another process holds it.*Nothing was charged"):
            ask()
    assert ledger.spent() == ZCDP(rho=1 / 1024)  # reading waits for nobody
    other.execute("ROLLBACK")
    other.close()
    nothing_happened(path, ZCDP(rho=1 / 1024))
    ledger.released(charge, 1.0)
    ledger.close()


def test_a_full_disk_is_an_error_and_no_charge(path):
    ledger, charge = begun(path)
    raw = ledger.store.current()
    pages = raw.execute("PRAGMA page_count").fetchone()[0]
    raw.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(dpkit.LedgerStorageError, match=r"full.*Nothing was charged"):
        ledger.released(charge, [0.125] * 20_000)
    with pytest.raises(dpkit.LedgerStorageError):  # noqa: PT012 - how many fit is the page's business
        for step in range(100):
            ledger.reserve(f"run {step}")
    ledger.close()
    assert verify_file(path).ok
    with Ledger.open(path) as again:
        assert again.entries("run")[1].state == "reserved"  # charged before, still pending
        assert not any(entry.kind == "release" for entry in again.entries())


def test_a_file_system_that_takes_no_more_is_an_error_and_no_charge(path):
    """The system itself refuses to let the file grow, as a full disk or a quota does."""
    resource = pytest.importorskip("resource")
    ledger, charge = begun(path)
    before, (soft, hard) = ledger.head(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(dpkit.LedgerStorageError, match="Nothing was charged"):
            ledger.released(charge, [0.125] * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert ledger.head() == before
    ledger.released(charge, [0.125] * 100_000)
    ledger.close()
    assert verify_file(path).ok


def test_a_read_only_ledger_can_be_read_and_not_charged(path):
    ledger, charge = begun(path)
    with Ledger.open(path, read_only=True) as reader:
        assert reader.spent() == ZCDP(rho=1 / 1024)
        assert verify(reader).ok
        with pytest.raises(dpkit.LedgerStorageError, match=r"readonly.*Nothing was charged"):
            reader.charge("run", UNIT, key="1")
        with pytest.raises(dpkit.LedgerStorageError, match="readonly"):
            reader.released(charge, 1.0)
    ledger.close()
    nothing_happened(path, ZCDP(rho=1 / 1024))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is read-only to root")
def test_a_file_that_may_not_be_written_is_an_error(path):
    begun(path)[0].close()
    path.chmod(0o400)
    with pytest.raises(dpkit.LedgerStorageError, match="Nothing was charged"):
        Ledger.open(path).charge("run", UNIT, key="1")


def test_a_damaged_page_is_an_error_and_no_charge(path):
    ledger = Ledger.open(path)
    ledger.reserve("run")
    for step in range(8):
        ledger.released(ledger.charge("run", UNIT, key=str(step)), [0.5] * 500)
    ledger.close()
    whole = path.read_bytes()
    pages = len(whole) // 4096
    for page in range(1, pages):
        path.write_bytes(whole[: page * 4096] + b"\xa5" * 4096 + whole[(page + 1) * 4096 :])
        found = verify_file(path)
        assert not found.ok, page
        with pytest.raises(dpkit.DpkitError), Ledger.open(path) as damaged:
            damaged.charge("run", UNIT, key="more")
    path.write_bytes(whole)
    assert verify_file(path).ok


def test_a_file_cut_short_is_an_error(path):
    begun(path)[0].close()
    whole = path.read_bytes()
    for length in (100, 4096, len(whole) - 4096):
        path.write_bytes(whole[:length])
        with pytest.raises(dpkit.LedgerError), Ledger.open(path) as ledger:
            ledger.charge("run", UNIT, key="1")


def test_an_error_while_committing_is_no_charge(path, monkeypatch):
    """A test double of a disk that fails at the last moment."""
    ledger, _ = begun(path)

    class Failing:
        def __init__(self, raw):
            self.raw = raw

        def execute(self, statement, *arguments):
            if statement == "COMMIT":
                raise sqlite3.OperationalError("disk I/O error")
            return self.raw.execute(statement, *arguments)

        def __getattr__(self, name):
            return getattr(self.raw, name)

    raw = ledger.store.current()
    monkeypatch.setattr(SqliteStore, "current", lambda self: Failing(raw))
    with pytest.raises(dpkit.LedgerError):
        ledger.charge("run", UNIT, key="1")
    monkeypatch.undo()
    assert not raw.in_transaction
    assert ledger.spent() == ZCDP(rho=1 / 1024)
    ledger.close()


def test_sqlite_runs_as_the_promise_needs(path):
    for durability, level in (("full", 3), ("normal", 0)):
        with Ledger.open(path, durability=durability) as ledger:
            raw = ledger.store.current()
            assert raw.execute("PRAGMA synchronous").fetchone() == (level,)
            assert raw.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    with pytest.raises(dpkit.InvalidValueError, match="durability"):
        Ledger.open(path, durability="off")


def test_no_error_of_a_ledger_loses_anything_when_pickled(path):
    import pickle

    error = dpkit.LedgerDisagreementError(path=path, field="unit", ledger="row", given="person")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.field, again.path) == (str(error), "unit", str(path))
