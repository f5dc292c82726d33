"""The one place where text goes to a terminal: whatever a name in a file or a plugin holds, it is shown and never obeyed."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO, cast

from dpkit.errors import visible


class VisibleStream:
    """A stream that writes control characters, marks of direction and other invisible ones as `\\x1b` and the like.

    It has no `buffer`: nothing goes around it but the bar of `dpkit.cli.progress`.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str | bytes) -> int:
        """Write the text (or click's bytes) as it can be seen; what the encoding does not have becomes an escape, too."""
        shown = visible(text if isinstance(text, str) else text.decode("utf-8", "backslashreplace"))
        encoding = self.stream.encoding or "utf-8"
        self.stream.write(shown.encode(encoding, "backslashreplace").decode(encoding))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        """Everything else is as the stream has it."""
        if name == "buffer":
            raise AttributeError(name)
        return getattr(self.stream, name)


@contextmanager
def visible_streams() -> Iterator[None]:
    """While a verb runs: text is escaped on its way out, and numpy's warnings of its own arithmetic are not shown."""
    with (
        redirect_stdout(cast("TextIO", VisibleStream(sys.stdout))),
        redirect_stderr(cast("TextIO", VisibleStream(sys.stderr))),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", RuntimeWarning)
        yield
