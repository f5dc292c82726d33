"""Bets against a claim, and the wealth that they make: the e-process at the heart of every sampling falsifier.

Under the claim, P(S) <= e^epsilon Q(S) + delta for every event S, so for independent X from P and Y from Q the factor
1 + bet * (1[X in S] - e^epsilon 1[Y in S] - delta) has mean at most 1 for 0 <= bet <= 1/(e^epsilon + delta), whatever was
chosen from the past. A convex combination of such factors does too. The product is a nonnegative supermartingale, and by
Ville's inequality it ever reaches 1/alpha with probability at most alpha: one may look after every sample and stop at will.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dpkit.auditing.betting.profile import Point
from dpkit.numerics.rounding import in_full
from dpkit.numerics.special import Array, asfloat
from dpkit.values import dataclass

CAUTION = 0.995
"""Bets stay this far below their ceiling, so that one surprise is expensive and not ruinous."""
_CUTS = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputEvent:
    """A set of outputs in words and as code, and in which direction it speaks against the claim."""

    words: str
    code: str
    forward: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Bet:
    """A set {column >= cut} or {column <= cut}, the direction and point of the claim it is held against, and a stake."""

    column: int
    upper: bool
    cut: float
    forward: bool
    point: Point
    stake: float = 0.0
    growth: float = 0.0

    def hits(self, scores: Array) -> npt.NDArray[np.bool_]:
        """Which outputs lie in the set."""
        chosen = scores[:, self.column]
        return chosen >= self.cut if self.upper else chosen <= self.cut

    def gains(self, first: Array, second: Array) -> Array:
        """What a stake of 1 would win on each pair of outputs: on average nothing, under the claim."""
        return self.worth(self.hits(first), self.hits(second))

    def worth(self, first: npt.NDArray[np.bool_], second: npt.NDArray[np.bool_]) -> Array:
        """The same, where it is known which outputs lie in the set."""
        should, should_not = (first, second) if self.forward else (second, first)
        return asfloat(should - self.point.ratio * should_not - self.point.delta)

    def log_factors(self, first: Array, second: Array) -> Array:
        """ln of the factor of each pair of outputs."""
        return np.log1p(self.stake * self.gains(first, second))

    def event(self, words: str, code: str) -> OutputEvent:
        """The event of a set that its column wrote in words and as code."""
        one, two = ("first", "second") if self.forward else ("second", "first")
        if self.stake == 0.0:  # an event that was only counted
            said = f"outputs with {words} tell the datasets apart best: they are likelier under the {one}"
            return OutputEvent(words=said, code=f"lambda y: {code}", forward=self.forward)
        said = (
            f"outputs with {words} are more likely under the {one} dataset than "
            f"e^{in_full(self.point.epsilon)} times their probability under the {two}"
            + (f" plus {in_full(self.point.delta)}" if self.point.delta else "")
        )
        return OutputEvent(words=said, code=f"lambda y: {code}", forward=self.forward)


Ways = tuple[Bet | None, Bet | None]
"""A bet that the first side is too likely, and one that the second is."""


def kelly(p: Array, q: Array, point: Point) -> tuple[Array, Array]:
    """The stake that makes wealth grow fastest where P(S) = p and Q(S) = q, and how fast, per pair of samples."""
    return _kelly(p, q, np.full(p.shape, point.ratio), np.full(p.shape, point.delta), np.full(p.shape, point.ceiling))


def _kelly(p: Array, q: Array, ratio: Array, delta: Array, ceiling: Array) -> tuple[Array, Array]:
    """`kelly` for many sets at many points at once: the four outcomes of a pair of samples stand along the first axis."""
    gains = np.stack([1.0 - delta, 1.0 - ratio - delta, -delta, -ratio - delta])
    weights = np.stack([p * (1.0 - q), p * q, (1.0 - p) * (1.0 - q), (1.0 - p) * q])
    mean = p - ratio * q - delta
    square = (weights * gains * gains).sum(axis=0)
    limit = CAUTION * ceiling
    stake = np.clip(mean / np.maximum(square, 1e-300), 0.0, 0.6 * limit)
    for _ in range(4):  # Newton on a concave function with a pole beyond the limit, which is approached by halves
        pull = gains / (1.0 + stake * gains)
        pulled = weights * pull
        slope, bend = pulled.sum(axis=0), (pulled * pull).sum(axis=0)
        stake = np.clip(stake + slope / np.maximum(bend, 1e-300), 0.0, 0.3 * stake + 0.7 * limit)
    return stake, np.asarray((weights * np.log1p(stake * gains)).sum(axis=0), dtype=np.float64)


def best_bets(
    pasts: Mapping[int, tuple[Array, Array]], points: Sequence[Point], *, cautions: Sequence[float]
) -> dict[int, list[Bet | None]]:
    """By column, the bets on its tails that would have grown fastest on these past scores, one for each caution."""
    found = bets_each_way(pasts, points, cautions=cautions)
    return {column: [fastest(ways) for ways in each] for column, each in found.items()}


def fastest(bets: Iterable[Bet | None]) -> Bet | None:
    """The bet that would have grown fastest; None where there is none."""
    return max((bet for bet in bets if bet is not None), key=lambda bet: bet.growth, default=None)


def bets_each_way(
    pasts: Mapping[int, tuple[Array, Array]], points: Sequence[Point], *, cautions: Sequence[float]
) -> dict[int, list[Ways]]:
    """By column, for each caution, the bet forward and the bet backward that would have grown fastest on these past scores.

    A caution is how many hits are imagined on the side that should have few, so that a set seen a few times is not believed
    at once. None where nothing would have grown. One pass over all tails, both directions, all points and cautions.
    """
    ratio, delta, ceiling = (np.array([getattr(point, name) for point in points]) for name in ("ratio", "delta", "ceiling"))
    imagined = np.array(cautions).reshape(-1, 1, 1, 1, 1)
    tails: list[tuple[int, Array, npt.NDArray[np.intp], list[int]]] = []  # column, cuts, what would have grown, how many each
    parts: list[tuple[Array, ...]] = []
    for column, (first, second) in pasts.items():
        cuts = cuts_of(first, second)
        if cuts.size == 0:
            continue
        n = first.size
        counts = tail_counts(first, second, cuts)[:, None]  # (direction, point, tail, cut): forward, the first side should hit
        hit, miss = counts / (n + 1.0), np.minimum((counts[::-1] + imagined) / (n + 2.0 * imagined), 1.0)
        grows = hit > ratio[:, None, None] * miss + delta[:, None, None]  # by caution, too; nothing grows elsewhere
        places = np.flatnonzero(grows)
        of_point = places // (2 * cuts.size) % len(points)
        likely = (np.broadcast_to(side, grows.shape)[grows] for side in (hit, miss))
        parts.append((*likely, ratio[of_point], delta[of_point], ceiling[of_point]))
        tails.append((column, cuts, places, np.count_nonzero(grows, axis=(2, 3, 4)).ravel().tolist()))
    found: dict[int, list[Ways]] = {column: [(None, None)] * len(cautions) for column in pasts}
    if not tails:
        return found
    stakes, growths = _kelly(*(np.concatenate(side) for side in zip(*parts, strict=True)))
    start = 0
    for column, cuts, places, sizes in tails:
        first_place, ways = start, list[Bet | None]()
        for each, size in enumerate(sizes):
            best = start + int(np.argmax(growths[start : start + size])) if size else start
            start += size
            if not size or growths[best] <= 0.0:
                ways.append(None)
                continue
            rest, cut = divmod(int(places[best - first_place]), cuts.size)
            ways.append(
                Bet(
                    column=column,
                    upper=rest % 2 == 0,
                    cut=float(cuts[cut]),
                    forward=each % 2 == 0,
                    point=points[rest // 2 % len(points)],
                    stake=float(stakes[best]),
                    growth=float(growths[best]),
                )
            )
        found[column] = list(zip(ways[::2], ways[1::2], strict=True))
    return found


def tail_counts(first: Array, second: Array, cuts: Array) -> Array:
    """How many of either side lie at or above, and at or below, each cut: (side, tail, cut)."""
    one, two = np.sort(first), np.sort(second)
    above = np.stack([first.size - np.searchsorted(one, cuts, "left"), first.size - np.searchsorted(two, cuts, "left")])
    below = np.stack([np.searchsorted(one, cuts, "right"), np.searchsorted(two, cuts, "right")])
    return np.stack([above, below], axis=1).astype(np.float64)


def cuts_of(first: Array, second: Array) -> Array:
    """Where tails may be cut: pooled order statistics, denser towards both ends; all distinct values if there are few."""
    pooled = np.concatenate([first, second])
    pooled = np.sort(pooled[np.isfinite(pooled)])
    if pooled.size == 0:
        return pooled
    if pooled.size > 4 * _CUTS:
        pooled = np.concatenate([pooled[_ladder(pooled.size)], *(_beyond(pooled, side) for side in (first, second))])
    return np.unique(pooled)


def _beyond(pooled: Array, side: Array) -> Array:
    """The values next to the ends of a side, where the other goes on: tails which that side never reached."""
    below, above = np.searchsorted(pooled, side.min(), "left") - 1, np.searchsorted(pooled, side.max(), "right")
    return pooled[[place for place in (below, above) if 0 <= place < pooled.size]]


@lru_cache(maxsize=512)
def _ladder(size: int) -> npt.NDArray[np.int64]:
    """Ranks by which tails are cut, among `size` samples."""
    steps = np.geomspace(2.0, size / 2.0, _CUTS).astype(np.int64)
    return np.asarray(np.clip(np.unique(np.concatenate([steps, size - steps])), 0, size - 1), dtype=np.int64)


class Portfolio:
    """Wealth spread over several bettors, held as in a fund: each keeps what it wins, the shares are fixed in advance.

    The fund is worth the average of the bettors' wealth, weighted by shares: an average of e-processes is an e-process.
    """

    def __init__(self, shares: Array) -> None:
        self._log_shares = np.log(shares / shares.sum())
        self._log_wealths = np.zeros(shares.size)

    @property
    def log_wealth(self) -> float:
        """ln of the e-value so far."""
        return float(_log_sum(self._log_shares + self._log_wealths))

    @property
    def log_wealths(self) -> Array:
        """Each bettor's own."""
        return self._log_wealths

    def path(self, steps: Array) -> Array:
        """ln of the e-value after each new pair of samples, from ln of each bettor's factors, chosen before these were seen."""
        tracks = self._log_wealths[:, None] + np.cumsum(steps, axis=1)
        self._log_wealths = tracks[:, -1] if tracks.shape[1] else self._log_wealths
        return _log_sum(self._log_shares[:, None] + tracks)


def _log_sum(terms: Array) -> Array:
    top = np.max(terms, axis=0)
    return np.asarray(top + np.log(np.sum(np.exp(terms - top), axis=0)), dtype=np.float64)
