"""A binary tree of counts over a range: what quantiles are read from.

Every row counts once on each level, so a count of any prefix is a sum of at most `depth` noisy counts instead of one for every
cell. The levels are then made consistent by least squares, which uses everything that was released and costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt

import dpkit
from dpkit.authoring import whole_number
from dpkit_stats.counting import norms
from dpkit_stats.scaling import Array, Interval

BECAUSE = dpkit.Citation(key="dpkit", locator="docs/statistics.md")
DEEPEST = 14
_MEASURED = 10


def tree_query(column: str, bounds: Interval, depth: int) -> dpkit.Query:
    """Counts in 2, 4, ..., 2**depth equal cells of the range, level after level."""
    whole_number(depth, field="depth", where="quantiles", minimum=1)
    if depth > DEEPEST:
        raise dpkit.InvalidValueError(field="depth", found=depth, allowed=f"at most {DEEPEST}", where="quantiles")
    leaves = 2**depth

    def leaf(block: Array) -> npt.NDArray[np.int64]:
        place = np.floor((bounds.unit(block[:, 0]) + 1.0) / 2.0 * leaves)
        return np.minimum(place, leaves - 1).astype(np.int64)

    def rows(block: Array) -> Array:
        found = np.zeros((block.shape[0], 2 * leaves - 2))
        places, mine = np.arange(block.shape[0]), leaf(block)
        for level in range(1, depth + 1):
            found[places, 2**level - 2 + (mine >> (depth - level))] = 1.0
        return found

    def block_sum(block: Array) -> Array:
        levels = [np.bincount(leaf(block), minlength=leaves).astype(np.float64)]
        for _ in range(1, depth):
            levels.append(levels[-1].reshape(-1, 2).sum(axis=1))
        return np.concatenate(levels[::-1])

    return dpkit.Query(
        name="quantiles",
        columns=(column,),
        rows=rows,
        block_sum=block_sum,
        shape=(2 * leaves - 2,),
        grid=1.0,
        bound=1.0,
        sensitivity=norms(one=(depth, depth), replaced=(2.0 * depth, 2.0 * depth)),
        because=BECAUSE,
    )


def consistent_leaves(nodes: Array, *, total: float | None = None) -> Array:
    """The least-squares counts of the leaves, from all levels; with a known total they add up to it.

    Weighted averages upwards, then each pair takes up what its parent has over: for equal noise in every node this is the
    least-squares solution under the constraint that children add up to their parent.
    """
    levels = []
    start, size = 0, 2
    while start < nodes.size:
        levels.append(np.asarray(nodes[start : start + size], dtype=np.float64))
        start, size = start + size, 2 * size
    upward = [levels[-1]]
    for height, level in enumerate(reversed(levels[:-1]), start=2):
        below = upward[-1].reshape(-1, 2).sum(axis=1)
        weight = 2.0 ** (height - 1) / (2.0**height - 1.0)
        upward.append(weight * level + (1.0 - weight) * below)
    counts = upward.pop()
    if total is not None:
        counts = counts + (total - counts.sum()) / 2.0
    while upward:
        children = upward.pop().reshape(-1, 2)
        counts = (children + ((counts - children.sum(axis=1)) / 2.0)[:, None]).ravel()
    return counts


@lru_cache(maxsize=32)
def rank_norm(depth: int) -> float:
    """The largest norm of the coefficients of (a prefix less its share of the whole) in the released counts of all nodes.

    That is by how much the rank at an edge is off, in units of the noise of a node. Least squares is linear: from unit vectors.
    For deep trees, whose norms grow by little, that of a smaller one and 0.1 for each level more.
    """
    if depth > _MEASURED:
        return rank_norm(_MEASURED) + 0.1 * (depth - _MEASURED)
    edges = np.arange(1, 2**depth)
    squares = np.zeros(edges.size)
    for level in range(1, depth + 1):
        for count, prefixes in _prefixes(depth, level, edges):
            squares += count * np.square(prefixes)
    return math.sqrt(float(np.max(squares))) * (1.0 + 1e-9)


@lru_cache(maxsize=32)
def rank_coefficients(depth: int) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """The sizes of these coefficients at the edge where their norm is largest, and how many nodes have each.

    Of deep trees those of a smaller one, larger by the ratio of the norms.
    """
    known = min(depth, _MEASURED)
    edges = np.arange(1, 2**known)
    kinds = [found for level in range(1, known + 1) for found in _prefixes(known, level, edges)]
    worst = int(np.argmax(sum(count * np.square(prefixes) for count, prefixes in kinds)))
    larger = rank_norm(depth) / rank_norm(known)
    listed = [(count, larger * abs(float(prefixes[worst]))) for count, prefixes in kinds]
    return tuple(size for _, size in listed if size), tuple(count for count, size in listed if size)


def _prefixes(depth: int, level: int, edges: npt.NDArray[np.int64]) -> Iterator[tuple[int, Array]]:
    """How many nodes of a level do the same to (the prefixes up to these edges less their shares of the whole), and what.

    What a node does to a leaf depends on the level at which their ways from the root fork. So at one edge there are as many
    kinds of nodes as levels above them: by where they fork from the way to the leaf right of the edge. To its left, whole
    subtrees fork from that way too, one for each bit of the edge that is set.
    """
    unit = np.zeros(2 ** (depth + 1) - 2)
    unit[2**level - 2] = 1.0
    leaves = consistent_leaves(unit)
    done = [float(leaves[2 ** (depth - fork - 1)]) for fork in range(level)] + [float(leaves[0])]
    inside = [float(np.sum(leaves[: 2 ** (depth - fork)])) for fork in range(level + 1)]
    before = -edges / 2**depth * inside[0]
    for fork, each in enumerate(done):
        beyond = depth - fork - 1
        if fork == level:
            yield 1, before + each * (edges % 2 ** (beyond + 1))
            return
        is_set = (edges >> beyond) & 1
        yield 2 ** (level - fork - 1), before + is_set * inside[fork + 1] + each * (edges % 2**beyond)
        before = before + is_set * each * 2**beyond


def worst_prefix(depth: int) -> float:
    """How far a prefix of `consistent_leaves` can be off where no node is off by more than one.

    On the way up a node of height h is off by at most e(h) = w + 2 (1 - w) e(h-1), with the weight w of its own count. On the
    way down, each pair adds half the difference of two such errors times a number in [0, 1], the share of what lies to the
    left. So a prefix is off by at most twice the error of the topmost pair and once that of every other level.
    """
    errors = [1.0]
    for height in range(2, depth + 1):
        weight = 2.0 ** (height - 1) / (2.0**height - 1.0)
        errors.append(weight + 2.0 * (1.0 - weight) * errors[-1])
    return (sum(errors[:-1]) + 2.0 * errors[-1]) * (1.0 + 1e-12)


def rising(prefixes: Array) -> Array:
    """The nearest that never falls, halfway between the running maximum and the running minimum from the right.

    Where the truth never falls, the largest error of the prefixes does not grow.
    """
    return (np.maximum.accumulate(prefixes) + np.minimum.accumulate(prefixes[::-1])[::-1]) / 2.0
