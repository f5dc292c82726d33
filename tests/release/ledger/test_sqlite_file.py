"""Where a ledger lies: links, mounts, moves and what is left beside it. Whatever is refused says why, and how to mend it."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from laws.ledger_laws import UNIT, new_ledger, times

import dpkit
from dpkit import ZCDP
from dpkit.release.ledger import sqlite_file as ledger_file
from dpkit.release.ledger.ledger import Ledger
from dpkit.release.ledger.verify import verify, verify_file

BEFORE = Path(__file__).parent.parent / "written_before"
SOME = ZCDP(rho=1 / 1024)


@pytest.fixture
def path(tmp_path):
    return new_ledger(Ledger, tmp_path, releases=8)


@pytest.fixture
def old(tmp_path):
    """A ledger of version 1, as it was after `kill -9`: all but its first entry is in its write-ahead log."""
    for name in ("killed.ledger", "killed.ledger-wal"):
        shutil.copy(BEFORE / name, tmp_path)
    return tmp_path / "killed.ledger"


def in_a_killed_process(work):
    """What is left when a process that did this is killed at once."""
    process = os.fork()
    if process == 0:
        try:
            work()
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL


def test_a_killed_process_and_a_move_lose_no_charge(path, tmp_path):
    kept = []

    def work():
        ledger = Ledger.open(path)
        ledger.reserve("run", times(4))
        ledger.charge("run", UNIT, key="0")
        kept.append(ledger)

    in_a_killed_process(work)
    moved = tmp_path / "other" / "name.ledger"
    moved.parent.mkdir()
    path.rename(moved)
    with Ledger.open(moved) as ledger:
        assert ledger.spent() == SOME
        assert verify(ledger).ok
        assert ledger.reserve("run", times(4)).resumed


def test_a_write_that_was_left_unfinished_is_undone_where_it_lies(path, tmp_path):
    with Ledger.open(path) as ledger:
        ledger.reserve("run")
        ledger.charge("run", UNIT, key="0")
        head = ledger.head()

    def work():
        raw = sqlite3.connect(path, isolation_level=None)
        raw.execute("PRAGMA cache_size = 1")  # so that SQLite writes into the file before the commit
        raw.execute("BEGIN IMMEDIATE")
        raw.execute("UPDATE head SET seq = 7")
        raw.executemany("INSERT INTO entries VALUES (?, 'r', 'k', ?, NULL, '')", [(9 + n, "b" * 3000) for n in range(99)])

    in_a_killed_process(work)
    assert path.with_name(f"{path.name}-journal").stat().st_size > 0
    with pytest.raises(dpkit.LedgerStorageError, match=r"left unfinished.*-journal.*Open it once where it may be written"):
        Ledger.open(path, read_only=True)
    alone = shutil.copy(path, tmp_path / "alone.ledger")
    assert not verify_file(alone, head=head).ok
    with pytest.raises(dpkit.LedgerError), Ledger.open(alone) as ledger:
        ledger.charge("run", UNIT, key="1")
    shutil.copy(f"{path}-journal", f"{alone}-journal")
    for one in (alone, path):
        with Ledger.open(one) as ledger:
            assert ledger.head() == head
            ledger.charge("run", UNIT, key="1")
        assert verify_file(one, head=head).ok


def test_nothing_is_left_beside_a_ledger(path):
    with Ledger.open(path) as ledger:
        ledger.reserve("run")
        ledger.charge("run", UNIT, key="0")
        assert os.listdir(path.parent) == [path.name]


def test_a_link_is_named_and_a_copy_is_not_a_link(path, tmp_path):
    os.link(path, tmp_path / "second.ledger")
    with pytest.raises(dpkit.LedgerStorageError, match=r"2 names.*'second.ledger'.*Nothing was charged.*copy the file"):
        Ledger.open(path)
    with pytest.raises(dpkit.LedgerStorageError, match="hard links"):
        Ledger.open(path, read_only=True)
    (tmp_path / "second.ledger").unlink()
    shutil.copy(path, tmp_path / "copy.ledger")
    Ledger.open(path).close()


def test_links_in_other_folders_are_told_how_to_be_found(path, tmp_path):
    (tmp_path / "far").mkdir()
    os.link(path, tmp_path / "far" / "away")
    with pytest.raises(dpkit.LedgerStorageError, match=r"2 names.*-samefile"):
        Ledger.open(path)


def test_what_a_killed_create_left_is_no_second_name(path):
    draft = ledger_file.draft_of(path, "0123456789abcdef" * 2)
    os.link(path, draft)
    with Ledger.open(path) as ledger:
        ledger.reserve("run")
    assert not draft.exists()


def test_every_symbolic_link_leads_to_one_ledger(path, tmp_path):
    (tmp_path / "folder").mkdir()
    soft = tmp_path / "folder" / "soft.ledger"
    soft.symlink_to(path)
    with Ledger.open(soft) as ledger:
        assert ledger.path == path.resolve()
        ledger.reserve("run", times(8))
    with Ledger.open(path) as ledger, pytest.raises(dpkit.BudgetExceededError):
        ledger.reserve("more", times(1))
    with pytest.raises(dpkit.LedgerExistsError):
        Ledger.create(soft, budget=ZCDP(rho=1.0), dataset="d")
    soft.unlink()
    soft.symlink_to(soft)
    with pytest.raises(dpkit.NotALedgerError):
        Ledger.open(soft)


def test_a_file_that_is_a_mount_of_its_own_is_refused(path, tmp_path, monkeypatch):
    mounts, place = tmp_path / "mountinfo", os.fsencode(path.resolve()).replace(b" ", rb"\040")
    monkeypatch.setattr(ledger_file, "MOUNTS", mounts)
    line = b"36 35 98:0 /mnt1 %s rw,noatime master:1 - ext3 /dev/root rw\n"
    mounts.write_bytes(line % os.fsencode(path.resolve().parent))
    Ledger.open(path).close()
    mounts.write_bytes(line % b"/" + line % place)
    with pytest.raises(dpkit.LedgerStorageError, match=r"file alone is mounted.*Nothing was charged.*Mount its folder"):
        Ledger.open(path)
    spaced = path.with_name("with space.ledger")
    path.rename(spaced)
    mounts.write_bytes(line % os.fsencode(spaced.resolve()).replace(b" ", rb"\040"))
    with pytest.raises(dpkit.LedgerStorageError, match="mounted"):
        Ledger.open(spaced)


def test_so_is_a_real_mount(path, tmp_path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "x.ledger").touch()
    mount = ["unshare", "-rm", "sh", "-c", 'mount --bind "$1" "$2" && shift 2 && exec "$@"', "sh"]
    try:
        subprocess.run([*mount, path, tmp_path / "inside" / "x.ledger", "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no mounts without privileges here")
    alone = tmp_path / "inside" / "x.ledger"
    opening = [sys.executable, "-c", "import sys, dpkit; dpkit.Ledger.open(sys.argv[1])"]
    refused = subprocess.run([*mount, path, alone, *opening, alone], capture_output=True, text=True, check=False)
    assert "the file alone is mounted here" in refused.stderr


def test_a_ledger_that_is_moved_removed_or_replaced_while_open_grants_nothing(path):
    with Ledger.open(path) as ledger:
        ledger.reserve("run", times(4))
        away = path.with_name("away")
        path.rename(away)
        with pytest.raises(dpkit.LedgerStorageError, match="no longer there"):
            ledger.charge("run", UNIT, key="0")
        shutil.copy(away, path)
        with pytest.raises(dpkit.LedgerStorageError, match=r"another file has its name.*Open it again"):
            ledger.charge("run", UNIT, key="0")
        os.replace(away, path)
        ledger.charge("run", UNIT, key="0")
    assert verify_file(path).ok


@pytest.mark.parametrize("suffix", ["-journal", "-wal", "-shm"])
def test_no_ledger_is_created_over_what_an_earlier_one_left(path, suffix):
    """SQLite would apply it to the new file."""
    left = path.with_name(f"new.ledger{suffix}")
    left.write_bytes(b"left")
    with pytest.raises(dpkit.LedgerExistsError, match=f"new.ledger{suffix} of an earlier ledger"):
        Ledger.create(path.with_name("new.ledger"), budget=ZCDP(rho=1.0), dataset="d")
    left.unlink()
    Ledger.create(path.with_name("new.ledger"), budget=ZCDP(rho=1.0), dataset="d").close()


def test_a_write_ahead_log_of_another_ledger_is_not_applied(path, old):
    """An old ledger was killed and moved away, and this one has taken its name."""
    left = old.with_name("killed.ledger-wal")
    whole = path.read_bytes()
    os.replace(path, old)
    with pytest.raises(dpkit.LedgerCorruptError, match=r"killed.ledger-wal .*another ledger.*Nothing was charged"):
        Ledger.open(old)
    assert not verify_file(old).ok
    assert old.read_bytes() == whole
    left.unlink()
    assert verify_file(old).ok


def test_a_missing_write_ahead_log_is_found_by_its_index(old):
    os.rename(f"{old}-wal", f"{old}-away")
    Path(f"{old}-shm").write_bytes(b"\0" * 32768)
    found = verify_file(old)
    assert not found.ok
    assert "killed.ledger-wal does not" in str(found.problems[0])
    with pytest.raises(dpkit.LedgerCorruptError, match=r"Bring killed.ledger-wal back"):
        Ledger.open(old)
    os.rename(f"{old}-away", f"{old}-wal")
    assert verify_file(old).ok


@pytest.mark.parametrize("read_only", [False, True])
def test_verify_says_what_it_cannot_know_of_an_old_ledger_that_comes_alone(old, read_only):
    os.rename(f"{old}-wal", f"{old}-away")
    with Ledger.open(old, read_only=read_only) as ledger:
        found = verify(ledger)
    assert found.ok
    assert "Up to entry 0 an earlier dpkit" in found.cannot_find
    assert "FILE-wal" in verify_file(old).cannot_find  # and keeps saying it


def test_verify_says_nothing_of_the_kind_where_its_log_was_there(old, path):
    for one in (old, path):
        found = verify_file(one)
        assert found.ok
        assert "FILE-wal" not in found.cannot_find


def test_an_old_ledger_leaves_its_write_ahead_log_once_nobody_has_it_open(old):
    other = sqlite3.connect(old, isolation_level=None)
    other.execute("BEGIN")
    assert other.execute("SELECT count(*) FROM entries").fetchone() == (16,)
    with pytest.raises(dpkit.LedgerBusyError, match=r"write-ahead.*Nothing was charged"):
        Ledger.open(old, timeout=0.1)
    other.close()
    with Ledger.open(old) as ledger:
        assert len(ledger.entries()) == 16
        ledger.charge("free", UNIT, key="more")
        alone = shutil.copy(old, old.with_name("alone.ledger"))
    assert not Path(f"{old}-wal").exists()
    with Ledger.open(alone) as ledger:
        assert len(ledger.entries()) == 17


def test_an_old_ledger_that_many_open_at_once_is_brought_over_once(old):
    odd = []

    def ask(mine):
        try:
            with Ledger.open(old, durability="normal") as ledger:
                ledger.reserve(f"mine {mine}")
                ledger.charge(f"mine {mine}", UNIT, key="0")
        except dpkit.DpkitError as error:
            odd.append(error)

    threads = [threading.Thread(target=ask, args=(mine,)) for mine in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not odd
    assert verify_file(old).ok
    with Ledger.open(old) as ledger:
        assert sum(entry.kind == "charge" for entry in ledger.entries()) == 12


def test_a_ledger_that_another_program_put_into_write_ahead_mode_is_put_back(path):
    with Ledger.open(path) as ledger:
        ledger.reserve("run", times(4))
        other = sqlite3.connect(path, isolation_level=None)
        assert other.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
        with pytest.raises(dpkit.LedgerStorageError, match=r"write-ahead mode.*open the ledger again"):
            ledger.charge("run", UNIT, key="0")
        other.close()
    with Ledger.open(path) as ledger:
        ledger.charge("run", UNIT, key="0")
        assert os.listdir(path.parent) == [path.name]


def test_an_earlier_dpkit_refuses_what_this_one_writes(path):
    """It knew versions up to 1; it would put the file back into write-ahead mode."""
    assert sqlite3.connect(path).execute("PRAGMA user_version").fetchone()[0] > 1


def test_a_ledger_may_have_any_name(tmp_path):
    for name in (b"b\xe4r.ledger", b"a?b#c%20 d.ledger", "ä\n.ledger".encode()):
        path = tmp_path / os.fsdecode(name)
        Ledger.create(path, budget=ZCDP(rho=1.0), dataset="d").close()
        with Ledger.open(path) as ledger:
            ledger.reserve("run")
        assert [path] == [each for each in tmp_path.iterdir() if each.name.startswith(path.name)]
