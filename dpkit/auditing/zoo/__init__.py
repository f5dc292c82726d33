"""The zoo: mechanisms known to be broken or right, with their claims and pairs; `dpkit audit --zoo` runs them all."""

from __future__ import annotations

from dpkit.auditing.zoo.additive import ADDITIVE
from dpkit.auditing.zoo.entry import Entry
from dpkit.auditing.zoo.matrices import MATRICES
from dpkit.auditing.zoo.selection import SELECTION
from dpkit.auditing.zoo.sparse_vector import SPARSE_VECTOR
from dpkit.auditing.zoo.surveys import SURVEYS
from dpkit.errors import UnknownNameError

ZOO: tuple[Entry, ...] = (*ADDITIVE, *SPARSE_VECTOR, *SELECTION, *SURVEYS, *MATRICES)


def entry_named(name: str) -> Entry:
    """The entry of that name."""
    for entry in ZOO:
        if entry.name == name:
            return entry
    raise UnknownNameError(kind="zoo entry", name=name, known=[entry.name for entry in ZOO])


__all__ = ["ZOO", "Entry", "entry_named"]
