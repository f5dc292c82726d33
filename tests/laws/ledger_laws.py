"""The laws of ledgers: functions of a ledger class and of an empty folder that raise AssertionError where the law is broken."""

from __future__ import annotations

import os
import pickle
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from dpkit.errors import (
    BudgetExceededError,
    LedgerCorruptError,
    LedgerError,
    LedgerStorageError,
)
from dpkit.privacy.losses import ZCDP
from dpkit.release.ledger.entries import Head
from dpkit.release.ledger.ledger import Ledger
from dpkit.release.ledger.verify import verify, verify_file
from dpkit.testing.ledger_store_laws import PROTOCOL_LAWS, UNIT, NewLedger, refused, times

Law = Callable[[type[Ledger], Path], None]


def new_ledger(kind: type[Ledger], folder: Path, *, releases: int, name: str = "law.ledger") -> Path:
    """A ledger with room for exactly this number of releases."""
    path = folder / name
    Ledger.create(path, budget=ZCDP(rho=releases / 1024.0), dataset="law").close()
    return path


def tamper(path: Path, *statements: str, arguments: tuple[object, ...] = ()) -> None:
    """Change a ledger behind its back, as somebody with an SQLite shell could, who puts its guards back afterwards."""
    raw = sqlite3.connect(path, isolation_level=None)
    try:
        raw.execute("PRAGMA synchronous = OFF")
        guards = raw.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in guards:
            raw.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            raw.execute(statement, arguments)
        for _, guard in guards:
            raw.execute(guard)
    finally:
        raw.close()


def a_charge_trusts_no_changed_total(kind: type[Ledger], folder: Path) -> None:
    """The chain covers the totals: after somebody lowers them in the last entry, nothing more is granted."""
    path = new_ledger(kind, folder, releases=8)
    with kind.open(path) as ledger:
        ledger.reserve("run")
        for step in range(8):
            ledger.charge("run", UNIT, key=str(step))
    # the last entry now says that half of it was never spent
    tamper(path, """UPDATE entries SET body = replace(body, '"1/128"', '"1/256"') WHERE seq = (SELECT max(seq) FROM entries)""")
    with kind.open(path) as ledger:
        refused(lambda: ledger.charge("run", UNIT, key="more"), LedgerCorruptError)
        assert not verify(ledger).ok


def a_cut_tail_is_found_by_its_digest(kind: type[Ledger], folder: Path) -> None:
    """Who cuts the last entries off and moves the head back deceives the file, and nobody who kept a digest from before."""
    path = new_ledger(kind, folder, releases=8)
    with kind.open(path, durability="normal") as ledger:
        ledger.reserve("run")
        digests = [ledger.head().hash]
        for step in range(4):
            ledger.charge("run", UNIT, key=str(step))
            digests.append(ledger.head().hash)
        for place, digest in enumerate(digests, start=1):
            found = verify_file(path, since=digest)
            assert found.ok
            assert found.since == place
    tamper(
        path, "DELETE FROM entries WHERE seq > 2", "UPDATE head SET seq = 2, hash = (SELECT hash FROM entries WHERE seq = 2)"
    )
    assert verify_file(path).ok, "this is what the file alone cannot show"
    for place, digest in enumerate(digests, start=1):
        assert verify_file(path, since=digest).ok == (place <= 2), "a tail that was cut off was not found by its digest"
    with kind.open(path, durability="normal") as ledger:  # nor do new entries in the place of the old ones help
        for step in range(1, 4):
            ledger.charge("run", UNIT, key=str(step))
        for digest in digests[2:]:
            assert not verify(ledger, since=digest).ok, "a tail that was replaced was not found by its digest"


def the_file_alone_holds_every_charge(kind: type[Ledger], folder: Path) -> None:
    """Once a charge was granted, or a value recorded, a copy of the one file has it, whatever else lies in the folder."""
    path, alone = new_ledger(kind, folder, releases=8), folder / "elsewhere" / "alone.ledger"
    alone.parent.mkdir()
    with kind.open(path) as ledger:
        ledger.reserve("run")
        for step in range(4):
            charge = ledger.charge("run", UNIT, key=str(step))
            for what in (lambda: None, lambda charge=charge, step=step: ledger.released(charge, step)):
                what()
                shutil.copy(path, alone)
                with kind.open(alone) as copied:
                    assert copied.head() == ledger.head(), "the file alone does not hold what was granted"
                    assert copied.spent() == ZCDP(rho=(step + 1) / 1024)


