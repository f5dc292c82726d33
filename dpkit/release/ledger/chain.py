"""The hash chain: each entry's hash covers its whole text and the hash before it, so that no entry can be changed in place."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dpkit.errors import SerialisationError
from dpkit.privacy.gauges import Amounts

START = "0" * 64
"""What stands for the hash before the first entry."""

HEAD_VERSION = 1


def canonical(body: Mapping[str, object]) -> str:
    """The one text of a body: sorted keys, no spaces, ASCII."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def chained(previous: str, body: str) -> str:
    """The hash of an entry: of the hash before it and of everything that the entry says, state included."""
    return hashlib.sha256(f"{previous}\n{body}".encode()).hexdigest()


def digest(text: str) -> str:
    """The hash of a released value's text, which stands in the body in its place."""
    return hashlib.sha256(text.encode()).hexdigest()


def written_amounts(amounts: Amounts) -> list[str]:
    """Amounts as text, exactly."""
    return [f"{amount.numerator}/{amount.denominator}" for amount in amounts]


def read_amounts(written: object) -> Amounts:
    """The amounts that `written_amounts` wrote."""
    if not isinstance(written, list) or not all(isinstance(item, str) for item in written):
        raise SerialisationError(reason="amounts are not a list of fractions.")
    try:
        return tuple(_fraction(item) for item in written)
    except (ValueError, ZeroDivisionError):
        raise SerialisationError(reason="an amount is not a fraction.") from None


@lru_cache(maxsize=4096)
def _fraction(text: str) -> Fraction:
    # the same few numbers stand in every entry
    numerator, _, denominator = text.partition("/")
    return Fraction(int(numerator), int(denominator))


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where a ledger's log ends: kept outside the ledger, it is what makes a rollback of the whole file visible."""

    ledger: str
    seq: int
    hash: str

    def as_json(self) -> str:
        """One line of JSON."""
        return canonical({"dpkit-ledger-head": HEAD_VERSION, "ledger": self.ledger, "seq": self.seq, "hash": self.hash})

    @staticmethod
    def from_json(text: str) -> Head:
        """The head in a text: what `as_json` wrote, or an export, whose last line is its head."""
        lines = [line for line in text.splitlines() if line.strip()]
        try:
            document = json.loads(lines[-1]) if lines else None
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict) or document.get("dpkit-ledger-head") != HEAD_VERSION:
            raise SerialisationError(
                reason="it is not the head of a ledger.", fix="Give the file that `dpkit ledger export` wrote."
            )
        ledger, seq, value = document.get("ledger"), document.get("seq"), document.get("hash")
        if not isinstance(ledger, str) or not isinstance(seq, int) or not isinstance(value, str):
            raise SerialisationError(reason="the head of a ledger lacks its id, its number or its hash.")
        return Head(ledger=ledger, seq=seq, hash=value)
