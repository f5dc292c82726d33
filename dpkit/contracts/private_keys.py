"""Private keys: texts of a column that nobody declared; those come out that enough people have (docs/proofs/keys.md)."""

from __future__ import annotations

from functools import partial
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from dpkit.contracts.mechanism import Mechanism
from dpkit.privacy.checks import checked, nonempty_text, tuple_of
from dpkit.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(column=nonempty_text)
class KeyQuery:
    """Which texts a column holds, and how many people hold each."""

    column: str

    @property
    def name(self) -> str:
        """As traces and ledgers name it."""
        return "keys"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
@checked(texts=partial(tuple_of, kind=str, allowed="a tuple of texts"))
class KeyHolders:
    """For each text, how many people hold it. Entry j of a row counts those who hold j + 1 different texts in all.

    It is what the data say, without noise: it does not leave the curator.
    """

    texts: tuple[str, ...]
    people: npt.NDArray[np.int64]

    def __repr__(self) -> str:
        return "KeyHolders(...)"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReleasedKeys:
    """The keys that came out, in the order of their texts, each with its noisy number: a count, or a weight."""

    texts: tuple[str, ...]
    numbers: npt.NDArray[np.generic]


@runtime_checkable
class HoldsKeys(Protocol):
    """An engine, or a source, that can tell which texts a column holds, and how many people hold each."""

    def key_holders(self, column: str) -> KeyHolders:
        """Of the rows that are used, at most as many of a person as the unit allows. Raises on no value."""


@runtime_checkable
class ReleasesKeys(Protocol):
    """A curator that releases keys that nobody declared."""

    def release_keys(self, query: KeyQuery, mechanism: Mechanism) -> ReleasedKeys:
        """The keys that enough people have, through a mechanism with a threshold."""
