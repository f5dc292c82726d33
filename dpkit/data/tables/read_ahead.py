"""Reading ahead: the next blocks are read and encoded on a second thread while this one computes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from queue import Empty, Full, Queue
from typing import TypeVar

Item = TypeVar("Item")

DEPTH = 2
"""The largest number of blocks that wait, beside the one that is used and the one that is read."""

_LOOK = 0.05


class _End:
    """What the reader puts last: nothing more, or why it failed."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def read_ahead(items: Iterator[Item], *, depth: int = DEPTH) -> Iterator[Item]:
    """The same items in the same order, made on a second thread; what fails there fails here. The thread ends with this."""
    waiting: Queue[Item | _End] = Queue(maxsize=depth)
    over = threading.Event()
    reader = threading.Thread(target=_read, args=(items, waiting, over), name="dpkit-read-ahead", daemon=True)
    reader.start()
    try:
        while True:
            item = waiting.get()
            if isinstance(item, _End):
                if item.error is not None:
                    raise item.error
                return
            yield item
    finally:
        over.set()
        while reader.is_alive():  # room for what it wants to put
            _drain(waiting)
            reader.join(_LOOK)


def _read(items: Iterator[Item], waiting: Queue[Item | _End], over: threading.Event) -> None:
    end = _End()
    try:
        for item in items:
            if not _put(waiting, item, over):
                break
    except BaseException as error:  # noqa: BLE001 - it is raised again by whoever reads
        end = _End(error)
    try:
        close = getattr(items, "close", None)  # files that a generator holds are closed on the thread that read them
        if callable(close):
            close()
    except BaseException as error:  # noqa: BLE001 - likewise; the end must be put, or whoever reads waits for ever
        end = _End(end.error or error)
    _put(waiting, end, over)


def _put(waiting: Queue[Item | _End], item: Item | _End, over: threading.Event) -> bool:
    while not over.is_set():
        try:
            waiting.put(item, timeout=_LOOK)
        except Full:
            continue
        return True
    return False


def _drain(waiting: Queue[Item | _End]) -> None:
    try:
        while True:
            waiting.get_nowait()
    except Empty:
        return
