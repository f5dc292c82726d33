"""Silence while data is read: a warning may quote a value, and that there is one may depend on a value."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import numpy as np

_LOCK = Lock()
_SILENCES: list[warnings.catch_warnings[None]] = []


@contextmanager
def quietly() -> Iterator[None]:
    """No warning tells of a value. Python's filters are the process's, so threads share one silence: the last one ends it."""
    with _LOCK:
        if not _SILENCES:
            _SILENCES.append(warnings.catch_warnings())
            _SILENCES[0].__enter__()
            warnings.simplefilter("ignore")
        else:
            _SILENCES.append(_SILENCES[0])
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        with _LOCK:
            silence = _SILENCES.pop()
            if not _SILENCES:
                silence.__exit__(None, None, None)
