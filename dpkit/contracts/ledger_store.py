"""What keeps a ledger: a store of an append-only log. SQLite files are one, a PostgreSQL database another, a plugin's a third.

A store knows nothing of prices. It begins a transaction and, inside it, reads the head, reads entries and appends one; what
entries mean, and whether they follow from each other, is checked above it, in `release/ledger`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal, Protocol
from urllib.parse import SplitResult, parse_qsl, unquote_plus, urlencode, urlsplit

from dpkit.errors import InvalidValueError
from dpkit.values import dataclass

Durability = Literal["full", "normal"]
"""`full`: a charge is on the disk before it is granted. `normal`: it survives a crash of the process, not of the machine."""

Row = tuple[int, str, str | None, str, str, str]
"""An entry as it is stored: its number, body, released value and hash, and the run and key that it is filed under."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_MEANT = re.compile(r"(?i:postgres(ql)?):|[A-Za-z][A-Za-z0-9+.-]+:[^/\\]*@")


@dataclass(frozen=True, slots=True)
class LedgerAddress:
    """Where a ledger lies that is no file, such as `postgresql://host/db?dataset=flights`. Shown, it has no password."""

    text: str

    def __post_init__(self) -> None:
        try:
            parts = self.parts
            _ = parts.port
        except ValueError:
            parts = None
        if parts is None or not _SCHEME.match(self.text) or "@" in f"{parts.path}{parts.query}{parts.fragment}":
            raise InvalidValueError(
                field="ledger",
                found="an address that cannot be read",
                allowed="a path, or an address such as postgresql://host/db?dataset=flights",
                where="ledger",
                fix="Characters such as @ / ? # : of a password are written by their codes: %40 %2F %3F %23 %3A.",
            )
        names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
        if len(names) != len(set(names)):
            twice = next(name for name in names if names.count(name) > 1)
            raise InvalidValueError(field="ledger", found=f"{twice} twice", allowed="each option once", where="ledger")

    @staticmethod
    def is_in(text: str) -> bool:
        """Whether a text is an address rather than the path of a file; one that lacks its slashes is meant as one."""
        return _SCHEME.match(text) is not None or _MEANT.match(text) is not None

    @property
    def parts(self) -> SplitResult:
        """The parts of the address, by the rules of URLs."""
        return urlsplit(self.text)

    @property
    def scheme(self) -> str:
        """Which kind of store it is; `postgres` is another name of `postgresql`."""
        found = self.parts.scheme.lower()
        return "postgresql" if found == "postgres" else found

    @property
    def options(self) -> dict[str, str]:
        """What stands after the question mark."""
        return dict(parse_qsl(self.parts.query, keep_blank_values=True))

    def with_option(self, name: str, value: str) -> LedgerAddress:
        """The same address with one more option."""
        parts = self.parts
        return LedgerAddress(_joined(parts, parts.netloc, urlencode({**self.options, name: value})))

    def __repr__(self) -> str:
        return f"LedgerAddress({str(self)!r})"

    def __str__(self) -> str:
        parts = self.parts
        user, _, host = parts.netloc.rpartition("@")
        netloc = f"{user.partition(':')[0]}@{host}" if user else host
        return _joined(parts, netloc, "&".join(part for part in parts.query.split("&") if not is_secret(part)))


def _joined(parts: SplitResult, netloc: str, query: str) -> str:
    """The address of its parts; the standard library would drop the slashes before an empty host."""
    return f"{parts.scheme}://{netloc}{parts.path}{'?' if query else ''}{query}"


def is_secret(option: str) -> bool:
    """Whether an option, by its name, holds what nobody should see."""
    name = unquote_plus(option.partition("=")[0]).lower()
    return any(word in name for word in ("pass", "pwd", "secret", "token", "key"))


LedgerPlace = Path | LedgerAddress
"""Where a ledger lies."""


