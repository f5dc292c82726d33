"""The finder finds: each law catches a ledger that was broken in the way which the law forbids."""

import json
from contextlib import contextmanager
from pathlib import Path

import pytest
from laws import ledger_laws as laws

from dpkit.release.ledger import chain as ledger_chain
from dpkit.release.ledger import connection as ledger_connection
from dpkit.release.ledger import tables as ledger_schema
from dpkit.release.ledger.connection import LedgerConnection
from dpkit.release.ledger.entries import Charge
from dpkit.release.ledger.file import Identity
from dpkit.release.ledger.ledger import Ledger
from dpkit.release.ledger.protocol import LedgerProtocol
from dpkit.release.ledger.runs import RunAmounts
from dpkit.release.ledger.verify import _Replay


def caught(law, kind, folder):
    with pytest.raises(AssertionError):
        law(kind, Path(folder))


def test_check_then_insert_without_a_transaction(monkeypatch, tmp_path):
    @contextmanager
    def unlocked(self):
        with self.translated():
            yield self.current()

    def at_the_end(connection, *, seq, run, key, body, value, hash):
        """As such code does it: whoever comes later is appended, whatever both had read."""
        connection.execute("INSERT INTO entries SELECT max(seq) + 1, ?, ?, ?, ?, ? FROM entries", (run, key, body, value, hash))
        connection.execute("INSERT OR REPLACE INTO head SELECT 1, max(seq), ? FROM entries", (hash,))

    monkeypatch.setattr(LedgerConnection, "writing", unlocked)
    monkeypatch.setattr("dpkit.release.ledger.log.append", at_the_end)
    caught(laws.grants_exactly_what_fits, Ledger, tmp_path)


def test_a_ledger_that_forgets_reservations(monkeypatch, tmp_path):
    monkeypatch.setattr(RunAmounts, "held", property(lambda self: self.spent))
    caught(laws.reservations_count, Ledger, tmp_path)


def test_a_ledger_that_never_gives_back(monkeypatch, tmp_path):
    monkeypatch.setattr(RunAmounts, "closed", lambda self: self)
    caught(laws.reservations_count, Ledger, tmp_path)


def test_a_ledger_that_refunds_what_failed(monkeypatch, tmp_path):
    monkeypatch.setattr(RunAmounts, "spent", property(lambda self: self.live))
    caught(laws.the_charge_precedes_the_release, Ledger, tmp_path)


def test_a_run_without_a_plan_s_limit(monkeypatch, tmp_path):
    monkeypatch.setattr(RunAmounts, "covers", lambda self, price: True)
    caught(laws.a_run_keeps_to_its_plan, Ledger, tmp_path)


def test_a_chain_that_does_not_cover_the_state(monkeypatch, tmp_path):
    whole = ledger_chain.chained

    def forgetful(previous, body):
        said = json.loads(body)
        return whole(previous, ledger_chain.canonical({k: v for k, v in said.items() if k not in ("totals", "account")}))

    for module in (ledger_chain, ledger_schema):
        monkeypatch.setattr(module, "chained", forgetful)
    monkeypatch.setattr("dpkit.release.ledger.ledger.chained", forgetful)
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
    honest = LedgerProtocol.charge

    def forgetful(self, raw, run, key, priced):
        found = honest(self, raw, run, key, priced)
        return Charge(run=run, key=key, seq=found.seq)

    monkeypatch.setattr(LedgerProtocol, "charge", forgetful)
    caught(laws.what_was_released_comes_back_unpaid, Ledger, tmp_path)


def test_charges_that_are_kept_beside_the_file(monkeypatch, tmp_path):
    """A write-ahead log, as earlier versions had: what `kill -9` and a move leave behind holds nothing."""
    connect = LedgerConnection._connect

    def write_ahead(self):
        connection = connect(self)
        connection.execute("PRAGMA journal_mode = WAL")
        return connection

    monkeypatch.setattr(LedgerConnection, "_connect", write_ahead)
    monkeypatch.setattr(LedgerConnection, "_check_journal", lambda self, connection: None)
    monkeypatch.setattr(ledger_schema, "_leave_write_ahead", lambda connection: None)
    caught(laws.the_file_alone_holds_every_charge, Ledger, tmp_path)


def test_a_ledger_that_obeys_what_stands_in_its_file(monkeypatch, tmp_path):
    monkeypatch.setattr("dpkit.release.ledger.log.check_tables", lambda raw, path: None)
    caught(laws.no_trigger_swallows_a_charge, Ledger, tmp_path)


def test_a_file_that_is_not_looked_through(monkeypatch, tmp_path):
    monkeypatch.setattr(ledger_connection, "check_whole", lambda connection, path: None)
    caught(laws.a_torn_copy_loses_nothing_silently, Ledger, tmp_path)


@pytest.mark.parametrize("blind", ["st_nlink", "st_ino"])
def test_a_ledger_that_looks_at_its_name_alone(monkeypatch, tmp_path, blind):
    """By whichever name it comes: a second link, or another file in its place."""

    def trusting(path, known=None):
        if blind == "st_nlink":
            return Identity(device=path.stat().st_dev, inode=path.stat().st_ino)
        return honest(path)

    honest = ledger_connection.identity
    monkeypatch.setattr(ledger_connection, "identity", trusting)
    caught(laws.one_file_has_one_name, Ledger, tmp_path)


def test_a_verification_that_believes_any_digest(monkeypatch, tmp_path):
    honest = _Replay.place_of

    def trusting(self, since):
        return honest(self, since) if since in self.hashes else len(self.hashes) - 1

    monkeypatch.setattr(_Replay, "place_of", trusting)
    caught(laws.a_cut_tail_is_found_by_its_digest, Ledger, tmp_path)
