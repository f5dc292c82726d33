"""The laws of ledgers over any store: what is granted is in the log, once, in order, and nothing beyond the budget is.

Each takes the class of ledgers and a function that makes a ledger with room for a number of releases and says where it lies.
"""

from __future__ import annotations

import itertools
import os
import pickle
import tempfile
import threading
from collections.abc import Callable
from os import PathLike
from pathlib import Path

from dpkit.contracts.ledger_store import LedgerAddress, LedgerStoreFactory
from dpkit.contracts.registry import Registry
from dpkit.errors import (
    BudgetExceededError,
    DpkitError,
    LedgerBusyError,
    LedgerError,
    LedgerExistsError,
    PlanExceededError,
    RunStateError,
)
from dpkit.privacy.events import Event, Repeat, ZCDPEvent
from dpkit.privacy.losses import ZCDP
from dpkit.release.ledger.entries import canonical, chained
from dpkit.release.ledger.ledger import Ledger
from dpkit.release.ledger.verify import verify
from dpkit.testing.run_laws import LawUnchecked
from dpkit.values import dataclass

NewLedger = Callable[[int], str | PathLike[str] | LedgerAddress]
Law = Callable[[type[Ledger], NewLedger], None]

UNIT = ZCDPEvent(rho=1.0 / 1024.0)
"""One release; budgets are whole numbers of it, in exact arithmetic."""


def times(count: int) -> Event:
    """A plan of a number of releases."""
    return Repeat(event=UNIT, times=count)


