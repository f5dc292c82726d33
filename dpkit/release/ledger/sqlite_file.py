"""The place of a ledger on its disk: one file under one name, in a folder of its own file system, with no stranger beside it.

SQLite keeps the undo of an unfinished write in a companion, which it finds by the file's name. Whoever comes to the file by
another name (a hard link, a mount of the file alone) finds neither that companion nor, for a link, the other's locks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from dpkit.errors import LedgerCorruptError, LedgerStorageError, NotALedgerError

COMPANIONS = ("-journal", "-wal", "-shm")
"""What SQLite may put beside a file: the undo of a write; in earlier versions, the write-ahead log and its index."""

MOUNTS = Path("/proc/self/mountinfo")
_FIX = "Nothing was charged."
_WRITE_AHEAD = b"\x02\x02"


Identity = tuple[int, int]
"""The device and the number of a file: which one it is, whatever its name."""


def companion(path: Path, suffix: str) -> Path:
    """What SQLite would put beside the file."""
    return path.with_name(path.name + suffix)


def draft_of(path: Path, unique: str) -> Path:
    """Where a ledger is made before it appears under its name; `check_place` knows such names."""
    return path.with_name(f".{path.name}.{unique}")


def check_place(path: Path) -> None:
    """Refuse a file that is not there, has other names too, or is mounted by itself."""
    if not path.is_file():
        fix = "Make it with `dpkit ledger create`, or check the path."
        if not path.suffix:
            fix += " Names without a file are looked up in the list of ledgers, ~/.config/dpkit/ledgers.yaml."
        raise NotALedgerError(path=path, reason="there is no such file.", fix=fix)
    found = os.stat(path)
    if (
        found.st_nlink > 1
    ):  # a `create` that was killed leaves the name under which the file was made, and which nobody has used
        draft = re.compile(re.escape(f".{path.name}.") + "[0-9a-f]{32}")
        for name in filter(draft.fullmatch, list(_other_names(path, found))):
            with suppress(OSError):
                path.with_name(name).unlink()
    identity(path)
    try:  # where something is mounted, as this process sees it; nothing where the system does not say
        mounts = [line.split(b" ") for line in MOUNTS.read_bytes().splitlines()]
    except OSError:
        mounts = []
    escaped = re.compile(rb"\\([0-7]{3})")
    points = {escaped.sub(lambda found: bytes([int(found[1], 8)]), parts[4]) for parts in mounts if len(parts) > 4}
    if os.fsencode(path) in points:
        raise LedgerStorageError(
            path=path,
            reason="the file alone is mounted here, so what SQLite must find beside it is not where it is for others.",
            fix=f"{_FIX} Mount its folder instead, for example `docker run -v FOLDER:FOLDER`.",
        )


def identity(path: Path, known: Identity | None = None) -> Identity:
    """The file under this name; refused when it has other names too, or is no longer the one that is known."""
    try:
        found = os.stat(path)
    except OSError:
        raise LedgerStorageError(
            path=path,
            reason="it is no longer there: it was moved or removed while it was open.",
            fix=f"{_FIX} Open it where it is now, or put it back.",
        ) from None
    if found.st_nlink > 1:
        others = ", ".join(repr(name) for name in _other_names(path, found))
        where = f" (here also as {others})" if others else " (`find / -xdev -samefile FILE` shows them)"
        raise LedgerStorageError(
            path=path,
            reason=f"the file has {found.st_nlink} names, hard links{where}: by each the whole budget could be spent again.",
            fix=f"{_FIX} Keep one name and remove the others; to keep a copy, copy the file.",
        )
    seen = found.st_dev, found.st_ino
    if known is not None and seen != known:
        raise LedgerStorageError(
            path=path,
            reason="another file has its name now: it was moved or replaced while it was open.",
            fix=f"{_FIX} Open it again, once you know which of the two is the ledger.",
        )
    return seen


def check_companions(path: Path, *, read_header: bool) -> bool:
    """Whether a write-ahead log with something in it lies beside the file, where earlier versions kept their last charges.

    `LedgerCorruptError` where it is known to be missing, or is another ledger's. `read_header` opens the file, which would drop
    every lock that this process holds on it: it is for when there are none.
    """
    log, index = companion(path, "-wal"), companion(path, "-shm")
    present = log.exists()
    if not present and index.exists() and index.stat().st_size > 0:
        raise LedgerCorruptError(
            path=path,
            reason=f"{index.name} lies beside it and {log.name} does not: the last charges were kept there, and are missing.",
            fix=f"{_FIX} Bring {log.name} back. If it is lost, remove {index.name}: what was charged since is then unknown.",
        )
    filled = present and log.stat().st_size > 0
    if filled and read_header:
        with path.open("rb") as file:
            says_write_ahead = file.read(20)[18:] == _WRITE_AHEAD
        if not says_write_ahead:
            raise foreign_log(path)
    return filled


def foreign_log(path: Path) -> LedgerCorruptError:
    """The write-ahead log beside a file is not its own."""
    log = companion(path, "-wal").name
    return LedgerCorruptError(
        path=path,
        reason=f"{log} lies beside it and belongs to another ledger, which was moved away without it.",
        fix=f"{_FIX} Put {log} beside that ledger, under that ledger's name: its last charges are in it.",
    )


def leftovers(path: Path) -> list[str]:
    """The companions of a ledger that is not there: SQLite would apply them to whatever takes its name."""
    return [companion(path, suffix).name for suffix in COMPANIONS if companion(path, suffix).exists()]


def _other_names(path: Path, found: os.stat_result) -> Iterator[str]:
    with suppress(OSError), os.scandir(path.parent) as items:
        for item in items:
            if item.name != path.name and item.inode() == found.st_ino:
                yield item.name
