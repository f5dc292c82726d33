"""Exporting a ledger: its log as JSON lines, with its head as the last one, to be kept where the ledger is not."""

from __future__ import annotations

import json
from collections.abc import Iterator

from dpkit.release.ledger.chain import Head, canonical
from dpkit.release.ledger.ledger import Ledger


def export_lines(ledger: Ledger) -> Iterator[str]:
    """One line an entry: its body as it was hashed, its hash, and the released value where there is one; then the head.

    Who has these lines can recompute the chain without dpkit: hash = SHA-256(previous hash, newline, body).
    """
    last = Head(ledger=ledger.id, seq=-1, hash="")
    for entry in ledger.entries():
        value = None if entry.value is None else json.loads(entry.value)
        yield canonical({"body": entry.text, "hash": entry.hash, "value": value})
        last = Head(ledger=ledger.id, seq=entry.seq, hash=entry.hash)
    yield last.as_json()
