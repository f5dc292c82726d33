"""The finder finds: each law catches a ledger that was broken in the way which the law forbids."""

import json
import shutil
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from laws.ledger_laws import LEDGER_LAWS

from dpkit.errors import DpkitError, LedgerBusyError
from dpkit.privacy.filter_amounts import larger
from dpkit.release.ledger import entries, log, sqlite_store
from dpkit.release.ledger import ledger as ledger_module
from dpkit.release.ledger.entries import Charge, RunAccount
from dpkit.release.ledger.ledger import Ledger
from dpkit.release.ledger.sqlite_store import SqliteStore
from dpkit.release.ledger.sqlite_tables import SqliteTransaction
from dpkit.release.ledger.verify import _Replay

laws = SimpleNamespace(**{law.__name__: law for law in LEDGER_LAWS})


def caught(law, kind, folder):
    with pytest.raises(AssertionError):
        law(kind, Path(folder))


def test_check_then_insert_without_a_transaction(monkeypatch, tmp_path):
    @contextmanager
    def unlocked(self, *, writes):
        with self.translated():
            yield SqliteTransaction(self.current(), self.path)

    def at_the_end(self, *, seq, run, key, body, value, hash):
        """As such code does it: whoever comes later is appended, whatever both had read."""
        time.sleep(0.002)  # so that others read meanwhile
        self.raw.execute(
            "INSERT INTO entries SELECT coalesce(max(seq), -1) + 1, ?, ?, ?, ?, ? FROM entries", (run, key, body, value, hash)
        )
        self.raw.execute("INSERT OR REPLACE INTO head SELECT 1, max(seq), ? FROM entries", (hash,))

    monkeypatch.setattr(SqliteStore, "transaction", unlocked)
    monkeypatch.setattr(SqliteTransaction, "append", at_the_end)
    caught(laws.grants_exactly_what_fits, Ledger, tmp_path)


def test_a_ledger_that_forgets_reservations(monkeypatch, tmp_path):
    monkeypatch.setattr(RunAccount, "held", property(lambda self: self.spent))
    caught(laws.reservations_count, Ledger, tmp_path)


def test_a_ledger_that_never_gives_back(monkeypatch, tmp_path):
    held = property(lambda self: self.spent if self.plan is None else larger(self.plan, self.spent))
    monkeypatch.setattr(RunAccount, "held", held)
    caught(laws.reservations_count, Ledger, tmp_path)


def test_a_ledger_that_refunds_what_failed(monkeypatch, tmp_path):
    monkeypatch.setattr(RunAccount, "spent", property(lambda self: self.live))
    caught(laws.the_charge_precedes_the_release, Ledger, tmp_path)


def test_a_run_without_a_plan_s_limit(monkeypatch, tmp_path):
    monkeypatch.setattr(RunAccount, "covers", lambda self, price: True)
    caught(laws.a_run_keeps_to_its_plan, Ledger, tmp_path)


def test_a_chain_that_does_not_cover_the_state(monkeypatch, tmp_path):
    whole = entries.chained

    def forgetful(previous, body):
        said = json.loads(body)
        return whole(previous, entries.canonical({k: v for k, v in said.items() if k not in ("totals", "account")}))

    monkeypatch.setattr(log, "chained", forgetful)
    caught(laws.a_charge_trusts_no_changed_total, Ledger, tmp_path)


class ChargesAfterTheRelease(Ledger):
    """The order that costs privacy: what is asked for is written down once it has gone out."""

    def charge(self, run, event, *, key):
        return Charge(run=run, key=key, seq=0, value=event)

    def released(self, charge, value):
        super().released(super().charge(charge.run, charge.value, key=charge.key), value)
        return value


def test_a_charge_after_the_release(tmp_path):
    caught(laws.the_charge_precedes_the_release, ChargesAfterTheRelease, tmp_path)


def test_a_ledger_that_draws_again_for_nothing(monkeypatch, tmp_path):
    """A resumed run that gets a fresh value under an old charge."""
    honest = Ledger.charge

    def forgetful(self, run, event, *, key):
        found = honest(self, run, event, key=key)
        return Charge(run=run, key=key, seq=found.seq)

    monkeypatch.setattr(Ledger, "charge", forgetful)
    caught(laws.what_was_released_comes_back_unpaid, Ledger, tmp_path)


def test_charges_that_are_kept_beside_the_file(monkeypatch, tmp_path):
    """A write-ahead log, as earlier versions had: what `kill -9` and a move leave behind holds nothing."""
    connect = SqliteStore.connect

    def write_ahead(self):
        connection = connect(self)
        connection.execute("PRAGMA journal_mode = WAL")
        return connection

    monkeypatch.setattr(SqliteStore, "connect", write_ahead)
    monkeypatch.setattr(SqliteStore, "check_writable", lambda self, raw: None)
    monkeypatch.setattr(SqliteStore, "leave_write_ahead", lambda self: None)
    caught(laws.the_file_alone_holds_every_charge, Ledger, tmp_path)


