"""`verify` finds whatever was changed, removed, moved or cut off, and says what it cannot find without an exported head."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest
from laws.ledger_laws import UNIT, new_ledger, tamper, times

from dpkit import GaussianEvent, default_registry
from dpkit.errors import LedgerCorruptError, SerialisationError
from dpkit.release.ledger.entries import START, Head, canonical, chained
from dpkit.release.ledger.ledger import Ledger
from dpkit.release.ledger.verify import export_lines, verify, verify_file


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A ledger with an entry of every kind, closed, so that its file is all there is of it."""
    path = new_ledger(Ledger, tmp_path_factory.mktemp("ledger"), releases=8)
    with Ledger.open(path) as ledger:
        ledger.reserve("one", times(3), analysis="abc")
        ledger.released(ledger.charge("one", UNIT, key="0"), [1.5, 2.5])
        ledger.failed(ledger.charge("one", UNIT, key="1"), "Cancelled")
        ledger.reserve("two")
        ledger.charge("two", UNIT, key="0")
        ledger.close_run("one")
        ledger.charge("two", UNIT, key="1")
    return path


@pytest.fixture
def path(written, tmp_path):
    return Path(shutil.copy(written, tmp_path / "copy.ledger"))


def rows(path):
    with Ledger.open(path) as ledger:
        return ledger.entries()


def leaves(node, place=()):
    if isinstance(node, dict | list) and node:
        for key, inner in node.items() if isinstance(node, dict) else enumerate(node):
            yield from leaves(inner, (*place, key))
    else:
        yield place


def changed(node, place):
    """The body with one leaf changed."""
    body = json.loads(json.dumps(node))
    inner = body
    for key in place[:-1]:
        inner = inner[key]
    old = inner[place[-1]]
    if isinstance(old, bool):
        inner[place[-1]] = not old
    elif isinstance(old, int | float):
        inner[place[-1]] = old + 1
    elif isinstance(old, str) and "/" in old:
        inner[place[-1]] = "1/4096"
    else:
        inner[place[-1]] = f"{old}x"
    return body


def rewritten(path, bodies):
    """Somebody who knows the format: the log with other bodies, and all hashes made anew."""
    raw = sqlite3.connect(path, isolation_level=None)
    raw.execute("PRAGMA synchronous = OFF")
    (guard,) = raw.execute("SELECT sql FROM sqlite_schema WHERE name = 'entries_are_not_changed'").fetchone()
    raw.execute("DROP TRIGGER entries_are_not_changed")
    raw.execute("BEGIN")
    previous = START
    for seq, body in enumerate(bodies):
        text = canonical(body)
        previous = chained(previous, text)
        raw.execute("UPDATE entries SET body = ?, hash = ? WHERE seq = ?", (text, previous, seq))
    raw.execute("UPDATE head SET hash = ?", (previous,))
    raw.execute(guard)
    raw.execute("COMMIT")
    raw.close()


def test_an_honest_ledger_verifies(path):
    found = verify_file(path)
    assert found.ok
    assert found.entries == 10
    assert "rollback" in found.cannot_find


def test_any_changed_field_of_any_entry_is_found(path):
    entries = rows(path)
    for entry in entries:
        for place in leaves(entry.body):
            tamper(
                path, "UPDATE entries SET body = ? WHERE seq = ?", arguments=(canonical(changed(entry.body, place)), entry.seq)
            )
            assert not verify_file(path).ok, (entry.seq, place)
        tamper(path, "UPDATE entries SET body = ? WHERE seq = ?", arguments=(entry.text, entry.seq))
    assert verify_file(path).ok


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET value = '[1.5,3.5]' WHERE value IS NOT NULL",
        "UPDATE entries SET value = NULL",
        "UPDATE entries SET value = '1' WHERE seq = 2",
        "UPDATE entries SET hash = 'no' WHERE seq = 5",
        "UPDATE entries SET run = 'two' WHERE seq = 2",
        "UPDATE entries SET key = '7' WHERE seq = 2",
        "UPDATE entries SET body = 'not json' WHERE seq = 4",
        "UPDATE entries SET body = '{}' WHERE seq = 4",
        "DELETE FROM entries WHERE seq = 4",
        "DELETE FROM entries WHERE seq = (SELECT max(seq) FROM entries)",
        "DELETE FROM entries WHERE seq > 3",
        "DELETE FROM entries WHERE seq = 0",
        "DELETE FROM entries",
        "DELETE FROM head",
        "UPDATE entries SET seq = 99 WHERE seq = 4",
        "UPDATE entries SET body = (SELECT body FROM entries AS other WHERE other.seq = 5) WHERE seq = 4",
        "INSERT INTO entries SELECT 10, run, key, body, value, hash FROM entries WHERE seq = 9",
        "UPDATE head SET seq = 3",
    ],
)
def test_what_is_changed_removed_moved_or_cut_off_is_found(path, statement):
    tamper(path, statement)
    assert not verify_file(path).ok


