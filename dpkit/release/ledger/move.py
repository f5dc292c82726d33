"""Moving a ledger to another store: the whole log, as it is; after which the old one is closed for good.

First the old ledger gets its last entry, which says where it went: from then on it grants nothing. Then the new one appears,
whole, with the same entries and one more, by which it goes on. Who is interrupted in between says the same again. So at no
moment can both be charged.
"""

from __future__ import annotations

from os import PathLike

from dpkit.contracts.ledger_store import LedgerAddress, LedgerPlace
from dpkit.contracts.registry import Registry
from dpkit.errors import LedgerCorruptError, LedgerExistsError, NotALedgerError
from dpkit.hooks.manager import default_registry
from dpkit.release.ledger.entries import Entry, canonical
from dpkit.release.ledger.ledger import Ledger
from dpkit.release.ledger.ledger_address import ledger_place
from dpkit.release.ledger.log import Log, now, surroundings
from dpkit.release.ledger.sqlite_store import create_file
from dpkit.release.ledger.verify import verify


def copy_ledger(
    source: str | PathLike[str] | LedgerAddress,
    target: str | PathLike[str] | LedgerAddress,
    *,
    who: str | None = None,
    registry: Registry | None = None,
) -> Ledger:
    """Move a ledger, and open it where it is now. `LedgerCorruptError`, and nothing is moved, where it does not verify."""
    known = default_registry() if registry is None else registry
    with Ledger.open(source, who=who, registry=known) as old:
        place = ledger_place(target)
        if isinstance(place, LedgerAddress) and "dataset" not in place.options:
            place = place.with_option("dataset", old.terms.dataset)
        name = str(place) if isinstance(place, LedgerAddress) else str(place.absolute())
        _check_whole(old, registry=known)
        arrived = _arrived(place, old, who=who, registry=known)
        if arrived is not None:
            return arrived
        entries = close_for_good(old, name)
        _create(place, entries, dataset=old.terms.dataset, who=who or old.author, registry=known)
        moved = Ledger.open(place, who=who, registry=known)
        try:
            _check_whole(moved, registry=known)
        except BaseException:
            moved.close()
            raise
        return moved


def close_for_good(ledger: Ledger, moved_to: str) -> tuple[Entry, ...]:
    """End this ledger, because it goes on elsewhere; its whole log. Nothing is granted here any more."""
    with ledger.store.transaction(writes=True) as found:
        log = Log(found, path=ledger.path, who=ledger.author)
        if log.end.kind != "move":
            more: dict[str, object] = {"to": moved_to, **surroundings()}
            log.append("move", run="", account=None, totals=log.totals, more=more)
        elif log.end.body.get("to") != moved_to:
            raise ledger.moved(log)
    return ledger.entries()


def _arrived(place: LedgerPlace, old: Ledger, *, who: str | None, registry: Registry) -> Ledger | None:
    """The ledger at the new place, if it is this one; `LedgerExistsError` where another lies there, None where none does."""
    try:
        new = Ledger.open(place, who=who, registry=registry)
    except NotALedgerError:
        return None
    entries = old.entries()
    if new.id == old.id and entries[-1].kind == "move" and new.entries()[: len(entries)] == entries:
        return new
    new.close()
    raise LedgerExistsError(path=place, reason="another ledger is there.", fix="Nothing was moved. Choose another place.")


def _check_whole(ledger: Ledger, *, registry: Registry) -> None:
    found = verify(ledger, registry=registry)
    if not found.ok:
        raise LedgerCorruptError(
            path=ledger.path,
            reason=f"it does not verify: {found.problems[0]}",
            fix="Run `dpkit ledger verify` to see everything.",
        )


def _create(place: LedgerPlace, entries: tuple[Entry, ...], *, dataset: str, who: str, registry: Registry) -> None:
    """The new ledger, whole or not at all: the entries of the old one, and one that says where it arrived."""

    def log_by(author: str) -> list[tuple[str, str | None]]:
        last = entries[-1]
        body = {
            "seq": last.seq + 1,
            "kind": "arrive",
            "who": author,
            "when": now(),
            "run": "",
            "key": "",
            "totals": last.body["totals"],
            **surroundings(),
        }
        return [*((entry.text, entry.value) for entry in entries), (canonical(body), None)]

    if isinstance(place, LedgerAddress):
        registry.ledger_store(place.scheme).create(place, dataset, log_by)
    else:
        create_file(place.absolute(), log_by(who))