def test_a_ledger_that_obeys_what_stands_in_its_file(monkeypatch, tmp_path):
    monkeypatch.setattr(SqliteTransaction, "check_tables", lambda self: None)
    caught(laws.no_trigger_swallows_a_charge, Ledger, tmp_path)


def test_a_file_that_is_not_looked_through(monkeypatch, tmp_path):
    monkeypatch.setattr(SqliteStore, "check_writable", lambda self, raw: None)
    caught(laws.a_torn_copy_loses_nothing_silently, Ledger, tmp_path)


@pytest.mark.parametrize("blind", ["st_nlink", "st_ino"])
def test_a_ledger_that_looks_at_its_name_alone(monkeypatch, tmp_path, blind):
    """By whichever name it comes: a second link, or another file in its place."""

    def trusting(path, known=None):
        if blind == "st_nlink":
            return path.stat().st_dev, path.stat().st_ino
        return honest(path)

    honest = sqlite_store.identity
    monkeypatch.setattr(sqlite_store, "identity", trusting)
    caught(laws.one_file_has_one_name, Ledger, tmp_path)


def test_a_verification_that_believes_any_digest(monkeypatch, tmp_path):
    honest = _Replay.place_of

    def trusting(self, since):
        return honest(self, since) if since in self.hashes else len(self.hashes) - 1

    monkeypatch.setattr(_Replay, "place_of", trusting)
    caught(laws.a_cut_tail_is_found_by_its_digest, Ledger, tmp_path)


def test_a_store_that_keeps_what_failed(monkeypatch, tmp_path):
    @contextmanager
    def committing(self, *, writes):
        with self.translated():
            raw = self.current()
            raw.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
            try:
                yield SqliteTransaction(raw, self.path)
            finally:
                raw.execute("COMMIT")

    monkeypatch.setattr(SqliteStore, "transaction", committing)
    caught(laws.nothing_stays_of_a_failed_step, Ledger, tmp_path)


@pytest.mark.parametrize("forgotten", ["run", "key", "since", "last", "most"])
def test_a_store_that_does_not_look_at_all_it_is_asked(monkeypatch, tmp_path, forgotten):
    whole = SqliteTransaction.rows
    monkeypatch.setattr(
        SqliteTransaction, "rows", lambda self, **asked: whole(self, **{k: v for k, v in asked.items() if k != forgotten})
    )
    with pytest.raises((AssertionError, DpkitError)):  # a log that reads other entries may not even open
        laws.entries_are_found_as_they_were_filed(Ledger, tmp_path)


def test_a_store_whose_writers_do_not_wait(monkeypatch, tmp_path):
    whole = SqliteStore.transaction
    monkeypatch.setattr(SqliteStore, "transaction", lambda self, *, writes: whole(self, writes=False))
    caught(laws.a_writer_is_alone, Ledger, tmp_path)


def test_a_store_that_is_created_again(monkeypatch, tmp_path):
    def replacing(path, log):
        path.unlink(missing_ok=True)
        honest(path, log)

    honest = ledger_module.create_file
    monkeypatch.setattr(ledger_module, "create_file", replacing)
    caught(laws.it_is_created_once, Ledger, tmp_path)


def test_a_ledger_that_travels_as_a_copy(monkeypatch, tmp_path):
    def copied(self):
        other = self.path.with_name("copy")
        shutil.copy(self.path, other)
        return Ledger.open, (other,)

    monkeypatch.setattr(Ledger, "__reduce__", copied)
    caught(laws.a_ledger_travels, Ledger, tmp_path)


@pytest.mark.parametrize("wrong", [{"timeout": 1.0}, {"nonsense": 1}, {"durability": "full"}])
def test_a_store_that_forgets_how_it_was_opened(monkeypatch, tmp_path, wrong):
    honest = SqliteStore.opened_with.fget
    monkeypatch.setattr(SqliteStore, "opened_with", property(lambda self: {**honest(self), **wrong}))
    caught(laws.it_opens_elsewhere_as_it_was, Ledger, tmp_path)


def test_a_store_that_signs_as_anybody(monkeypatch, tmp_path):
    monkeypatch.setattr(SqliteStore, "author", lambda self, who: "anybody")
    caught(laws.entries_name_their_author, Ledger, tmp_path)


def test_a_store_that_locks_out_threads_and_no_process(monkeypatch, tmp_path):
    """Of two processes, each has a lock of its own."""
    whole, lock = SqliteStore.transaction, threading.RLock()

    @contextmanager
    def alone(self, *, writes):
        if writes and not lock.acquire(timeout=self.timeout):
            raise LedgerBusyError(path=self.path, reason="another thread writes.", fix="Wait.")
        try:
            with whole(self, writes=False) as found:
                yield found
        finally:
            if writes:
                lock.release()

    monkeypatch.setattr(SqliteStore, "transaction", alone)
    caught(laws.a_writer_is_alone_among_processes, Ledger, tmp_path)
