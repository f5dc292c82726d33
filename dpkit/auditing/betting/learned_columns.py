"""Columns that learn a likelihood ratio from the past: by category, by bins, by logistic regression, by trees."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import numpy.typing as npt

from dpkit.auditing.betting.columns import Columns, OutputForm, literal
from dpkit.auditing.draw_outputs import flat
from dpkit.numerics.special import Array, asfloat

_BINS, _DEPTH, _TREES, _RATE, _RIDGE, _FEATURES = 24, 3, 24, 0.25, 4.0, 48
_RECENT = 20_000
_ROWS = 1024
"""Outputs that go through all trees in one piece, so that they stay near the processor."""
_LISTED = 400
"""Categories that an event names: rarer ones are left out of it."""
Codes = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]


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
            tree, leaf = _grow(codes, labels - chance, chance * (1.0 - chance))
            self._trees.append(tree)
            odds = odds + _RATE * tree[2][leaf]

    def log_odds(self, rows: Array) -> Array:
        """ln of the odds of each row."""
        codes = self._codes(rows[:, :_FEATURES]).ravel()
        features, bins, leaves = (np.concatenate(parts) for parts in zip(*self._trees, strict=True))
        trees, inner = np.arange(len(self._trees))[:, None], 2**_DEPTH - 1
        total = np.zeros(rows.shape[0])
        for start in range(0, rows.shape[0], _ROWS):
            stop = min(start + _ROWS, rows.shape[0])
            row = np.arange(start, stop) * len(self._edges)
            node = np.zeros((trees.size, stop - start), dtype=np.int64)
            for _ in range(_DEPTH):
                at = node + inner * trees
                node = 2 * node + 1 + (codes[row + features[at]] > bins[at])
            total[start:stop] = (_RATE * leaves[node - inner + (inner + 1) * trees]).sum(axis=0)
        return total

    def expression(self, form: OutputForm) -> str:
        """`log_odds` as code: every test is an entry against an edge, and three of them lead to a leaf of each tree."""
        entries, edges, leaves = [], [], []
        for features, bins, values in self._trees:
            entries.append(features)
            edges.append([self._edge(int(j), int(place), form) for j, place in zip(features, bins, strict=True)])
            leaves += (_RATE * values).tolist()
        first = literal([2**_DEPTH * tree for tree in range(len(self._trees))])
        passed = f"{form.row}[..., np.array({literal(entries)})] >= np.array({literal(edges)})"
        one = "np.where(t[..., 0], t[..., 2], t[..., 1])"
        two = "np.where(t[..., 0], np.where(a, t[..., 6], t[..., 5]), np.where(a, t[..., 4], t[..., 3]))"
        place = f"np.array({first}) + 4 * t[..., 0] + 2 * a + {two}"
        return f"(lambda t: (lambda a: np.sum(np.array({literal(leaves)})[{place}], axis=-1))({one}))({passed})"

    def _edge(self, feature: int, place: int, form: OutputForm) -> float:
        """What an entry must reach to be above a bin."""
        edges = self._edges[feature]
        return float(edges[place]) - 0.5 * form.grid if place < edges.size else np.inf

    def _codes(self, rows: Array) -> Codes:
        return np.stack([np.searchsorted(edges, rows[:, j], "right") for j, edges in enumerate(self._edges)], axis=1)


def _edges(values: Array) -> Array:
    distinct = np.unique(values)
    if distinct.size > _BINS:
        distinct = np.unique(np.quantile(values, np.linspace(0.0, 1.0, _BINS + 1)[1:-1]))
        return distinct[: _BINS - 1]
    return distinct[1:]


def _grow(codes: Codes, gradient: Array, curvature: Array) -> tuple[tuple[Codes, Codes, Array], Codes]:
    """A complete tree (feature and bin of each inner node in heap order, value of each leaf), and the leaf of each row."""
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
    return (features, bins, top / (np.bincount(leaf, curvature, minlength=inner + 1) + _RIDGE)), leaf


class LearnedRatio(Columns):
    """One column: ln of a likelihood ratio, fitted anew each time the past has grown by a factor, from `least` pairs on."""

    learns = True
    mirrored = True
    growth = 1.1
    least = 1

    def __init__(self) -> None:
        self._learned_at = 0

    @abstractmethod
    def fit(self, first: Array, second: Array) -> None:
        """Learn from everything seen so far."""

    @abstractmethod
    def log_ratio(self, outputs: Array) -> Array:
        """One number an output; asked for after a fit only."""

    def scores(self, outputs: Array) -> Array:
        """0 before anything was learned."""
        return self.log_ratio(outputs)[:, None] if self._learned_at else np.zeros((outputs.shape[0], 1))

    def learn(self, first: Array, second: Array) -> None:
        """A fresh fit, where there is enough news."""
        n = first.shape[0]
        if n >= self.least and n >= self.growth * self._learned_at:
            self._learned_at = n
            self.fit(first, second)


class CategoryRatio(LearnedRatio):
    """ln of smoothed counts of the very output, or of one entry, where they repeat: categories, patterns of answers, counts."""

    def __init__(self, entry: int | None = None) -> None:
        super().__init__()
        self._part = slice(None) if entry is None else slice(entry, entry + 1)
        self.names = (f"log_ratio_of_category(y{'' if entry is None else f'.flat[{entry}]'})",)

    def fit(self, first: Array, second: Array) -> None:
        n = first.shape[0]
        pooled = np.concatenate([first, second])
        hashed = self._hashed(pooled)
        ordered = np.sort(hashed)
        if not (ordered[1:] == ordered[:-1]).any():  # continuous outputs: nothing repeats
            self._keys, self._values, self._counts = ordered[:0], np.zeros(0), np.zeros(0, dtype=np.int64)
            self._outputs = flat(pooled)[:0]
            return
        keys, places, inverse = np.unique(hashed, return_index=True, return_inverse=True)
        one = np.bincount(inverse[:n], minlength=keys.size)
        two = np.bincount(inverse[n:], minlength=keys.size)
        again = one + two > 1  # what was seen once is no category: an atom among continuous noise repeats, and noise does not
        self._keys, self._values = keys[again], np.log((one[again] + 0.5) / (two[again] + 0.5))
        self._outputs, self._counts = flat(pooled)[places[again]], (one + two)[again]

    def log_ratio(self, outputs: Array) -> Array:
        """0 for what was not seen."""
        if self._keys.size == 0:
            return np.zeros(outputs.shape[0])
        keys = self._hashed(outputs)
        places = np.clip(np.searchsorted(self._keys, keys), 0, self._keys.size - 1)
        return np.where(self._keys[places] == keys, self._values[places], 0.0)

    def expression(self, column: int, form: OutputForm) -> str:
        raise NotImplementedError("a set of categories is written by `condition`")

    def condition(self, column: int, *, upper: bool, cut: float, form: OutputForm) -> tuple[str, str]:
        """The categories themselves, the most frequent of them; what was not seen has the ratio 0."""
        if not self._learned_at or self._keys.size == 0:
            everything = (cut <= 0.0) if upper else (cut >= 0.0)
            return ("any output", "np.isin(0 * " + form.entry(0) + ", [0])") if everything else ("no output", "y != y")
        inside = self._values >= cut if upper else self._values <= cut
        unseen = (cut <= 0.0) if upper else (cut >= 0.0)
        listed = np.flatnonzero(inside != unseen)
        listed = np.sort(listed[np.argsort(-self._counts[listed], kind="stable")][:_LISTED])
        rows = self._outputs[listed][:, self._part]
        one = rows.shape[1] == 1 and (form.shape == (1,) or self._part != slice(None))
        word = ("not one of" if unseen else "one of") + (f" {len(rows)} values" if len(rows) > 3 else "")
        shown = ", ".join(str(literal(row[0] if one else row)) for row in rows[:3]) + (", ..." if len(rows) > 3 else "")
        entries = form.entry(self._part.start or 0) if one else form.row
        near = form.rounded(entries)
        if one:
            code = f"np.isin({near}, {literal(rows[:, 0])})"
        else:
            listing = literal(rows) if len(rows) else f"[{literal(np.full(form.size, np.inf))}]"
            same = f"({near})[..., np.newaxis, :] == np.array({listing})"
            code = f"np.any(np.all({same}, axis=-1), axis=-1)"
        return f"y {word} {shown}", f"{code} == False" if unseen else code

    def _hashed(self, outputs: Array) -> Keys:
        return _keys(flat(outputs)[:, self._part])


class BinnedRatio(LearnedRatio):
    """The sum over entries of ln of smoothed bin counts: naive Bayes, exact for one number or independent entries."""

    names = ("log_ratio_of_bins(y)",)

    def fit(self, first: Array, second: Array) -> None:
        """Bins at pooled quantiles; values of their own where there are few."""
        one, two = flat(first)[-_RECENT:], flat(second)[-_RECENT:]
        self._binned: list[tuple[Array, Array]] = []
        bins = int(np.clip(np.sqrt(first.shape[0]) / 2.0, 4, _BINS))
        for j in range(min(one.shape[1], 64)):
            pooled = np.concatenate([one[:, j], two[:, j]])
            edges = np.unique(pooled)
            if edges.size > bins:
                edges = np.unique(np.quantile(pooled, np.linspace(0.0, 1.0, bins + 1)[1:-1]))
            counts = [np.bincount(np.searchsorted(edges, side[:, j], "right"), minlength=edges.size + 1) for side in (one, two)]
            self._binned.append((edges, np.log((counts[0] + 0.5) / (counts[1] + 0.5))))

    def log_ratio(self, outputs: Array) -> Array:
        """Sums of the entries' ln ratios."""
        rows = flat(outputs)
        total = np.zeros(rows.shape[0])
        for j, (edges, values) in enumerate(self._binned):
            total += values[np.searchsorted(edges, rows[:, j], "right")]
        return total

    def expression(self, column: int, form: OutputForm) -> str:
        if not self._learned_at:
            return f"0 * {form.entry(0)}"
        parts = []
        for j, (edges, values) in enumerate(self._binned):
            place = f"np.searchsorted({literal(edges - 0.5 * form.grid)}, {form.entry(j)}, 'right')"
            parts.append(f"np.array({literal(values)})[{place}]")
        return f"({' + '.join(parts)})"


