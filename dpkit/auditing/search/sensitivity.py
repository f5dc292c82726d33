"""The search for neighbours whose sums are further apart than a query declares: among rows, by climbing, then made simple."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Protocol

import numpy as np

from dpkit.auditing.search.metrics import is_measured, sizes_in
from dpkit.contracts.query import Block, Query
from dpkit.numerics.rounding import format_down
from dpkit.numerics.special import Array
from dpkit.privacy.checks import whole_number
from dpkit.privacy.neighbours import Distance, Neighbours
from dpkit.values import dataclass

CLIMBS = 40
SLACK = 1e-9
"""A relative excess that rounding explains."""
_ENTRIES = 400_000
"""Entries of the contributions that are evaluated at once."""
_MANY = 5_000
"""Entries of a contribution above which fewer turns are climbed."""


class Rows(Protocol):
    """Where rows are looked for: those within declared ranges, or any numbers at all."""

    def rows(self, count: int, rng: np.random.Generator) -> Block:
        """That many rows, the hardest first."""
        ...

    def ordinary(self, count: int, rng: np.random.Generator) -> Block:
        """That many rows without extremes, beside which all others would be nothing."""
        ...

    def near(self, row: Array, size: float, rng: np.random.Generator) -> Block:
        """Rows around one, further away for a larger size (at most 1)."""
        ...

    def within(self, block: Block) -> Block:
        """The nearest rows that the data may hold."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Excess:
    """Neighbours whose sums are further apart than the query declares: a proof, up to rounding.

    One row goes and one comes; `gone` is None where a row comes or goes.
    """

    query: str
    relation: Neighbours
    claimed: Distance
    found: float
    came: tuple[float, ...]
    gone: tuple[float, ...] | None

    def __str__(self) -> str:
        change = f"row {self.came}" if self.gone is None else f"rows {self.came} and {self.gone}"
        return f"{change} give a {self.claimed.metric} distance of {format_down(self.found)}, declared {self.claimed}"


def contributions(query: Query, block: Block) -> Array:
    """`rows(block)` as floats."""
    with np.errstate(all="ignore"):
        return np.asarray(query.rows(block), dtype=np.float64)


def search_sensitivity(
    query: Query,
    relation: Neighbours,
    space: Rows,
    *,
    tries: int = 2_000,
    seed: int = 0,
    contribute: Callable[[Query, Block], Array] = contributions,
    more: Callable[[Callable[[Block], None]], None] | None = None,
) -> Excess | None:
    """Neighbours whose sums are further apart than declared, made as simple as they can be; None where none were found.

    A query is a sum of row contributions, so one person moves it by what came less what went. Of the `tries` rows first, and of
    those that `more` hands to its argument, the worst are climbed from, within the space. Distances in metrics that cannot be
    measured are left out. It sees wrong bounds on contributions; it cannot see a contribution that depends on other rows,
    which a law of queries checks.
    """
    tries = whole_number(tries, field="tries", where="search_sensitivity", minimum=1)
    rng = np.random.default_rng([seed, 7])
    for distance in query.sensitivity(relation):
        if not is_measured(distance.metric):
            continue
        worst = _Worst(query=query, relation=relation, claimed=distance, space=space, contribute=contribute)
        pool, chunk = space.rows(tries, rng), max(32, _ENTRIES // max(1, math.prod(query.shape)))
        for start in range(0, tries, chunk):
            worst.try_all(pool[start : start + chunk])
        worst.climb(rng)
        if more is not None and not worst.exceeds(worst.size):
            more(worst.try_all)
        if worst.exceeds(worst.size):
            return worst.shrink()
    return None


@dataclass(slots=True, kw_only=True)
class _Worst:
    """The worst neighbours so far in one metric."""

    query: Query
    relation: Neighbours
    claimed: Distance
    space: Rows
    contribute: Callable[[Query, Block], Array]
    size: float = -1.0
    came: Array | None = None
    gone: Array | None = None

    def exceeds(self, size: float) -> bool:
        return not size <= self.claimed.value * (1.0 + SLACK)

    def sizes(self, differences: Array) -> Array:
        """Sizes, where a contribution that is not finite is infinitely far away."""
        finite = np.isfinite(differences)
        sizes = sizes_in(self.claimed.metric, np.where(finite, differences, 0.0))
        return np.where(finite.reshape(len(differences), -1).all(axis=1), sizes, np.inf)

    def try_all(self, pool: Block) -> None:
        made = self.contribute(self.query, pool)
        if self.relation is Neighbours.ADD_REMOVE:
            return self._keep(pool, made, None)
        # the farthest from each of the outermost and innermost ones: all pairs would be a million
        order = np.argsort(-self.sizes(made))
        for anchor in {*order[:24].tolist(), *order[-4:].tolist()}:
            with np.errstate(invalid="ignore"):
                self._keep(pool, made - made[anchor], pool[anchor])
        return None

    def _keep(self, pool: Block, differences: Array, gone: Array | None) -> None:
        sizes = self.sizes(differences)
        place = int(np.argmax(sizes))
        if sizes[place] > self.size:
            self.size, self.came, self.gone = float(sizes[place]), pool[place], gone

    def climb(self, rng: np.random.Generator) -> None:
        """From the worst so far, by moves that grow smaller, of who comes and of who goes."""
        turns = CLIMBS if math.prod(self.query.shape) <= _MANY else CLIMBS // 4
        for turn, which in itertools.product(range(turns), ("came", "gone")):
            start, fixed = (self.came, self.gone) if which == "came" else (self.gone, self.came)
            if start is None or not math.isfinite(self.size):
                continue
            moved = self.space.near(start, 2.0 ** -(turn / 3.0), rng)
            made = self.contribute(self.query, moved)
            sizes = self.sizes(made if fixed is None else made - self.contribute(self.query, fixed[None])[0])
            place = int(np.argmax(sizes))
            if sizes[place] > self.size:
                self.size = float(sizes[place])
                setattr(self, which, moved[place])

    def measure(self, came: Array, gone: Array | None) -> float:
        made = self.contribute(self.query, np.stack([row for row in (came, gone) if row is not None]))
        return float(self.sizes(made if gone is None else made[:1] - made[1:])[0])

    def shrink(self) -> Excess:
        """The same violation with simpler numbers: each becomes 0, 1, its sign or its leading digit, if that still exceeds."""
        assert self.came is not None
        for which in ("came", "gone"):
            row: Array | None = getattr(self, which)
            for place in range(0 if row is None else len(row)):
                assert row is not None
                number = float(row[place])
                for simpler in (0.0, 1.0, math.copysign(1.0, number), float(f"{number:.1g}")):
                    trial = row.copy()
                    trial[place] = simpler
                    trial = self.space.within(trial[None])[0]
                    size = self.measure(trial, self.gone) if which == "came" else self.measure(self.came, trial)
                    if self.exceeds(size):
                        self.size, row = size, trial
                        setattr(self, which, trial)
                        break
        gone = None if self.gone is None else tuple(self.gone.tolist())
        return Excess(
            query=self.query.name,
            relation=self.relation,
            claimed=self.claimed,
            found=self.size,
            came=tuple(self.came.tolist()),
            gone=gone,
        )
