"""The entries of the log: what each kind says, as values, and the one way in which they are written and read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from dpkit.errors import SerialisationError

Kind = Literal["create", "reserve", "charge", "release", "fail", "close"]
KINDS: tuple[str, ...] = get_args(Kind)

State = Literal["reserved", "released", "failed"]
"""Of a charge: paid and not yet out, out, or paid for nothing."""


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
        if self.kind == "charge":
            return self.seq
        found = self.body.get("charge", -1)
        return found if isinstance(found, int) else -1

    @property
    def state(self) -> State | None:
        """The state that this entry puts a charge into."""
        states: dict[str, State] = {"charge": "reserved", "release": "released", "fail": "failed"}
        return states.get(self.kind)


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