class Logistic(LearnedRatio):
    """Logistic regression on entries, squares and, for few entries, products; ridge, by Newton's method."""

    names = ("log_odds_by_logistic_regression(y)",)
    growth = 1.2
    least = 24

    def fit(self, first: Array, second: Array) -> None:
        """By six steps of Newton's method."""
        one, two = first[-_RECENT // 2 :], second[-_RECENT // 2 :]
        pooled = flat(np.concatenate([one, two]))
        self._center = np.median(pooled, axis=0)
        self._spread = np.maximum(np.mean(np.abs(np.clip(pooled - self._center, -1e150, 1e150)), axis=0), 1e-12)
        features = self._features(np.concatenate([one, two]))
        labels = np.concatenate([np.ones(one.shape[0]), np.zeros(two.shape[0])])
        weights = np.zeros(features.shape[1])
        for _ in range(6):
            chance = 1.0 / (1.0 + np.exp(-np.clip(features @ weights, -30.0, 30.0)))
            bend = (features * (chance * (1.0 - chance))[:, None]).T @ features + np.eye(weights.size)
            weights = weights + np.linalg.solve(bend, features.T @ (labels - chance) - weights)
        self._weights = weights

    def log_ratio(self, outputs: Array) -> Array:
        return asfloat(self._features(outputs) @ self._weights)

    def expression(self, column: int, form: OutputForm) -> str:
        if not self._learned_at:
            return f"0 * {form.entry(0)}"
        width = min(form.size, 40)
        chosen = f"({form.row} - np.array({literal(self._center)})) / np.array({literal(self._spread)})"
        parts = [literal(self._weights[0])]
        for part, weights in (("z", self._weights[1 : 1 + width]), ("np.abs(z)", self._weights[1 + width : 1 + 2 * width])):
            parts.append(f"np.sum({part} * np.array({literal(weights)}), axis=-1)")
        if 1 < width <= 6:
            one, two = np.triu_indices(width, k=1)
            products = f"z[..., {literal(one)}] * z[..., {literal(two)}]"
            parts.append(f"np.sum({products} * np.array({literal(self._weights[-one.size :])}), axis=-1)")
        return f"(lambda z: {' + '.join(parts)})(np.clip({chosen}, -8.0, 8.0)[..., :{width}])"

    def _features(self, outputs: Array) -> Array:
        rows = np.clip((flat(outputs) - self._center) / self._spread, -8.0, 8.0)[:, :40]
        parts = [np.ones((rows.shape[0], 1)), rows, np.abs(rows)]
        if 1 < rows.shape[1] <= 6:
            upper = np.triu_indices(rows.shape[1], k=1)
            parts.append(rows[:, upper[0]] * rows[:, upper[1]])
        return np.concatenate(parts, axis=1)


class TreeRatio(LearnedRatio):
    """Boosted trees: what needs several entries at once, such as a pattern together with a value."""

    names = ("log_odds_by_trees(y)",)
    growth = 1.5
    least = 150

    def fit(self, first: Array, second: Array) -> None:
        self._trees = BoostedTrees(flat(first)[-_RECENT // 2 :], flat(second)[-_RECENT // 2 :])

    def log_ratio(self, outputs: Array) -> Array:
        return self._trees.log_odds(flat(outputs))

    def expression(self, column: int, form: OutputForm) -> str:
        return self._trees.expression(form) if self._learned_at else f"0 * {form.entry(0)}"


def _keys(outputs: Array) -> Keys:
    """A 64-bit hash of every output; two categories that collide cost power, never validity."""
    rows = np.ascontiguousarray(flat(outputs) + 0.0)  # -0.0 and 0.0 are one category
    bits = rows.view(np.uint64)
    mixed = np.zeros(rows.shape[0], dtype=np.uint64)
    for j in range(rows.shape[1]):
        mixed = (mixed ^ bits[:, j]) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed
