"""The one place where text goes to a terminal: whatever a name in a file or a plugin holds, it is shown and never obeyed."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import TextIO

from dpkit.errors import visible


class VisibleStream(io.TextIOBase):
    """A stream that writes control characters, marks of direction and other invisible ones as `\\x1b` and the like.

    It has no `buffer`: nothing goes around it but `progress`.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """That of the stream."""
        return self.stream.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        """How the stream writes what its encoding does not have."""
        return self.stream.errors

    def write(self, text: str | bytes) -> int:
        """Write the text (or click's bytes) as it can be seen; what the encoding does not have becomes an escape, too."""
        shown = visible(text if isinstance(text, str) else text.decode("utf-8", "backslashreplace"))
        encoding = self.stream.encoding or "utf-8"
        self.stream.write(shown.encode(encoding, "backslashreplace").decode(encoding))
        return len(text)

    def flush(self) -> None:
        """Flush the stream."""
        self.stream.flush()

    def isatty(self) -> bool:
        """Whether somebody is looking."""
        return self.stream.isatty()

    def fileno(self) -> int:
        """The descriptor of the stream."""
        return self.stream.fileno()

    def writable(self) -> bool:
        """Always."""
        return True


@contextmanager
def visible_streams() -> Iterator[None]:
    """While a verb runs: text is escaped on its way out, and numpy's warnings of its own arithmetic are not shown."""
    with (
        redirect_stdout(VisibleStream(sys.stdout)),
        redirect_stderr(VisibleStream(sys.stderr)),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def progress(line: str) -> None:
    """Write over the line of a terminal; the empty line takes it away."""
    stream = sys.stderr.stream if isinstance(sys.stderr, VisibleStream) else sys.stderr
    stream.write(f"\r{visible(line)}\033[K")
    stream.flush()
