"""Bounded contributions: which rows of each person are kept, up to a limit.

Promise: which of a person's rows are kept depends on that person's rows and on the key alone: not on other persons, nor on
the order of rows, nor on how they are batched. So a person more or less changes at most `at_most` rows, whatever the key is.
The key, secret and fresh for each opening of the data, makes the choice fair: each of a person's rows is as likely as another.

Two persons would be mistaken for one only by a collision of a keyed 128-bit hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

import numpy as np
import numpy.typing as npt

from dpkit.contracts.query import Block
from dpkit.values import dataclass

BoolArray = npt.NDArray[np.bool_]
WordArray = npt.NDArray[np.uint64]
Rows = Callable[[], Iterator[tuple[list[str | None], Block]]]
"""Every row, batch by batch: whose it is (None: nobody's) and the codes of all declared columns."""

ROWS_AT_ONCE = 1 << 22
"""About how many rows are held at a time (32 bytes each); more take more passes."""

KEY_BYTES = 32


def kept_rows(rows: Rows, total: int, *, at_most: int, key: bytes, rows_at_once: int = ROWS_AT_ONCE) -> BoolArray:
    """Which of the `total` rows are kept, by position. Persons are shared out over as many passes as memory asks for."""
    kept = np.zeros(total, dtype=np.bool_)
    passes = max(1, -(-total // rows_at_once))
    for turn in range(passes):
        found = gathered(list(_shares(rows, key=key, turn=turn, passes=passes)))
        kept[found.position[first_of_each(found, at_most=at_most, key=key)]] = True
    return kept


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FoundRows:
    """Where some rows are, with keyed hashes of whose they are (128 bits) and of their codes (64 bits); not what they hold."""

    position: npt.NDArray[np.int64] = field(repr=False)
    person: WordArray = field(repr=False)
    content: WordArray = field(repr=False)

    def select(self, places: npt.NDArray[np.intp]) -> FoundRows:
        """These of them."""
        return FoundRows(position=self.position[places], person=self.person[places], content=self.content[places])


def found_rows(rows: Rows, *, key: bytes) -> Iterator[FoundRows]:
    """Every row that is somebody's, batch by batch. Rows of one person have one `person`, wherever they are found."""
    start = 0
    for names, block in rows():
        owned = np.flatnonzero(np.array([name is not None for name in names], dtype=np.bool_))
        person, content = hashed_persons(names, key), _contents(block, key)
        yield FoundRows(position=owned + start, person=person[owned], content=content[owned])
        start += block.shape[0]


def shared_out(found: FoundRows, shares: int) -> list[FoundRows]:
    """The rows by person: all rows of one person go to the same share, wherever they were found."""
    share = found.person[:, 0] % np.uint64(shares)
    return [found.select(np.flatnonzero(share == number)) for number in range(shares)]


def gathered(parts: Sequence[FoundRows]) -> FoundRows:
    """All of them, in this order."""
    nothing = np.zeros(0, dtype=np.uint64)
    return FoundRows(
        position=np.concatenate([np.zeros(0, dtype=np.int64), *(part.position for part in parts)]),
        person=np.concatenate([nothing.reshape(0, 2), *(part.person for part in parts)]),
        content=np.concatenate([nothing, *(part.content for part in parts)]),
    )


def _shares(rows: Rows, *, key: bytes, turn: int, passes: int) -> Iterator[FoundRows]:
    """What one of several passes takes of every batch."""
    for found in found_rows(rows, key=key):
        yield found.select(np.flatnonzero(found.person[:, 0] % np.uint64(passes) == turn))


def first_of_each(found: FoundRows, *, at_most: int, key: bytes) -> npt.NDArray[np.intp]:
    """Places of the rows of each person that come first in an order which the key draws; all rows of a person must be there.

    Equal rows of one person are numbered, so that each has a place of its own in that order; which of them gets which
    number changes nothing, since they are equal.
    """
    high, low = found.person[:, 0], found.person[:, 1]
    by_content = np.lexsort((found.content, low, high))
    number = np.empty(by_content.size, dtype=np.uint64)
    number[by_content] = _ranks(high[by_content], low[by_content], found.content[by_content])
    words = _words(key, b"order", 1)
    priority = _mixed(_mixed(_mixed(found.content ^ words[0]) ^ high) ^ number)
    by_priority = np.lexsort((found.content, priority, low, high))
    rank = _ranks(high[by_priority], low[by_priority])
    return by_priority[rank < at_most]


def _ranks(*sorted_keys: WordArray) -> WordArray:
    """0, 1, 2, ... within each run of equal keys."""
    size = sorted_keys[0].size
    begins = np.ones(size, dtype=np.bool_)
    if size:
        begins[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in sorted_keys])
    starts = np.flatnonzero(begins)
    return (np.arange(size) - np.repeat(starts, np.diff(np.append(starts, size)))).astype(np.uint64)


def hashed_persons(names: list[str | None], key: bytes) -> WordArray:
    """A keyed 128-bit hash of whose each row is."""
    digests: dict[str | None, bytes] = {None: bytes(16)}
    for name in names:
        if name not in digests and name is not None:
            text = name.encode("utf-8", errors="surrogatepass")
            digests[name] = hashlib.blake2b(text, digest_size=16, key=key, person=b"dpkit person").digest()
    return np.frombuffer(b"".join([digests[name] for name in names]), dtype="<u8").astype(np.uint64).reshape(-1, 2)


def _contents(block: Block, key: bytes) -> WordArray:
    """A keyed 64-bit hash of each row's codes. A collision of two rows of one person costs fairness, nothing else."""
    bits = np.ascontiguousarray(block).view(np.uint64)
    words = _words(key, b"content", block.shape[1])
    state = np.zeros(block.shape[0], dtype=np.uint64)
    for place in range(block.shape[1]):
        state = _mixed(state ^ bits[:, place] ^ words[place])
    return state


def _words(key: bytes, purpose: bytes, count: int) -> WordArray:
    stream = hashlib.shake_256(key + purpose).digest(8 * count)
    return np.frombuffer(stream, dtype="<u8").astype(np.uint64)


def _mixed(state: WordArray) -> WordArray:
    """A bijection of 64-bit words that scatters them (the finaliser of SplitMix64)."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))