def test_two_entries_that_changed_places_are_found(path):
    tamper(
        path,
        "UPDATE entries SET seq = -1 WHERE seq = 4",
        "UPDATE entries SET seq = 4 WHERE seq = 5",
        "UPDATE entries SET seq = 5 WHERE seq = -1",
    )
    assert not verify_file(path).ok


def test_a_rewritten_log_must_still_add_up(path):
    """With all hashes made anew, prices and totals are still recomputed from the events."""
    bodies = [dict(entry.body) for entry in rows(path)]
    for entry in rows(path):
        for place in leaves(entry.body):
            if place[0] in ("totals", "account", "price", "event", "charge", "kind"):
                forged = [*bodies[: entry.seq], changed(entry.body, place), *bodies[entry.seq + 1 :]]
                rewritten(path, forged)
                assert not verify_file(path).ok, (entry.seq, place)
    rewritten(path, bodies)
    assert verify_file(path).ok


def test_a_rollback_is_found_with_a_head_and_only_then(path, tmp_path):
    old = Path(shutil.copy(path, tmp_path / "old.ledger"))
    with Ledger.open(path) as ledger:
        early = ledger.head()
        ledger.charge("two", UNIT, key="2")
        late = Head.from_json("\n".join(export_lines(ledger)))
        assert late == ledger.head()
        for head in (early, late):
            found = verify(ledger, head=head)
            assert found.ok
            assert found.cannot_find == ""
    assert verify_file(old).ok
    assert "rolled back" in str(verify_file(old, head=late).problems[0])
    with Ledger.open(old) as ledger:  # and another way forward from there
        ledger.charge("two", UNIT, key="other")
        assert "rewritten" in str(verify(ledger, head=late).problems[0])
        assert verify(ledger, head=early).ok
        another = Head(ledger="another", seq=0, hash=early.hash)
        assert "another ledger" in str(verify(ledger, head=another).problems[0])


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "no", '{"dpkit-ledger-head":1}', '{"dpkit-ledger-head":2,"ledger":"a","seq":1,"hash":"b"}']
)
def test_what_is_no_head_is_refused(text):
    with pytest.raises(SerialisationError):
        Head.from_json(text)


def test_an_event_that_costs_more_today_is_found(tmp_path):
    path = new_ledger(Ledger, tmp_path, releases=8)
    with Ledger.open(path) as ledger:
        ledger.reserve("run")
        ledger.charge("run", GaussianEvent(ratio=0.01), key="0")
    dearer = default_registry().without(*(rule.name for rule in default_registry().rules_for(GaussianEvent)))
    with Ledger.open(path, registry=dearer) as ledger:
        found = verify(ledger, registry=dearer)
    assert not found.ok  # its event cannot even be priced by such rules


def test_the_export_can_be_checked_without_dpkit(path):
    import hashlib

    with Ledger.open(path) as ledger:
        lines = [json.loads(line) for line in export_lines(ledger)]
    previous = "0" * 64
    for line in lines[:-1]:
        previous = hashlib.sha256(f"{previous}\n{line['body']}".encode()).hexdigest()
        assert previous == line["hash"]
    assert lines[-1]["hash"] == previous
    assert lines[3]["value"] == [1.5, 2.5]


@pytest.mark.parametrize(
    "change",
    [
        "CREATE VIEW more AS SELECT * FROM entries",
        "CREATE TABLE more (x)",
        "CREATE UNIQUE INDEX more ON entries (body)",
        "ALTER TABLE entries ADD COLUMN more TEXT",
        "ALTER TABLE entries RENAME COLUMN value TO more",
        "DROP INDEX entries_by_key",
        "DROP TRIGGER entries_are_not_removed",
        "DROP TABLE brought_over",
        "DROP TABLE head",
        "PRAGMA user_version = 1",
    ],
)
def test_a_file_with_other_tables_than_dpkit_made_is_refused_and_found(path, change):
    raw = sqlite3.connect(path, isolation_level=None)
    raw.execute(change)
    raw.close()
    with pytest.raises(LedgerCorruptError, match="not those that dpkit made"), Ledger.open(path) as ledger:
        ledger.reserve("run")
    assert "not those that dpkit made" in str(verify_file(path).problems[0])


def test_what_analyze_leaves_changes_nothing(path):
    raw = sqlite3.connect(path, isolation_level=None)
    raw.execute("ANALYZE")
    raw.close()
    assert verify_file(path).ok


@pytest.mark.parametrize(("column", "what"), [("value", b"\0\xff"), ("body", b"{}"), ("hash", b"0"), ("body", "[" * 100_000)])
def test_bytes_and_endless_nesting_in_an_entry_are_problems_and_no_traceback(path, column, what):
    tamper(path, f"UPDATE entries SET {column} = ? WHERE seq = 3", arguments=(what,))
    assert 3 in {problem.seq for problem in verify_file(path).problems}
    with Ledger.open(path) as ledger, pytest.raises(LedgerCorruptError):
        ledger.entries()
