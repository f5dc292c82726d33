"""Gradient-boosted trees on binned entries, in numpy: a small classifier of which side an output came from."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpkit.numerics.special import Array, asfloat

_BINS, _DEPTH, _TREES, _RATE, _RIDGE, _FEATURES = 32, 3, 24, 0.25, 4.0, 48
Codes = npt.NDArray[np.int64]


class BoostedTrees:
    """Log odds of the first side against the second, fitted by Newton boosting of complete trees of depth 3."""

    def __init__(self, first: Array, second: Array) -> None:
        rows = np.concatenate([first, second])[:, :_FEATURES]
        labels = np.concatenate([np.ones(first.shape[0]), np.zeros(second.shape[0])])
        self._edges = [_edges(rows[:, j]) for j in range(rows.shape[1])]
        codes = self._codes(rows)
        self._trees: list[tuple[Codes, Codes, Array]] = []
        odds = np.zeros(rows.shape[0])
        for _ in range(_TREES):
            chance = 1.0 / (1.0 + np.exp(-odds))
            tree = _grow(codes, labels - chance, chance * (1.0 - chance))
            self._trees.append(tree)
            odds = odds + _RATE * _leaf_values(codes, tree)

    def log_odds(self, rows: Array) -> Array:
        """Of each row."""
        codes = self._codes(rows[:, :_FEATURES])
        total = np.zeros(rows.shape[0])
        for tree in self._trees:
            total += _RATE * _leaf_values(codes, tree)
        return total

    def _codes(self, rows: Array) -> Codes:
        return np.stack([np.searchsorted(edges, rows[:, j], "right") for j, edges in enumerate(self._edges)], axis=1)


def _edges(values: Array) -> Array:
    distinct = np.unique(values)
    if distinct.size > _BINS:
        distinct = np.unique(np.quantile(values, np.linspace(0.0, 1.0, _BINS + 1)[1:-1]))
        return distinct[: _BINS - 1]
    return distinct[1:]


def _grow(codes: Codes, gradient: Array, curvature: Array) -> tuple[Codes, Codes, Array]:
    """A complete tree as arrays: the feature and bin of each inner node (heap order), the value of each leaf."""
    inner = 2**_DEPTH - 1
    features, bins = np.zeros(inner, dtype=np.int64), np.full(inner, _BINS, dtype=np.int64)
    node = np.zeros(codes.shape[0], dtype=np.int64)
    width = codes.shape[1]
    for level in range(_DEPTH):
        start, count = 2**level - 1, 2**level
        cells = ((node - start)[:, None] * width + np.arange(width)) * _BINS + codes
        shape = (count, width, _BINS)
        flat_cells = cells.reshape(-1)
        sums = np.bincount(flat_cells, np.repeat(gradient, width), minlength=count * width * _BINS).reshape(shape)
        bends = np.bincount(flat_cells, np.repeat(curvature, width), minlength=count * width * _BINS).reshape(shape)
        left, weight = np.cumsum(sums, axis=2), np.cumsum(bends, axis=2)
        total, mass = left[:, :, -1:], weight[:, :, -1:]
        gain = left**2 / (weight + _RIDGE) + (total - left) ** 2 / (mass - weight + _RIDGE)
        best = np.argmax(gain.reshape(count, -1), axis=1)
        features[start : start + count], bins[start : start + count] = best // _BINS, best % _BINS
        node = 2 * node + 1 + (codes[np.arange(codes.shape[0]), features[node]] > bins[node])
    leaf = node - inner
    top = np.bincount(leaf, gradient, minlength=inner + 1)
    return features, bins, top / (np.bincount(leaf, curvature, minlength=inner + 1) + _RIDGE)


def _leaf_values(codes: Codes, tree: tuple[Codes, Codes, Array]) -> Array:
    features, bins, values = tree
    node = np.zeros(codes.shape[0], dtype=np.int64)
    rows = np.arange(codes.shape[0])
    for _ in range(_DEPTH):
        node = 2 * node + 1 + (codes[rows, features[node]] > bins[node])
    return asfloat(values[node - (2**_DEPTH - 1)])
