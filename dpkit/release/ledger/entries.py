"""What the log says: its hash chain, its entries, the account of a run, and released values, each written in one way."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal, get_args

import numpy as np

from dpkit.errors import InvalidValueError, SerialisationError
from dpkit.numerics.noise.randomness import Simulated
from dpkit.privacy.filter_amounts import Amounts, larger, minus, plus, within
from dpkit.values import dataclass

APPROVAL = "dpkit/approval"
"""The key under which the approval of a run is filed."""

START = "0" * 64
"""What stands for the hash before the first entry."""

HEAD_VERSION = 1

Kind = Literal[
    "create", "reserve", "approve", "charge", "release", "fail", "close", "write-off", "move", "gone", "ready", "arrive"
]
KINDS: tuple[str, ...] = get_args(Kind)
CLOSING = ("move", "gone", "ready")
"""The entries after which a ledger grants nothing: it was closed, it went elsewhere, or it waits there to be opened."""

State = Literal["reserved", "released", "failed"]
"""The state of a charge: paid and not yet out, out, or paid for nothing."""

_STATES: dict[str, State] = {"charge": "reserved", "release": "released", "fail": "failed"}


def canonical(body: object) -> str:
    """The one text of a JSON value: sorted keys, no spaces, ASCII."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(text: str) -> str:
    """Of a released value's text, which stands in the body in its place."""
    return hashlib.sha256(text.encode()).hexdigest()


def chained(previous: str, body: str) -> str:
    """The hash of an entry: of the hash before it and of all that the entry says, so that none can be changed in place."""
    return hashlib.sha256(f"{previous}\n{body}".encode()).hexdigest()


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of the log. `body` is all that it says, `text` the same as it was hashed, `value` a released value's text."""

    seq: int
    kind: Kind
    run: str
    key: str
    who: str
    when: str
    body: Mapping[str, object]
    text: str
    value: str | None
    hash: str

    @property
    def charge(self) -> int:
        """The number of the charge that a release or a failure belongs to; a charge's own number; -1 for other kinds."""
        found = self.seq if self.kind == "charge" else self.body.get("charge", -1)
        return found if isinstance(found, int) else -1

    @property
    def is_paid(self) -> bool:
        """Whether its event counts as spent: a charge, or what a lost copy of the ledger had charged."""
        return self.kind in ("charge", "write-off")

    @property
    def state(self) -> State | None:
        """The state that this entry puts a charge into."""
        return _STATES.get(self.kind)


