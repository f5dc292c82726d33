"""The neighbour relation: which pairs of datasets must be hard to tell apart."""

from __future__ import annotations

from enum import Enum


class Neighbours(Enum):
    """Add-remove: one record more or less. Replace-one: same size, one record changed. Both are symmetric."""

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"

    def __str__(self) -> str:
        return self.value


EITHER = (Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE)
"""For what holds under each relation, because the distance was already measured in it."""
