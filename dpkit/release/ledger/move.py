"""Moving a ledger to another store: the whole log, as it is; after which the old one is closed for good.

1. The old ledger gets the entry `move`: from then on it grants nothing.
2. The new one is made, whole, with the same entries and one more, `ready`, with a random token. It grants nothing yet.
3. The old ledger gets its last entry, `gone`, which says where it went and with which token. It is said once.
4. The new one, if it has that token, gets the entry `arrive`, and goes on.

Who is interrupted in between says the same again. Before step 3 nothing can be charged anywhere: another place may be chosen;
after it, the ledger is never made anew: if it is not where it went, somebody took it, and it may have been charged. So at no
moment can both be charged, nor two copies, whatever places are called on which machine.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike

from dpkit.contracts.ledger_store import LedgerAddress, LedgerPlace
from dpkit.contracts.registry import Registry
from dpkit.errors import (
    InvalidValueError,
    LedgerCorruptError,
    LedgerExistsError,
    LedgerMovedError,
    LedgerStorageError,
    NotALedgerError,
)
from dpkit.hooks.manager import default_registry
from dpkit.release.ledger.entries import CLOSING, Entry, canonical
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
        place = _place_for(target, old)
        name = str(place) if isinstance(place, LedgerAddress) else str(place.absolute())
        _check_whole(old, registry=known)
        end = old.entries()[-1]
        if end.kind == "ready":
            raise old.moved(end)  # a copy that waits to be opened from where it came
        if end.kind not in CLOSING:
            _check_free(place, old, registry=known)
            close_for_good(old, name)
        if end.kind != "gone":
            _say_gone(old, name, _make(place, old, who=who, registry=known))
        return _open_there(place, old, who=who, registry=known)


def _place_for(target: str | PathLike[str] | LedgerAddress, old: Ledger) -> LedgerPlace:
    """Where the ledger goes; an address of another dataset is refused."""
    place, dataset = ledger_place(target), old.terms.dataset
    if not isinstance(place, LedgerAddress):
        return place
    named = place.options.get("dataset", dataset)
    if named != dataset:
        allowed = f"{dataset!r}, whose ledger it is"
        raise InvalidValueError(field="dataset", found=named, allowed=allowed, where="ledger", fix="Nothing was moved.")
    return place.with_option("dataset", dataset)


def _check_free(place: LedgerPlace, old: Ledger, *, registry: Registry) -> None:
    """Refuse what can be known to fail, before the old ledger is closed."""
    if isinstance(place, LedgerAddress):
        check = registry.ledger_store(place.scheme).check
        if check is not None:
            check(place, old.terms.dataset)
        return
    if os.path.lexists(place):
        raise LedgerExistsError(path=place, reason="something is there.", fix="Nothing was moved. Choose another place.")
    if not os.access(place.absolute().parent, os.W_OK):
        reason = "its folder is not there, or cannot be written to."
        raise LedgerStorageError(path=place, reason=reason, fix="Nothing was moved. Choose another place.")


def close_for_good(ledger: Ledger, moved_to: str) -> None:
    """End this ledger, because it goes on elsewhere. Nothing is granted here any more."""
    with ledger.store.transaction(writes=True) as found:
        log = Log(found, path=ledger.path, who=ledger.author)
        if log.end.kind not in CLOSING:
            more: dict[str, object] = {"to": moved_to, **surroundings()}
            log.append("move", run="", account=None, totals=log.totals, more=more)


def _say_gone(ledger: Ledger, moved_to: str, token: str) -> None:
    """Say where it went, once: whoever wanted it elsewhere meanwhile is refused."""
    with ledger.store.transaction(writes=True) as found:
        log = Log(found, path=ledger.path, who=ledger.author)
        if log.end.kind == "move":
            more: dict[str, object] = {"to": moved_to, "token": token, **surroundings()}
            log.append("gone", run="", account=None, totals=log.totals, more=more)
        elif log.end.body.get("token") != token:
            raise ledger.moved(log.end)


def _until_move(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """The log up to where it was closed."""
    return entries[:-1] if entries[-1].kind == "gone" else entries


def _make(place: LedgerPlace, old: Ledger, *, who: str | None, registry: Registry) -> str:
    """The new ledger, whole or not at all, closed as the old one is; one of an interrupted try is taken. Its token."""
    entries = _until_move(old.entries())

    def log_by(author: str) -> list[tuple[str, str | None]]:
        last = entries[-1]
        said = {"seq": last.seq + 1, "kind": "ready", "who": author, "when": now(), "run": "", "key": ""}
        body = {**said, "totals": last.body["totals"], "token": secrets.token_hex(16), **surroundings()}
        return [*((entry.text, entry.value) for entry in entries), (canonical(body), None)]

    with suppress(LedgerExistsError):  # of an interrupted try, or of another ledger: `_found` looks
        if isinstance(place, LedgerAddress):
            registry.ledger_store(place.scheme).create(place, old.terms.dataset, log_by)
        else:
            create_file(place.absolute(), log_by(who or old.author))
    with _found(place, old, who=who, registry=registry) as (new, token):
        _check_whole(new, registry=registry)
        return token


@contextmanager
def _found(place: LedgerPlace, old: Ledger, *, who: str | None, registry: Registry) -> Iterator[tuple[Ledger, str]]:
    """The ledger at the new place, if it was made from this one, and its token; closed where an error comes."""
    new, entries = Ledger.open(place, who=who, registry=registry), _until_move(old.entries())
    try:
        there = new.entries()
        is_copy = new.id == old.id and there[: len(entries)] == entries and len(there) > len(entries)
        if not is_copy or there[len(entries)].kind != "ready":
            same = "this ledger itself, or another part of it," if new.id == old.id else "another ledger"
            fix = "Choose another place: this ledger is whole and closed."
            raise LedgerExistsError(path=place, reason=f"{same} is there.", fix=fix)
        yield new, str(there[len(entries)].body.get("token"))
    finally:
        new.close()


def _open_there(place: LedgerPlace, old: Ledger, *, who: str | None, registry: Registry) -> Ledger:
    """The ledger where it went, from now on open."""
    token = old.entries()[-1].body.get("token")
    fix = "Put it back. It is not made anew: what was granted there would be granted again."
    try:
        with _found(place, old, who=who, registry=registry) as (new, known):
            if known != token:
                raise LedgerMovedError(path=place, reason="what is there is not the ledger that this one went to.", fix=fix)
            with new.store.transaction(writes=True) as found:
                log = Log(found, path=new.path, who=new.author)
                if log.end.kind == "ready":
                    log.append("arrive", run="", account=None, totals=log.totals, more=surroundings())
    except NotALedgerError:
        raise LedgerMovedError(path=place, reason="this ledger went there, and is not there now.", fix=fix) from None
    except LedgerExistsError:
        raise old.moved(old.entries()[-1]) from None
    return Ledger.open(place, who=who, registry=registry)


def _check_whole(ledger: Ledger, *, registry: Registry) -> None:
    found = verify(ledger, registry=registry)
    if not found.ok:
        raise LedgerCorruptError(
            path=ledger.path,
            reason=f"it does not verify: {found.problems[0]}",
            fix="Run `dpkit ledger verify` to see everything.",
        )