def read_entry(seq: int, text: str, value: str | None, hash: str) -> Entry:
    """A row of the log as an entry; `SerialisationError` where the text is not one."""
    if not all(isinstance(item, str) for item in (text, hash, value or "")):
        raise SerialisationError(reason=f"entry {seq} holds bytes where its text, its hash or its value should be.")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        raise SerialisationError(reason=f"entry {seq} is not JSON.") from None
    if not isinstance(body, dict) or body.get("kind") not in KINDS:
        raise SerialisationError(reason=f"entry {seq} is of no known kind.")
    said = {name: body.get(name, "") for name in ("run", "key", "who", "when")}
    if not all(isinstance(item, str) for item in said.values()):
        raise SerialisationError(reason=f"entry {seq} lacks its run, its key, its author or its time.")
    return Entry(seq=seq, kind=body["kind"], body=body, text=text, value=value, hash=hash, **said)


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """What `Ledger.charge` grants: the right to one release. When it is `is_released`, `value` is what went out before."""

    run: str
    key: str
    seq: int
    is_released: bool = False
    value: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a ledger knows of a run. `resumed` when it had been reserved before, which was at `began`; `other_data` when the
    stamp of its data is another than it began with.
    """

    id: str
    plan: str
    analysis: str
    is_open: bool
    resumed: bool
    began: str = ""
    other_data: bool = False


def written_amounts(amounts: Amounts) -> list[str]:
    """Amounts as text, exactly."""
    return [f"{amount.numerator}/{amount.denominator}" for amount in amounts]


def read_amounts(written: object) -> Amounts:
    """The amounts that `written_amounts` wrote."""
    if not isinstance(written, list) or not all(isinstance(item, str) for item in written):
        raise SerialisationError(reason="amounts are not a list of fractions.")
    try:
        return tuple(map(_fraction, written))
    except (ValueError, ZeroDivisionError):
        raise SerialisationError(reason="an amount is not a fraction.") from None


@lru_cache(maxsize=4096)  # the same few numbers stand in every entry
def _fraction(text: str) -> Fraction:
    numerator, _, denominator = text.partition("/")
    return Fraction(int(numerator), int(denominator))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAccount:
    """What a run has reserved and spent, in exact amounts, with the fingerprints of its plan and its analysis.

    `plan` is None for a run that pays as it goes; `live` was charged and is pending or released, `lost` was charged and came to
    nothing: a crash, a failure. The total that the filter sees is the sum of `held` over all runs. Soundness needs one thing
    of it: that it is never below what was charged. What is held beyond that is a promise among runs, so giving it back when a
    run closes is no refund: a filter theorem composes the charges that were made, and a reservation charges nothing.
    """

    plan_hash: str
    analysis: str
    plan: Amounts | None
    live: Amounts
    lost: Amounts
    is_open: bool = True

    @property
    def spent(self) -> Amounts:
        """Everything that was charged, whatever became of it."""
        return plus(self.live, self.lost)

    @property
    def held(self) -> Amounts:
        """What counts against the total: the whole plan until the run closes, and never less than what was charged."""
        return larger(self.plan, self.spent) if self.is_open and self.plan is not None else self.spent

    def covers(self, price: Amounts) -> bool:
        """Whether the plan has room. What was lost takes none: it is paid from the total, on top of the plan."""
        return self.plan is None or within(plus(self.live, price), self.plan)

    def charged(self, price: Amounts) -> RunAccount:
        """After a charge."""
        return replace(self, live=plus(self.live, price))

    def failed(self, price: Amounts) -> RunAccount:
        """After a charge came to nothing: it stays spent."""
        return replace(self, live=minus(self.live, price), lost=plus(self.lost, price))

    def as_json(self) -> dict[str, object]:
        """What each entry of the run says of it."""
        account = {
            "plan": None if self.plan is None else written_amounts(self.plan),
            "live": written_amounts(self.live),
            "lost": written_amounts(self.lost),
            "open": self.is_open,
        }
        return {"plan_hash": self.plan_hash, "analysis": self.analysis, "account": account}

    @staticmethod
    def from_json(body: Mapping[str, object]) -> RunAccount:
        """What `as_json` put into an entry's body."""
        plan_hash, analysis, written = body.get("plan_hash"), body.get("analysis"), body.get("account")
        if not isinstance(plan_hash, str) or not isinstance(analysis, str):
            raise SerialisationError(reason=f"entry {body.get('seq')} lacks the fingerprints of its run.")
        if not isinstance(written, Mapping) or written.keys() != {"plan", "live", "lost", "open"}:
            raise SerialisationError(reason="the account of a run is malformed.")
        return RunAccount(
            plan_hash=plan_hash,
            analysis=analysis,
            plan=None if written["plan"] is None else read_amounts(written["plan"]),
            live=read_amounts(written["live"]),
            lost=read_amounts(written["lost"]),
            is_open=written["open"] is True,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The sums over all runs: what was charged, and what is held."""

    spent: Amounts
    held: Amounts

    def after(self, before: RunAccount | None, now: RunAccount) -> Totals:
        """The totals once one run's account has changed; most steps change few amounts, and subtracting fractions is slow."""
        if before is None:
            return Totals(spent=plus(self.spent, now.spent), held=plus(self.held, now.held))
        spent = zip(self.spent, before.spent, now.spent, strict=True)
        held = zip(self.held, before.held, now.held, strict=True)
        return Totals(
            spent=tuple(total if a == b else total + b - a for total, a, b in spent),
            held=tuple(total if a == b else total + b - a for total, a, b in held),
        )

    def as_json(self) -> dict[str, object]:
        """The totals as each entry holds them."""
        return {"spent": written_amounts(self.spent), "held": written_amounts(self.held)}

    @staticmethod
    def from_json(written: object) -> Totals:
        """What `as_json` wrote."""
        if not isinstance(written, Mapping) or written.keys() != {"spent", "held"}:
            raise SerialisationError(reason="the totals are malformed.")
        found = Totals(spent=read_amounts(written["spent"]), held=read_amounts(written["held"]))
        if any(amount < 0 for amount in found.spent) or not within(found.spent, found.held):
            raise SerialisationError(reason="the totals are malformed: less is held than was spent, or less than nothing.")
        return found


_ODD = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def value_text(value: object) -> str:
    """Numbers, texts, lists, tuples, mappings with text keys, numpy arrays and scalars of numbers, as one line of JSON."""
    return canonical(_encode(value))


def value_of(text: str) -> object:
    """The value that `value_text` wrote; a tuple comes back as a tuple, an array with its type and shape."""
    try:
        return _decode(json.loads(text))
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, MemoryError):
        raise SerialisationError(reason="a released value is malformed.") from None


def _encode(value: object) -> object:
    if value is None or (isinstance(value, bool | int | str) and not isinstance(value, np.generic)):
        return value
    if isinstance(value, float) and not isinstance(value, np.generic):
        return value if math.isfinite(value) else {"is": "float", "value": repr(value)}
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biuf" and value.dtype.itemsize <= 8:
        array = np.asarray(value)
        return {
            "is": "array" if isinstance(value, np.ndarray) else "scalar",
            "type": array.dtype.newbyteorder("<").str,
            "shape": list(array.shape),
            "values": [_encode(item) for item in array.ravel().tolist()],
            "simulation": isinstance(value, Simulated),
        }
    if isinstance(value, list):
        return [_encode(item) for item in value]
    if isinstance(value, tuple):
        return {"is": "tuple", "value": [_encode(item) for item in value]}
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {"is": "mapping", "value": {key: _encode(item) for key, item in value.items()}}
    # the type alone: what is being released must not stand in a message
    allowed = "numbers, texts, lists, tuples, mappings with text keys, or numpy arrays of numbers"
    raise InvalidValueError(field="value", found=type(value).__name__, allowed=allowed, where="released")


def _decode(node: object) -> object:
    if isinstance(node, list):
        return [_decode(item) for item in node]
    if not isinstance(node, dict):
        return node
    kind, value = node["is"], node.get("value")
    if kind == "float":
        return _ODD[str(value)]
    if kind == "tuple" and isinstance(value, list):
        return tuple(_decode(item) for item in value)
    if kind == "mapping" and isinstance(value, dict):
        return {key: _decode(item) for key, item in value.items()}
    if kind in ("array", "scalar"):
        numbers = [_decode(item) for item in node["values"]]
        array = np.array(numbers, dtype=np.dtype(node["type"]).newbyteorder("=")).reshape(node["shape"])
        if kind == "scalar":
            return array[()]
        return array.view(Simulated) if node["simulation"] else array
    raise ValueError("an unknown form")