def a_torn_copy_loses_nothing_silently(kind: type[Ledger], folder: Path) -> None:
    """A copy from the middle of a write, without its companion: all that was granted is there, or it is refused and found."""
    path, torn, chance = new_ledger(kind, folder, releases=40), folder / "torn.ledger", random.Random(1)
    with kind.open(path, durability="normal") as ledger:
        granted, before = ledger.head(), path.read_bytes()
        for _ in _writes(ledger, chance):
            after = path.read_bytes()
            for written in _unfinished(before, after, chance):
                torn.write_bytes(written)
                _whole_orrefused(kind, torn, granted)
            granted, before = ledger.head(), after


def _writes(ledger: Ledger, chance: random.Random) -> Iterator[None]:
    """Entries of every kind, small and large, in an order that splits the pages of the log and of its indices."""
    for run in ("m", "a"):
        ledger.reserve(run)
        yield
        for step in range(4):
            charge = ledger.charge(run, UNIT, key=f"{chance.random()}")
            yield
            if step % 3:
                ledger.released(charge, [0.5] * chance.choice([1, 30, 900]))
                yield


_PAGE = 4096


def _unfinished(before: bytes, after: bytes, chance: random.Random) -> Iterator[bytes]:
    """A file between two states: the first of the pages that change, as after a kill; any of them, as after a power failure."""
    changed = [at for at in range(0, len(after), _PAGE) if after[at : at + _PAGE] != before[at : at + _PAGE]]
    some = chance.sample(changed, chance.randint(1, len(changed)))
    for chosen in [*(changed[:count] for count in range(1, len(changed))), sorted(some)]:
        file = bytearray(before)
        for at in chosen:
            file.extend(b"\0" * (at + _PAGE - len(file)))
            file[at : at + _PAGE] = after[at : at + _PAGE]
        yield bytes(file)


def _whole_orrefused(kind: type[Ledger], path: Path, granted: Head) -> None:
    try:
        with kind.open(path, durability="normal") as ledger:
            ledger.reserve("afterwards")
    except LedgerError:
        return
    assert verify_file(path, head=granted).ok, "a copy that lost something, or is damaged, was charged"


def no_trigger_swallows_a_charge(kind: type[Ledger], folder: Path) -> None:
    """Where something in the file drops what is written, nothing is granted, and `verify` finds it."""
    path = new_ledger(kind, folder, releases=4)
    ignored = "BEGIN SELECT RAISE(IGNORE); END"
    with kind.open(path, durability="normal") as ledger:
        ledger.reserve("run")
        tamper(
            path, f"CREATE TRIGGER a BEFORE INSERT ON entries {ignored}", f"CREATE TRIGGER b BEFORE UPDATE ON head {ignored}"
        )
        refused(lambda: ledger.charge("run", UNIT, key="0"), LedgerCorruptError)
        assert not verify(ledger).ok, "a file that drops charges was found to be fine"


def one_file_has_one_name(kind: type[Ledger], folder: Path) -> None:
    """A second hard link grants nothing, at once or while the file is open; a symbolic link leads to the same budget."""
    path = new_ledger(kind, folder, releases=4)
    first, second, soft = folder / "first", folder / "second", folder / "soft"
    soft.symlink_to(path)
    with kind.open(path) as ledger, kind.open(soft) as same:
        ledger.reserve("run", times(2))
        refused(lambda: same.reserve("other", times(3)), BudgetExceededError)
        os.link(path, second)
        refused(lambda: ledger.charge("run", UNIT, key="0"), LedgerStorageError)
        refused(lambda: kind.open(second), LedgerStorageError)
        second.unlink()
        ledger.charge("run", UNIT, key="0")
        path.rename(first)
        shutil.copy(first, path)
        refused(lambda: ledger.charge("run", UNIT, key="1"), LedgerStorageError)
        ledger.close()
        refused(lambda: ledger.charge("run", UNIT, key="1"), LedgerStorageError)


def _in_folder(law: Callable[[type[Ledger], NewLedger], None]) -> Law:
    """A law of any store, on files of this folder."""

    def held(kind: type[Ledger], folder: Path) -> None:
        law(kind, lambda releases: new_ledger(kind, folder, releases=releases))

    held.__name__ = law.__name__
    return held


def a_ledger_travels(kind: type[Ledger], folder: Path) -> None:
    """Pickled and opened in another process, it is the same ledger."""
    with kind.open(new_ledger(kind, folder, releases=8)) as ledger:
        ledger.reserve("run")
        with pickle.loads(pickle.dumps(ledger)) as other:
            other.charge("run", UNIT, key="0")
        assert ledger.spent() == ZCDP(rho=1 / 1024)


LEDGER_LAWS: tuple[Law, ...] = (
    *map(_in_folder, PROTOCOL_LAWS),
    a_charge_trusts_no_changed_total,
    a_cut_tail_is_found_by_its_digest,
    the_file_alone_holds_every_charge,
    a_torn_copy_loses_nothing_silently,
    no_trigger_swallows_a_charge,
    one_file_has_one_name,
    a_ledger_travels,
)
