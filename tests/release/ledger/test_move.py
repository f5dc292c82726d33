"""A ledger that moves keeps its log, and both can never be charged, whatever happens in between."""

import re
import shutil

import pytest
from laws.ledger_laws import new_ledger, tamper
from postgres_server import missing

import dpkit
from dpkit import ZCDP
from dpkit.release.ledger import move
from dpkit.release.ledger.ledger import Ledger
from dpkit.release.ledger.move import copy_ledger
from dpkit.release.ledger.verify import verify
from dpkit.report.ledger_page import ledger_page
from dpkit.testing.ledger_store_laws import UNIT, times


@pytest.fixture
def path(tmp_path):
    return new_ledger(Ledger, tmp_path, releases=8)


@pytest.fixture(params=["file", "postgresql"])
def target(request, tmp_path):
    if request.param == "file":
        return tmp_path / "new.ledger"
    if missing():
        pytest.skip(missing())
    return request.getfixturevalue("database")


def begun(path, **options):
    with Ledger.open(path, **options) as ledger:
        ledger.reserve("run", times(4))
        ledger.released(ledger.charge("run", UNIT, key="0"), [1.5, float("inf")])
        ledger.charge("run", UNIT, key="1")
        return ledger.head()


def test_the_log_goes_on_elsewhere_and_the_old_one_grants_nothing(path, target):
    head = begun(path, who="somebody else")
    with copy_ledger(path, target) as moved, Ledger.open(path) as old:
        assert verify(moved, head=head).ok
        assert verify(moved, since=head.hash).ok
        assert verify(old, head=head).ok
        assert moved.spent() == ZCDP(rho=2 / 1024)
        assert moved.reserve("run", times(4)).resumed
        assert moved.charge("run", UNIT, key="0").value == [1.5, float("inf")]
        moved.charge("run", UNIT, key="2")
        for ask in (
            lambda: old.charge("run", UNIT, key="2"),
            lambda: old.reserve("more"),
            lambda: old.reserve("run", times(4)),
            lambda: old.close_run("run"),
        ):
            with pytest.raises(dpkit.LedgerMovedError, match="closed for good"):
                ask()
        assert verify(moved).ok


def test_it_comes_back(path, target, tmp_path):
    begun(path)
    copy_ledger(path, target).close()
    address = target if not isinstance(target, str) else f"{target}?dataset=law"
    with copy_ledger(address, tmp_path / "back.ledger") as back:
        back.charge("run", UNIT, key="2")
        assert verify(back).ok
    with Ledger.open(address) as between, pytest.raises(dpkit.LedgerMovedError):
        between.charge("run", UNIT, key="3")


