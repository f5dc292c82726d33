"""How many people hold each private key: counted over rows, which depend on each other only by the person they belong to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from dpkit.contracts.private_keys import KeyHolders
from dpkit.data.columns.bounding import hashed_persons

Rows = Iterable[tuple[Sequence[str | None] | None, Sequence[str | None]]]
"""Batches: whose each row is (None: each its own), and its text (None: none)."""


def count_key_holders(rows: Rows, *, at_most: int, key: bytes) -> KeyHolders:
    """How many people hold each text, by how many different texts they hold. A person has at most `at_most` rows here."""
    counts: Counter[str] = Counter()
    places: dict[str, int] = {}
    people: list[npt.NDArray[np.uint64]] = []
    held: list[npt.NDArray[np.int64]] = []
    for persons, texts in rows:
        if persons is None:
            counts.update(text for text in texts if text is not None)
            continue
        there = [place for place, text in enumerate(texts) if text is not None and persons[place] is not None]
        people.append(hashed_persons([persons[place] for place in there], key))
        found = [texts[place] for place in there]
        held.append(np.array([places.setdefault(text, len(places)) for text in found if text is not None], dtype=np.int64))
    if not held:
        return KeyHolders(texts=tuple(counts), people=np.array(list(counts.values()), dtype=np.int64).reshape(-1, 1))
    return KeyHolders(
        texts=tuple(places), people=_by_number(np.concatenate(people), np.concatenate(held), len(places), at_most)
    )


def _by_number(people: npt.NDArray[np.uint64], held: npt.NDArray[np.int64], texts: int, at_most: int) -> npt.NDArray[np.int64]:
    """For each text, how many persons hold it who hold 1, 2, ..., at_most different ones."""
    order = np.lexsort((held, people[:, 1], people[:, 0]))
    people, held = people[order], held[order]
    person_begins = np.ones(held.size, dtype=np.bool_)
    person_begins[1:] = (people[1:] != people[:-1]).any(axis=1)
    new = person_begins.copy()
    new[1:] |= held[1:] != held[:-1]
    person = np.cumsum(person_begins) - 1
    person, held = person[new], held[new]
    number = np.bincount(person, minlength=1)[person] if held.size else person
    found = np.zeros((texts, at_most), dtype=np.int64)
    np.add.at(found, (held, np.minimum(number, at_most) - 1), 1)
    return found
