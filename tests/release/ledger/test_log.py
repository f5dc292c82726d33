"""A resumed run rests on what the log says of it, so that is checked first: nothing that was changed goes out."""

import json

import pytest
from laws import ledger_laws
from laws.ledger_laws import UNIT, new_ledger, times

from dpkit.errors import LedgerCorruptError
from dpkit.release.ledger.ledger import Ledger


def tamper(path, statement, *arguments):
    ledger_laws.tamper(path, statement, arguments=arguments)


@pytest.fixture
def path(tmp_path):
    """A run that released twice and was interrupted, with another run's entries after it."""
    path = new_ledger(Ledger, tmp_path, releases=20)
    with Ledger.open(path) as ledger:
        ledger.reserve("one", times(4))
        for key in "ab":
            ledger.released(ledger.charge("one", UNIT, key=key), [1.5, 2.5])
        ledger.reserve("two", times(2))
        ledger.released(ledger.charge("two", UNIT, key="x"), 3.5)
    return path


def resume(path):
    with Ledger.open(path) as ledger:
        ledger.reserve("one", times(4))
        return ledger.charge("one", UNIT, key="a").value


def reuse(path):
    """Without reserving first."""
    with Ledger.open(path) as ledger:
        return ledger.charge("one", UNIT, key="a").value


def number(path, kind, key, run="one"):
    with Ledger.open(path) as ledger:
        return next(entry.seq for entry in ledger.entries() if (entry.kind, entry.key, entry.run) == (kind, key, run))


def test_what_was_released_comes_back_as_it_was(path):
    assert resume(path) == reuse(path) == [1.5, 2.5]


@pytest.mark.parametrize("again", [resume, reuse])
def test_a_changed_value_does_not_go_out(path, again):
    tamper(path, "UPDATE entries SET value = '[9.5,2.5]' WHERE seq = ?", number(path, "release", "a"))
    with pytest.raises(LedgerCorruptError, match="released value of entry"):
        again(path)


@pytest.mark.parametrize("again", [resume, reuse])
def test_nor_one_that_was_taken_out_or_moved_to_another_key(path, again):
    tamper(path, "UPDATE entries SET value = NULL WHERE seq = ?", number(path, "release", "a"))
    with pytest.raises(LedgerCorruptError):
        again(path)
    tamper(path, "UPDATE entries SET value = '[1.5,2.5]' WHERE seq = ?", number(path, "release", "a"))
    tamper(path, "UPDATE entries SET key = 'a' WHERE seq = ?", number(path, "release", "b"))
    with pytest.raises(LedgerCorruptError, match="another run or key"):
        again(path)


@pytest.mark.parametrize(("kind", "key"), [("charge", "a"), ("release", "a"), ("release", "b"), ("reserve", "")])
def test_a_changed_body_is_found_when_a_run_is_resumed(path, kind, key):
    seq = number(path, kind, key)
    with Ledger.open(path) as ledger:
        body = json.loads(ledger.entries()[seq].text)
    body["account"]["plan"] = ["1000/1" for _ in body["account"]["plan"]]
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    tamper(path, "UPDATE entries SET body = ? WHERE seq = ?", text, seq)
    with pytest.raises(LedgerCorruptError, match=f"entry {seq} is not what was hashed"):
        resume(path)


def test_a_changed_account_of_an_open_run_buys_nothing(path):
    """The run's latest entry is not the last of the log: raising its plan there must not let it charge for nothing."""
    seq = number(path, "release", "b")
    with Ledger.open(path) as ledger:
        body = json.loads(ledger.entries()[seq].text)
    body["account"]["plan"] = ["1000/1" for _ in body["account"]["plan"]]
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    tamper(path, "UPDATE entries SET body = ? WHERE seq = ?", text, seq)
    with Ledger.open(path) as ledger, pytest.raises(LedgerCorruptError, match="not what was hashed"):
        ledger.charge("one", UNIT, key="c")


def test_an_entry_that_is_gone_is_found_when_a_run_is_resumed(path):
    tamper(path, "DELETE FROM entries WHERE seq = ?", number(path, "reserve", "", run="two"))
    with pytest.raises(LedgerCorruptError, match="is missing"):
        resume(path)