def grants_exactly_what_fits(kind: type[Ledger], new: NewLedger) -> None:
    """Whoever asks at the same time: as many charges are granted as fit, no more and no fewer."""
    path, granted, odd = new(60), [0] * 4, list[BaseException]()
    start = threading.Barrier(len(granted))

    def ask(mine: int) -> None:
        try:
            with kind.open(path) as ledger:
                ledger.reserve(f"run {mine}")
                start.wait(timeout=30)
                for step in range(30):
                    try:
                        ledger.charge(f"run {mine}", UNIT, key=str(step))
                        granted[mine] += 1
                    except BudgetExceededError:
                        pass
        except (DpkitError, threading.BrokenBarrierError) as error:
            odd.append(error)
            start.abort()

    threads = [threading.Thread(target=ask, args=(mine,)) for mine in range(len(granted))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not odd, f"a charge met {odd[0]!r}"
    assert sum(granted) == 60, f"{sum(granted)} charges were granted where 60 fit"
    with kind.open(path) as ledger:
        assert verify(ledger).ok


def reservations_count(kind: type[Ledger], new: NewLedger) -> None:
    """What an open run has reserved is nobody else's, until it closes; then the unused part is."""
    with kind.open(new(8)) as ledger:
        ledger.reserve("first", times(6))
        refused(lambda: ledger.reserve("second", times(3)), BudgetExceededError)
        ledger.reserve("free")
        for step in range(2):
            ledger.charge("free", UNIT, key=str(step))
        refused(lambda: ledger.charge("free", UNIT, key="2"), BudgetExceededError)
        for step in range(2):
            ledger.released(ledger.charge("first", UNIT, key=str(step)), step)
        ledger.close_run("first")
        assert ledger.remaining() == ZCDP(rho=4 / 1024)
        refused(lambda: ledger.charge("first", UNIT, key="later"), RunStateError)


def a_run_keeps_to_its_plan(kind: type[Ledger], new: NewLedger) -> None:
    """A run is refused what its plan does not cover, however much is left in the ledger."""
    with kind.open(new(8)) as ledger:
        ledger.reserve("run", times(2))
        for step in range(2):
            ledger.charge("run", UNIT, key=str(step))
        refused(lambda: ledger.charge("run", UNIT, key="2"), PlanExceededError)
        assert ledger.spent() == ZCDP(rho=2 / 1024)


def the_charge_precedes_the_release(kind: type[Ledger], new: NewLedger) -> None:
    """Once a charge was granted, it is spent for everybody, whatever becomes of the process that asked."""
    path = new(8)
    first = kind.open(path)
    first.reserve("run", times(2))
    lost = first.charge("run", UNIT, key="0")
    with kind.open(path) as second:
        assert second.spent() == ZCDP(rho=1 / 1024), "a charge was granted and is not in the file"
        assert second.reserve("run", times(2)).resumed
        again = second.charge("run", UNIT, key="0")
        assert second.spent() == ZCDP(rho=2 / 1024), "what was charged and never released must be paid again"
        refused(lambda: first.released(lost, 1.0), RunStateError)
        second.released(again, 2.0)
        assert second.charge("run", UNIT, key="0").value == 2.0
        second.charge("run", UNIT, key="1")
        assert verify(second).ok
    first.close()


def what_was_released_comes_back_unpaid(kind: type[Ledger], new: NewLedger) -> None:
    """A resumed run gets the very value that went out, and pays nothing; it cannot be undone."""
    path, value = new(8), {"b": [0.1, float("inf"), -0.0], "a": (1, "text", None)}
    with kind.open(path) as ledger:
        ledger.reserve("run", times(2))
        charge = ledger.charge("run", UNIT, key="0")
        ledger.released(charge, value)
        refused(lambda: ledger.failed(charge), RunStateError)
        refused(lambda: ledger.released(charge, 3.0), RunStateError)
    with kind.open(path) as ledger:
        ledger.reserve("run", times(2))
        before = ledger.spent()
        again = ledger.charge("run", UNIT, key="0")
        assert again.is_released
        assert again.value == value
        assert ledger.spent() == before
        ledger.close_run("run")
        assert ledger.spent() == before
        assert ledger.charge("run", UNIT, key="0").value == value


def nothing_stays_of_a_failed_step(kind: type[Ledger], new: NewLedger) -> None:
    """What was appended in a transaction that ends with an error is not in the log."""
    with kind.open(new(8)) as ledger:
        ledger.reserve("run")
        before, entries = ledger.head(), ledger.entries()
        try:
            with ledger.store.transaction(writes=True) as found:
                body = canonical({**entries[-1].body, "seq": before.seq + 1, "kind": "fail", "key": "0"})
                hash = chained(before.hash, body)
                found.append(seq=before.seq + 1, run="run", key="0", body=body, value=None, hash=hash)
                raise _StopError
        except _StopError:
            pass
        assert ledger.head() == before, "the head moved in a step that failed"
        assert ledger.entries() == entries, "an entry stayed of a step that failed"
        ledger.charge("run", UNIT, key="0")
        assert verify(ledger).ok


def entries_are_found_as_they_were_filed(kind: type[Ledger], new: NewLedger) -> None:
    """By run, by key, from a number on, from the end: each in the order of the log; names may be long and foreign."""
    names = ["a", "b", "\u00e9\u4e2d\U0001f600", "x" * 3000, "x" * 3000 + "y", "a' OR '1'='1", "%s", " a "]
    with kind.open(new(64)) as ledger:
        for run in names:
            ledger.reserve(run)
        for run in names[:4]:
            for key in ("k", names[3], names[4], "%"):
                ledger.released(ledger.charge(run, UNIT, key=key), key)
        everything = [(entry.seq, entry.text, entry.value, entry.hash, entry.run, entry.key) for entry in ledger.entries()]
        assert [row[0] for row in everything] == list(range(len(everything))), "entries do not come in their order"
        with ledger.store.transaction(writes=False) as found:
            choices = itertools.product([None, *names], [None, "k", names[4]], [None, 5], [0, 1], [-1, 2])
            for asked, under, since, last, most in choices:
                expected = [
                    row
                    for row in (reversed(everything) if last else everything)
                    if asked in (None, row[4]) and under in (None, row[5]) and row[0] >= (since or 0)
                ]
                rows = [tuple(row) for row in found.rows(run=asked, key=under, since=since, last=bool(last), most=most)]
                assert rows == (expected if most < 0 else expected[:most]), "a look-up gave other entries than those filed"


def a_writer_is_alone(kind: type[Ledger], new: NewLedger) -> None:
    """While one writes, another waits, and gives up in time; what it reads afterwards holds what the first wrote."""
    place = new(8)
    with kind.open(place) as first, kind.open(place, timeout=0.2) as second:
        first.reserve("run")
        with first.store.transaction(writes=True):
            found: list[object] = []
            other = threading.Thread(target=lambda: found.append(_asked(lambda: second.charge("run", UNIT, key="0"))))
            other.start()
            other.join(timeout=60)
        assert found, "a second writer did not give up"
        assert isinstance(found[0], LedgerBusyError), f"a second writer met {found[0]!r} beside the first"
        first.charge("run", UNIT, key="1")
        assert second.spent() == ZCDP(rho=1 / 1024), "a second process does not see what was granted"
        second.charge("run", UNIT, key="0")
        assert verify(first).ok


def a_writer_is_alone_among_processes(kind: type[Ledger], new: NewLedger) -> None:
    """So it is with another process, which a lock inside one process does not stop."""
    if not hasattr(os, "fork"):
        raise LawUnchecked("this system cannot fork a process")
    place = new(8)
    # forked before a lock is held: what a process holds for its own threads would be copied with it
    beside = _AnotherProcess(lambda: _charged(kind, place, "0", timeout=0.2))
    after = _AnotherProcess(lambda: _charged(kind, place, "1", timeout=30.0))
    with kind.open(place) as ledger:
        ledger.reserve("run")
        with ledger.store.transaction(writes=True):
            met = beside.answer()
        assert met == "LedgerBusyError", f"beside a writer, another process met {met}"
        assert (met := after.answer()) == "granted", f"after a writer, another process met {met}"
        assert ledger.spent() == ZCDP(rho=1 / 1024), "what another process was granted is not in the log"
        ledger.charge("run", UNIT, key="2")
        assert verify(ledger).ok


def _charged(kind: type[Ledger], place: str | PathLike[str] | LedgerAddress, key: str, *, timeout: float) -> str:
    with kind.open(place, timeout=timeout) as ledger:
        ledger.charge("run", UNIT, key=key)
        return "granted"


class _AnotherProcess:
    """A fork of this process that waits until it is asked, and answers by a word, or by the name of an error."""

    def __init__(self, ask: Callable[[], str]) -> None:
        (self._told, self._tell), (self._hear, said) = os.pipe(), os.pipe()
        self._child = os.fork()
        if self._child:
            os.close(said)
            return
        answer = "an exit"
        try:
            os.close(self._tell)
            os.read(self._told, 1)
            answer = ask()
        except BaseException as error:  # noqa: BLE001 - the name of any error is the answer
            answer = type(error).__name__
        finally:
            os.write(said, answer.encode())
            os._exit(0)

    def answer(self) -> str:
        """What it is answered now."""
        os.write(self._tell, b".")
        with os.fdopen(self._hear, "rb") as answers:
            text = answers.read().decode()
        os.waitpid(self._child, 0)
        os.close(self._tell)
        os.close(self._told)
        return text


def entries_name_their_author(kind: type[Ledger], new: NewLedger) -> None:
    """Each entry says who wrote it: what the store knows, and what the caller says more."""
    place = new(8)
    for name in ("ann", "bob"):
        with kind.open(place, who=name) as ledger:
            ledger.reserve(name)
            written = ledger.entries()[-1].who
            assert written == ledger.author, "an entry names another author than the store does"
            assert name in written, "an entry does not say who wrote it"


def it_is_created_once(kind: type[Ledger], new: NewLedger) -> None:
    """Who creates it again is refused, and everything stays as it was."""
    place = new(8)
    with kind.open(place) as ledger:
        ledger.reserve("run")
        before = ledger.head()
        refused(lambda: Ledger.create(place, budget=ZCDP(rho=99.0), dataset=ledger.terms.dataset), LedgerExistsError)
        assert ledger.head() == before
    with kind.open(place) as again:
        assert again.head() == before
        assert again.terms.budget == ZCDP(rho=8 / 1024)


def it_opens_elsewhere_as_it_was(kind: type[Ledger], new: NewLedger) -> None:
    """A ledger that travels to another process, or is used after it was closed, is the same ledger, opened as it was."""
    asked: dict[str, object] = {"durability": "normal", "timeout": 7.0, "read_only": False}
    with kind.open(new(8), who="ann", **asked) as ledger:  # type: ignore[arg-type]
        known = {"durability": "full", "timeout": None, "read_only": False, **ledger.store.opened_with}
        assert known == asked, "a store does not know how it was opened"
        ledger.reserve("run")
        travelling = (ledger.path, {**ledger.store.opened_with, "who": ledger.author})
        path, options = pickle.loads(pickle.dumps(travelling))
        with kind.open(path, **options) as other:
            assert other.author == ledger.author, "elsewhere, another author writes"
            other.charge("run", UNIT, key="0")
        ledger.close()
        assert ledger.spent() == ZCDP(rho=1 / 1024)


class _StopError(Exception):
    """Raised where a step shall fail."""


def _asked(ask: Callable[[], object]) -> object:
    try:
        return ask()
    except DpkitError as error:
        return error


def refused(ask: Callable[[], object], error: type[DpkitError]) -> None:
    """What is asked is refused by this error."""
    try:
        answer = ask()
    except error:
        return
    except LedgerError as other:
        raise AssertionError(f"expected {error.__name__}, met {other!r}") from other
    raise AssertionError(f"expected {error.__name__}, was given {answer!r}")


PROTOCOL_LAWS: tuple[Law, ...] = (
    grants_exactly_what_fits,
    reservations_count,
    a_run_keeps_to_its_plan,
    the_charge_precedes_the_release,
    what_was_released_comes_back_unpaid,
    nothing_stays_of_a_failed_step,
    entries_are_found_as_they_were_filed,
    a_writer_is_alone,
    a_writer_is_alone_among_processes,
    entries_name_their_author,
    it_is_created_once,
    it_opens_elsewhere_as_it_was,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCase:
    """A kind of store under test; its factory says where ledgers may be made for tests."""

    factory: LedgerStoreFactory
    registry: Registry

    def tried(self, law: Law) -> None:
        """One law, in a folder that is thrown away."""
        if self.factory.for_tests is None:
            raise LawUnchecked("the store names no address for tests (`for_tests`): run PROTOCOL_LAWS against a server")
        with tempfile.TemporaryDirectory() as folder:
            address, registry, count = LedgerAddress(self.factory.for_tests(Path(folder))), self.registry, itertools.count()

            class Known(Ledger):
                """Ledgers that find their store in the registry under test."""

                @classmethod
                def open(cls, path, **options):  # type: ignore[no-untyped-def]
                    return super().open(path, **{"registry": registry, **options})

            def new(releases: int) -> LedgerAddress:
                place = address.with_option("dataset", f"law {next(count)}")
                budget = ZCDP(rho=releases / 1024.0)
                Ledger.create(place, budget=budget, dataset=place.options["dataset"], registry=registry).close()
                return place

            law(Known, new)


def _of_store(law: Law) -> Callable[[StoreCase], None]:
    def tried(case: StoreCase) -> None:
        case.tried(law)

    tried.__name__, tried.__doc__ = law.__name__, law.__doc__
    return tried


STORE_LAWS = tuple(_of_store(law) for law in PROTOCOL_LAWS)
