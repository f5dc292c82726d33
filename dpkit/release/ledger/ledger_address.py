"""Where a ledger lies: a path, an address, or a name from the user's list of ledgers, which may hold passwords.

The list is `~/.config/dpkit/ledgers.yaml`, or what DPKIT_LEDGERS names: one line a ledger,
`flights: postgresql://anna:secret@db.example/budgets?dataset=flights`. Only its owner may read it.
"""

from __future__ import annotations

import os
import re
import stat
from os import PathLike
from pathlib import Path

from dpkit.contracts.ledger_store import LedgerAddress, LedgerPlace, is_secret
from dpkit.errors import InvalidValueError, LedgerStorageError

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_LINE = re.compile(rf"(?P<name>{_NAME.pattern}):\s+(?P<quote>['\"]?)(?P<address>\S+)(?P=quote)")


def ledger_place(given: str | PathLike[str] | LedgerAddress, folder: Path | None = None) -> LedgerPlace:
    """The place that a text stands for; paths are relative to `folder`."""
    if isinstance(given, LedgerAddress):
        return given
    text = os.fspath(given)
    if not isinstance(given, Path) and LedgerAddress.is_in(text):
        return LedgerAddress(text)
    path = Path(text) if folder is None else folder / text
    if isinstance(given, Path) or not _NAME.fullmatch(text):
        return path
    address = listed_ledgers().get(text)
    if address is None:
        return path
    if path.exists():
        raise InvalidValueError(
            field="ledger",
            found=text,
            allowed=f"one meaning: it is a file here, and a name in {list_file()}. Write ./{text} for the file",
            where="ledger",
        )
    return address


def may_only_read(given: str | PathLike[str] | LedgerAddress) -> bool:
    """Whether a ledger is a file that this user can read and not write; a database says so when it is asked to write."""
    place = ledger_place(given)
    return isinstance(place, Path) and os.path.exists(place) and not os.access(place, os.W_OK)


def list_file() -> Path:
    """The file with the user's ledgers; it need not exist."""
    named = os.environ.get("DPKIT_LEDGERS")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "dpkit" / "ledgers.yaml"


def listed_ledgers() -> dict[str, LedgerAddress]:
    """The user's ledgers by name; messages never quote the file."""
    path = list_file()
    try:
        text = path.read_text(encoding="utf-8")
        mode = path.stat().st_mode
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise LedgerStorageError(path=path, reason=f"the list of ledgers cannot be read ({type(error).__name__}).") from None
    addresses: dict[str, LedgerAddress] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _LINE.fullmatch(line.strip())
        if found is None or found["name"] in addresses or not LedgerAddress.is_in(found["address"]):
            reason = f"line {number} of the list of ledgers is not `name: address`, each name once."
            raise LedgerStorageError(path=path, reason=reason, fix="Correct it.")
        addresses[found["name"]] = LedgerAddress(found["address"])
    if os.name == "posix" and mode & (stat.S_IRGRP | stat.S_IROTH) and any(has_password(each) for each in addresses.values()):
        raise LedgerStorageError(
            path=path, reason="it holds a password, and others may read it.", fix=f"Do `chmod 600 {path}` first."
        )
    return addresses


def has_password(address: LedgerAddress) -> bool:
    """Whether what is shown of an address leaves something out."""
    return bool(address.parts.password) or any(map(is_secret, address.parts.query.split("&")))