def stopped_at(step, monkeypatch, path, target):
    """A copy that is killed before one of its steps."""

    def fails(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(move, step, fails)
        with pytest.raises(KeyboardInterrupt):
            copy_ledger(path, target)


def grants_nothing(place):
    with Ledger.open(place) as ledger, pytest.raises(dpkit.LedgerMovedError):
        ledger.charge("run", UNIT, key="2")


def address_of(target):
    return target if not isinstance(target, str) else f"{target}?dataset=law"


@pytest.mark.parametrize("step", ["_make", "_say_gone", "_open_there"])
def test_who_is_interrupted_says_the_same_again(path, target, step, monkeypatch):
    begun(path)
    stopped_at(step, monkeypatch, path, target)
    grants_nothing(path)
    if step != "_make":
        grants_nothing(address_of(target))
    copy_ledger(path, target).close()
    grants_nothing(path)
    with copy_ledger(path, target) as again:  # and once more, when all is done
        again.charge("run", UNIT, key="2")
        assert verify(again).ok


@pytest.mark.parametrize("step", ["_make", "_say_gone"])
def test_before_it_went_another_place_may_be_chosen(path, target, step, tmp_path, monkeypatch):
    begun(path)
    stopped_at(step, monkeypatch, path, target)
    with copy_ledger(path, tmp_path / "other") as moved:
        moved.charge("run", UNIT, key="2")
        assert verify(moved).ok
    with pytest.raises(dpkit.LedgerMovedError):
        copy_ledger(path, target)
    if step == "_say_gone":
        grants_nothing(address_of(target))


def test_afterwards_it_is_never_made_anew(path, tmp_path):
    begun(path)
    copy_ledger(path, tmp_path / "there").close()
    with pytest.raises(dpkit.LedgerMovedError):
        copy_ledger(path, tmp_path / "elsewhere")
    with Ledger.open(tmp_path / "there") as moved:
        moved.charge("run", UNIT, key="2")
    (tmp_path / "there").rename(tmp_path / "taken away")
    with pytest.raises(dpkit.LedgerMovedError, match="not there now"):
        copy_ledger(path, tmp_path / "there")
    assert not (tmp_path / "there").exists()
    with Ledger.open(path) as old:
        assert verify(old).ok
        assert old.more_runs(UNIT) == 0
        assert "closed for good" in old.why_closed()
        assert "Closed: it was moved" in ledger_page([old])


def test_a_place_of_the_same_name_with_another_copy_is_not_opened(path, tmp_path, monkeypatch):
    """As on two machines, or where a copy of an interrupted try was put aside and comes back."""
    begun(path)
    there = tmp_path / "there"
    stopped_at("_say_gone", monkeypatch, path, there)
    there.rename(tmp_path / "stale")
    with copy_ledger(path, there) as moved:
        moved.charge("run", UNIT, key="2")
    there.rename(tmp_path / "live")
    (tmp_path / "stale").rename(there)
    with pytest.raises(dpkit.LedgerMovedError, match="not the ledger that this one went to"):
        copy_ledger(path, there)
    grants_nothing(there)


def test_it_does_not_move_into_itself(path, tmp_path, monkeypatch):
    begun(path)
    with pytest.raises(dpkit.LedgerExistsError):
        copy_ledger(path, path)
    stopped_at("_make", monkeypatch, path, tmp_path / "there")
    with pytest.raises(dpkit.LedgerExistsError):
        copy_ledger(path, path)
    copy_ledger(path, tmp_path / "there").close()


def test_a_copy_that_waits_is_not_moved_on(path, tmp_path, monkeypatch):
    begun(path)
    stopped_at("_say_gone", monkeypatch, path, tmp_path / "there")
    with pytest.raises(dpkit.LedgerMovedError, match="did not come to its end"):
        copy_ledger(tmp_path / "there", tmp_path / "elsewhere")
    assert not (tmp_path / "elsewhere").exists()
    copy_ledger(path, tmp_path / "there").close()


def test_after_it_went_the_place_may_be_spelled_otherwise(path, tmp_path, monkeypatch):
    begun(path)
    stopped_at("_open_there", monkeypatch, path, tmp_path / "there")
    (tmp_path / "folder").mkdir()
    with copy_ledger(path, tmp_path / "folder" / ".." / "there") as moved:
        moved.charge("run", UNIT, key="2")


def test_what_cannot_be_made_there_is_refused_before_it_is_closed(path, tmp_path, request):
    begun(path)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(dpkit.LedgerExistsError):
        copy_ledger(path, tmp_path / "file")
    with pytest.raises(dpkit.LedgerStorageError, match="folder"):
        copy_ledger(path, tmp_path / "no" / "folder")
    if missing() is None:
        database = request.getfixturevalue("database")
        with pytest.raises(dpkit.InvalidValueError, match="dataset"):
            copy_ledger(path, f"{database}?dataset=other")
        Ledger.create(f"{database}?dataset=law", budget=ZCDP(rho=1.0), dataset="law").close()
        with pytest.raises(dpkit.LedgerExistsError):
            copy_ledger(path, database)
        with pytest.raises(dpkit.LedgerStorageError):
            copy_ledger(path, re.sub(r":\d+/", ":1/", database))
    with Ledger.open(path) as ledger:
        ledger.charge("run", UNIT, key="2")
    assert (tmp_path / "file").read_text() == "mine"


def test_nothing_is_replaced_and_nothing_broken_is_moved(path, target):
    begun(path)
    Ledger.create(target, budget=ZCDP(rho=1.0), dataset="law").close()
    with pytest.raises(dpkit.LedgerExistsError):
        copy_ledger(path, target)
    with Ledger.open(path) as old:
        old.charge("run", UNIT, key="2")


def test_a_broken_chain_stays_where_it_is(path, target):
    begun(path)
    tamper(path, "UPDATE entries SET body = replace(body, 'reserve', 'Reserve') WHERE seq = 1")
    with pytest.raises(dpkit.LedgerCorruptError, match="does not verify"):
        copy_ledger(path, target)


def test_an_entry_after_the_end_is_found(path, tmp_path):
    begun(path)
    copy_ledger(path, tmp_path / "new.ledger").close()
    shutil.copy(path, tmp_path / "forged")
    raw_end = Ledger.open(path).entries()[-1]
    with Ledger.open(tmp_path / "forged") as forged:
        from dpkit.release.ledger.entries import canonical, chained

        body = canonical({**forged.entries()[2].body, "seq": raw_end.seq + 1, "key": "9"})
        with forged.store.transaction(writes=True) as found:
            found.append(seq=raw_end.seq + 1, run="run", key="9", body=body, value=None, hash=chained(raw_end.hash, body))
        assert any("closed for good" in problem.what for problem in verify(forged).problems)