class LedgerTransaction(Protocol):
    """What a store does inside one transaction."""

    def head(self) -> tuple[int, str] | None:
        """The number and the hash of the last entry, as they are kept apart from it."""
        ...

    def rows(
        self, *, run: str | None = None, key: str | None = None, since: int | None = None, last: bool = False, most: int = -1
    ) -> Iterator[Row]:
        """Entries in the order of the log, or, with `last`, from its end; of one run, or of one key of it; at most `most`."""
        ...

    def append(self, *, seq: int, run: str, key: str, body: str, value: str | None, hash: str) -> None:
        """Write one entry and move the head; the transaction holds the write lock."""
        ...

    def check_tables(self) -> None:
        """Refuse, by `LedgerCorruptError`, a store in which something decides what a write does that dpkit did not make."""
        ...

    def damages(self) -> list[str]:
        """The faults that the store itself finds in what it keeps, one sentence each."""
        ...

    def cannot_find(self) -> str:
        """What a verification of this store could not notice, beyond what holds for each; mostly nothing."""
        ...


class LedgerStore(Protocol):
    """One ledger's log. It is used by many processes at once, by several threads of one, and across forks."""

    @property
    def path(self) -> LedgerPlace:
        """Where it lies, as messages name it."""
        ...

    @property
    def opened_with(self) -> dict[str, object]:
        """The arguments of `Ledger.open` by which another process opens it as this one did."""
        ...

    def author(self, who: str | None) -> str:
        """Who writes, as each entry says: what the store knows of it, and `who`, where the caller says more."""
        ...

    def prepare(self) -> None:
        """Check that it is a ledger that this dpkit knows, and bring an older one up to date."""
        ...

    def transaction(self, *, writes: bool) -> AbstractContextManager[LedgerTransaction]:
        """One moment of the ledger, short. With `writes` it holds the only write lock of this ledger from its beginning.

        What is read in it is then still true when it commits. It has committed, durably, when the block ends without an error;
        an error means that nothing of it is, or ever will be, in the log.
        """
        ...

    def close(self) -> None:
        """Let go of what is open; the next call opens it again."""
        ...


LogBy = Callable[[str], Sequence[tuple[str, str | None]]]
"""The entries of a new log, in order, by the name of who writes them: each a body and, where there is one, a released value."""


class OpenStore(Protocol):
    """How a kind of store is opened."""

    def __call__(self, place: LedgerAddress, *, durability: Durability, timeout: float, read_only: bool) -> LedgerStore:
        """The store at this place; nothing is connected before it is used."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerStoreFactory:
    """A kind of store. `name` is the scheme of its addresses, such as `postgresql`.

    `create` makes a new ledger, whole or not at all, and replaces nothing. It takes the address, the name of the dataset, and a
    function that gives the entries of its log, bodies with released values, by who the store says is writing.
    """

    name: str
    doc: str
    open: OpenStore
    create: Callable[[LedgerAddress, str, LogBy], None]
    check: Callable[[LedgerAddress, str], None] | None = None
    """Refuse an address at which `create` cannot make the ledger of a dataset; asked before a ledger that moves is closed."""
    for_tests: Callable[[Path], str] | None = None
    """An address at which the laws may make ledgers, in an empty folder that is thrown away; None where a server is needed."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not re.fullmatch(r"[a-z][a-z0-9+.-]*", self.name):
            allowed = "small letters, digits, plus, dot and dash, the first a letter"
            raise InvalidValueError(field="name", found=self.name, allowed=allowed, where="LedgerStoreFactory")


def has_role_of(one: str, other: str) -> bool:
    """Whether two authors of a store that knows roles are one user of it, whatever each says after its slash."""
    return one.partition("/")[0] == other.partition("/")[0]


def author_of(role: str, who: str | None) -> str:
    """Who writes, where a store knows the role of its user: the role, and after a slash `who`, where the caller says more."""
    if not who or who == role:
        return role
    return who if who.startswith(f"{role}/") else f"{role}/{who}"
