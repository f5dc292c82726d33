"""Text files as bytes of UTF-8 with double quotes, whatever they are written in: compressed, in another encoding or quoting.

Each file is read on its own, from its beginning on. A plain file is read as it is, and may be read from any place on.
"""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, Protocol

from dpkit.data.tables.files import no_such_file
from dpkit.errors import MissingExtraError, SourceError, raise_alone
from dpkit.values import dataclass

CHUNK = 1 << 20
COMPRESSED = (".gz", ".zst")
"""Endings of compressed files; what they hold is named before: `rows.csv.gz`."""

NO_QUOTES = "none"
_NOBODYS = "\0"
"""Stands in for a quote where there are none."""


class Readable(Protocol):
    """What a reader of records needs of a file."""

    def read(self, size: int, /) -> bytes:
        """The next bytes, at least one of them before the end."""

    def seek(self, place: int, /) -> int:
        """Go to a place."""

    def tell(self) -> int:
        """The place."""

    def close(self) -> None:
        """Let go of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextForm:
    """How text files are written. `quote` is one character, or `none`; `encoding` any that Python knows."""

    delimiter: str = ","
    quote: str = '"'
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        if not isinstance(self.delimiter, str) or len(self.delimiter) != 1 or self.delimiter in '"\r\n\0':
            raise SourceError(source="CSV", reason=f"the delimiter {self.delimiter!r} is not a single character.")
        if "\ud800" <= self.delimiter <= "\udfff":
            raise SourceError(source="CSV", reason=f"the delimiter {self.delimiter!r} cannot be written in UTF-8.")
        good = isinstance(self.quote, str) and len(self.quote) == 1 and self.quote.isascii() and self.quote not in "\r\n\0"
        if self.quote != NO_QUOTES and (not good or self.quote == self.delimiter):
            reason = f"the quote {self.quote!r} is not one character of ASCII beside the delimiter, or `none`."
            raise SourceError(source="CSV", reason=reason)
        try:
            known = codecs.lookup(self.encoding)
            is_text = getattr(known, "_is_text_encoding", True) and known.incrementaldecoder is not None
        except (LookupError, TypeError, ValueError, AttributeError):
            is_text = False
        if not is_text:
            reason = f"there is no encoding named {self.encoding!r}."
            raise SourceError(source="CSV", reason=reason, fix="Usual ones are utf-8, latin-1, cp1252 and utf-16.")

    def is_plain(self, path: str) -> bool:
        """Whether the bytes of a file are what is read, so that it can be read from any place on."""
        return self._is_utf8 and self.quote == '"' and not path.lower().endswith(COMPRESSED)

    def open(self, path: str) -> Readable:
        """The file as UTF-8 with double quotes."""
        if self.is_plain(path):
            return open(path, "rb")
        return _Forward(lambda: self._chunks(path))

    def as_written(self, cells: list[str]) -> list[str]:
        """Cells with the signs back that stood for each other while they were read."""
        if self.quote == '"':
            return cells
        swap = str.maketrans(self._swapped)
        return [cell.translate(swap) for cell in cells]

    @property
    def _is_utf8(self) -> bool:
        return codecs.lookup(self.encoding).name == "utf-8"

    @property
    def _swapped(self) -> dict[str, str]:
        sign = _NOBODYS if self.quote == NO_QUOTES else self.quote
        return {sign: '"', '"': sign}

    def _chunks(self, path: str) -> Iterator[bytes]:
        decoder = None if self._is_utf8 else codecs.getincrementaldecoder(self.encoding)("replace")
        signs, others = (bytes(map(ord, part)) for part in (self._swapped.keys(), self._swapped.values()))
        table = None if self.quote == '"' else bytes.maketrans(signs, others)
        for chunk in _unpacked(path):
            if decoder is not None:
                chunk = decoder.decode(chunk, final=not chunk).encode("utf-8", "replace")
            yield chunk if table is None else chunk.translate(table)


def _unpacked(path: str) -> Iterator[bytes]:
    """The bytes of a file, decompressed; nothing at its end, so that a decoder can end, too."""
    try:
        with _opened(path) as file:
            while chunk := file.read(CHUNK):
                yield chunk
            yield b""
    except FileNotFoundError:
        raise_alone(no_such_file(path))
    except (EOFError, zlib.error, OSError):
        raise_alone(SourceError(source=path, reason="it is not readable as what its name says: is it whole?"))


def _opened(path: str) -> BinaryIO:
    name = path.lower()
    if name.endswith(".gz"):
        return gzip.open(path, "rb")  # type: ignore[return-value]
    if not name.endswith(".zst"):
        return open(path, "rb")
    with open(path, "rb"):
        pass  # a file that is not there says so by its own name
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError(package="pyarrow", purpose="Reading .zst", extra="arrow") from None
    return pyarrow.input_stream(path, compression="zstd")  # type: ignore[no-any-return]


class _Forward:
    """A file that can only be read forward; to go back, it is read again from its beginning."""

    def __init__(self, chunks: Callable[[], Iterator[bytes]]) -> None:
        self._begin = chunks
        self._restart()

    def _restart(self) -> None:
        self._chunks = self._begin()
        self._waiting = b""
        self._place = 0

    def read(self, size: int, /) -> bytes:
        """The next bytes."""
        while not self._waiting:
            chunk = next(self._chunks, None)
            if chunk is None:
                return b""
            self._waiting = chunk
        found, self._waiting = self._waiting[:size], self._waiting[size:]
        self._place += len(found)
        return found

    def seek(self, place: int, /) -> int:
        """Go to a place."""
        if place < self._place:
            self._restart()
        while self._place < place and self.read(min(CHUNK, place - self._place)):
            pass
        return self._place

    def tell(self) -> int:
        """The place."""
        return self._place

    def close(self) -> None:
        """Let go of the file."""
        self._chunks = iter(())
