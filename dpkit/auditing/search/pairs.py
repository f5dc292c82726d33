"""Where a claim is audited: at pairs that are known or registered, and at the one at which it looks worst.

The search for that (among candidates, by ascent, then made simple) decides where an audit looks, on samples of its own, and
nothing else: what is refuted is refuted on fresh samples.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dpkit.auditing.betting.bets import best_bets
from dpkit.auditing.betting.column_scores import ColumnScores, columns_for
from dpkit.auditing.betting.profile import Point
from dpkit.auditing.call_timer import TimeUp, call_until
from dpkit.auditing.claim_at_pair import ClaimAtPair
from dpkit.auditing.draw_outputs import Drawing, NotABatch, PairOutputs, Rounder
from dpkit.auditing.search.metrics import size_in
from dpkit.auditing.search.search_time import LEAST, SearchTime
from dpkit.contracts.factories import NeighbourPairs
from dpkit.contracts.mechanism import Mechanism, Neighbouring
from dpkit.contracts.registry import Registry
from dpkit.errors import DpkitError, InvalidValueError
from dpkit.mechanisms.discrete import DiscreteGaussian, DiscreteLaplace
from dpkit.mechanisms.exponential import Exponential
from dpkit.mechanisms.randomized_response import RandomizedResponse
from dpkit.mechanisms.symmetric_gaussian import SymmetricGaussian
from dpkit.numerics.special import Array
from dpkit.privacy.neighbours import Distance
from dpkit.values import dataclass

Pair = tuple[object, object]
PairGenerator = Callable[[np.random.Generator], Pair]
"""Draws one pair of neighbouring datasets; that they are neighbours is its promise."""

TRIES = 64
_PILOT, _FINAL, _FINALISTS, _STEPS, _KEEP = 256, 2_048, 6, 12, 0.8
_EASIER = (1.0, 0.5, 0.0)
"""Shares of the claim's epsilon: pairs that break none of it are compared by how far they are from where they would."""


@runtime_checkable
class PairSource(Protocol):
    """A generator that can also simplify: hypothesis strategies are wrapped into it by dpkit.testing."""

    def __call__(self, rng: np.random.Generator) -> Pair:
        """One pair."""
        ...

    def simplest(self, holds: Callable[[Pair], bool], rng: np.random.Generator) -> Pair | None:
        """A pair as simple as can be found for which the condition holds; None where none was found."""
        ...


def worst_pair(
    subject: ClaimAtPair,
    candidates: PairGenerator | Iterable[Pair],
    *,
    seed: np.random.SeedSequence,
    tries: int = TRIES,
    at: Distance | None = None,
    clock: SearchTime | None = None,
) -> Pair | None:
    """The candidate at which the claim looks worst, climbed from and simplified where that is possible; None without any.

    With a density the score of a pair is what its declared law gives on a pilot sample, and numeric pairs at a distance are
    improved by gradient ascent on both values; without one it is how fast bets chosen on half of the pilot grow on the rest.
    With a clock, pilots are as large as there is time for, and candidates that it does not reach are left out.
    """
    judge = _Judge(subject=subject, entropy=tuple(seed.generate_state(4).tolist()), clock=clock, tries=tries)
    rng = np.random.default_rng(seed)
    drawn = (candidates(rng) for _ in range(tries)) if callable(candidates) else islice(iter(candidates), tries)
    looked = [(judge(pair), place, pair) for place, pair in enumerate(drawn) if place == 0 or clock is None or not clock.late()]
    scored = sorted(looked, key=lambda one: (-one[0], one[1]))
    if not scored or scored[0][0] == -np.inf:
        return scored[0][2] if scored else None
    if subject.density is None:  # what is worst by few samples may be so by luck: the best few run again, by more
        first, place, pair = scored[0]
        final = [(judge(pair, _FINAL), -place, pair) for _, place, pair in scored[:_FINALISTS]]
        if max(one[0] for one in final) == -np.inf:  # no time for a second look
            final = [(first, -place, pair)]
        score, _, best = max(final, key=lambda one: one[:2])
    else:
        score, _, best = scored[0]
    if at is not None and _numeric(best):
        if subject.density is not None:
            best, score = _climb(judge, best, score, at)
        return _simplify(judge, best, score, at)
    if isinstance(candidates, PairSource) and score > 0.0:
        return candidates.simplest(lambda pair: judge(pair) >= _KEEP * score, rng) or best
    return best


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judge:
    """How badly a claim does at a pair, by the same random numbers at every pair; minus infinity where it cannot be sampled."""

    subject: ClaimAtPair
    entropy: tuple[int, ...]
    clock: SearchTime | None = None
    tries: int = TRIES

    def __call__(self, pair: Pair, pilot: int = _PILOT) -> float:
        if self.clock is not None and self.clock.late():
            return -np.inf
        try:
            with call_until(None if self.clock is None else self.clock.until):
                outputs = self._outputs(pair, pilot)
            return self._by_density(pair, outputs) if self.subject.density is not None else self._by_bets(pair, outputs)
        except (DpkitError, ValueError, TypeError, ArithmeticError, TimeUp):
            return -np.inf  # a value that this mechanism does not take, or no time for it

    def _outputs(self, pair: Pair, pilot: int) -> tuple[Array, Array]:
        """Of a function any outcome counts: a pair at which it fails on one side is as bad as can be."""
        seed = np.random.SeedSequence(self.entropy)
        if self.subject.mechanism is not None or self.subject.density is not None:
            return self._drawn(PairOutputs(self.subject.sampler, pair, seed), pilot)
        try:
            return self._drawn(PairOutputs(self.subject.sampler, pair, seed, Drawing(any_outcome=True)), pilot)
        except NotABatch:
            singly = Drawing(any_outcome=True, one_by_one=True)
            return self._drawn(PairOutputs(self.subject.sampler, pair, seed, singly), min(pilot, _PILOT))

    def _drawn(self, source: PairOutputs, pilot: int) -> tuple[Array, Array]:
        """A pilot, as large as there is time for."""
        if self.clock is None:
            return source.draw(pilot)
        began = time.monotonic()
        first = source.draw(LEAST)
        looks = self.tries if pilot <= _PILOT else _FINALISTS
        more = min(pilot - LEAST, self.clock.affordable(time.monotonic() - began, LEAST, looks=looks))
        if more <= 0:
            return first
        one, two = (np.concatenate(sides) for sides in zip(first, source.draw(more), strict=True))
        return one, two

    def _by_density(self, pair: Pair, outputs: tuple[Array, Array]) -> float:
        """The largest delta(epsilon) - delta of the declared law, and a little of that at easier claims."""
        here = ClaimAtPair(sampler=self.subject.sampler, claim=self.subject.claim, pair=pair, density=self.subject.density)
        with np.errstate(all="ignore"):
            ratios = [here.log_density(outputs[side], side) - here.log_density(outputs[side], 1 - side) for side in (0, 1)]
        clear = [np.nan_to_num(ratio, nan=0.0, posinf=700.0, neginf=-700.0) for ratio in ratios]

        def excess(share: float) -> float:
            return max(
                float(np.mean(np.maximum(0.0, -np.expm1(np.clip(share * point.epsilon - ratio, -700.0, 0.0))))) - point.delta
                for point in self.subject.points
                for ratio in clear
            )

        # a loss has a size even where none exceeds the claim
        sizes = max(float(np.mean(np.clip(ratio, 0.0, 50.0))) for ratio in clear)
        return sum(weight * excess(share) for weight, share in zip((1.0, 0.1, 0.01), _EASIER, strict=True)) + 1e-3 * sizes

    def _by_bets(self, pair: Pair, outputs: tuple[Array, Array]) -> float:
        rounder = Rounder()
        one, two = rounder(outputs[0]), rounder(outputs[1])
        half = one.shape[0] // 2
        bank = ColumnScores(columns_for(one.shape[1:], pair, one, self.subject.points))
        bank.take((one[:half], two[:half]), (bank.scores(one[:half]), bank.scores(two[:half])))
        learned, held = (bank.scores(one[:half]), bank.scores(two[:half])), (bank.scores(one[half:]), bank.scores(two[half:]))
        total = 0.0
        for weight, share in zip((1.0, 0.1, 0.01), _EASIER, strict=True):
            points = tuple(Point(epsilon=share * point.epsilon, delta=point.delta) for point in self.subject.points)
            pasts = {column: (learned[0][:, column], learned[1][:, column]) for column in range(len(bank.names))}
            bets = [bet for found in best_bets(pasts, points, cautions=(1.0,)).values() for bet in found if bet is not None]
            if bets:
                bet = max(bets, key=lambda one: one.growth)
                total += weight * max(0.0, float(np.mean(bet.log_factors(*held))))
        return total


def extremes(at: Distance) -> tuple[Pair, ...]:
    """Pairs of values at a distance, where mistakes are: at zero, far out on both sides, tiny, in one entry and spread out."""
    step = at.value
    bases = (0.0, 1.0, -1.0, 0.5 * step, -step, 10.0, 100.0, -100.0, 1e4, -1e4, 1e6)
    pairs: list[Pair] = [(np.float64(base), np.float64(base + step)) for base in bases]
    one = np.zeros(3)
    one[0] = step
    spread = {"l1": 1.0 / 3.0, "l2": 3.0**-0.5, "linf": 1.0}.get(at.metric)
    if spread is not None:
        moved = np.full(3, spread * step * (1.0 - 1e-12))
        pairs += [(np.zeros(3), one), (np.zeros(3), moved), (np.full(3, 100.0), 100.0 + one)]
    return tuple(pair for pair in pairs if _apart(pair, at) <= at.value)


def _floats(value: object) -> Array:
    return np.asarray(value, dtype=np.float64)


def _numeric(pair: Pair) -> bool:
    one, two = (np.asarray(value) for value in pair)
    return one.shape == two.shape and one.dtype.kind == two.dtype.kind == "f" and one.size <= 64


def _apart(pair: Pair, at: Distance) -> float:
    try:
        return size_in(at.metric, np.atleast_1d(_floats(pair[1]) - _floats(pair[0])))
    except (InvalidValueError, ValueError):  # no such metric, or not of such values
        return float("inf")


def _climb(judge: _Judge, pair: Pair, score: float, at: Distance) -> tuple[Pair, float]:
    """Gradient ascent on the first value and on the step to the second, by differences under common random numbers."""
    base, move = _floats(pair[0]), _floats(pair[1]) - _floats(pair[0])
    size = at.value
    for _ in range(_STEPS):
        point = np.concatenate([base.reshape(-1), move.reshape(-1)])
        slopes = np.zeros_like(point)
        for place in range(point.size):
            probe = point.copy()
            probe[place] += 0.05 * size
            slopes[place] = judge(_within(probe, base.shape, at)) - score
        steepest = float(np.max(np.abs(slopes)))
        if not np.isfinite(steepest) or steepest == 0.0:
            break
        for stride in (2.0, 0.5, 0.1):
            trial = _within(point + stride * size * slopes / steepest, base.shape, at)
            found = judge(trial)
            if found > score * (1.0 + 1e-3) + 1e-9:
                base, move, score, pair = _floats(trial[0]), _floats(trial[1]) - _floats(trial[0]), found, trial
                break
        else:
            break
    return pair, score


def _within(point: Array, shape: tuple[int, ...], at: Distance) -> Pair:
    """A pair from its coordinates, the step shortened to the distance."""
    half = point.size // 2
    base, move = point[:half].reshape(shape), point[half:].reshape(shape)
    apart = size_in(at.metric, np.atleast_1d(move))
    move = move * min(1.0, at.value / apart) if apart > 0.0 else move
    pair = (base[()], (base + move)[()])
    return pair if _apart(pair, at) <= at.value else (base[()], (base + (1.0 - 1e-9) * move)[()])


def _simplify(judge: _Judge, pair: Pair, score: float, at: Distance) -> Pair:
    """Entries to zero, to whole numbers, to few digits, one at a time, while the pair stays nearly as bad and within reach."""
    best: Pair = pair
    for side in (0, 1):
        values = _floats(best[side])
        for place in np.ndindex(values.shape):
            now = float(values[place])
            for simpler in (0.0, float(round(now)), round(now, 1), float(f"{now:.2g}"), float(f"{now:.4g}")):
                trial = values.copy()
                trial[place] = simpler
                candidate: Pair = (trial[()], best[1]) if side == 0 else (best[0], trial[()])
                if simpler == now:
                    break
                if _apart(candidate, at) <= at.value and judge(candidate) >= _KEEP * score > 0.0:
                    best, values = candidate, trial
                    break
    return best


def search_extremes(
    subject: ClaimAtPair,
    usual: Sequence[Pair],
    at: Distance,
    *,
    seed: np.random.SeedSequence,
    clock: SearchTime | None = None,
) -> tuple[Pair, ...]:
    """A pair at which the claim looks clearly worse than at the usual ones, if there is one among extremes."""
    first, second = seed.spawn(2)
    found = worst_pair(subject, extremes(at), seed=first, at=at, clock=clock)
    judge = _Judge(subject=subject, entropy=tuple(second.generate_state(4).tolist()), clock=clock)
    if found is None or not all(judge(found) > max(0.0, judge(pair)) * 1.25 + 0.02 for pair in usual):
        return ()
    return (found,)


def pairs_at(mechanism: Mechanism, at: Distance) -> tuple[Pair, ...]:
    """Values that differ by this distance, extremes of what it allows; a mechanism's own `neighbouring_values` go first."""
    if isinstance(mechanism, Neighbouring):
        return tuple(mechanism.neighbouring_values(at))
    step = at.value
    if isinstance(mechanism, RandomizedResponse):
        return ((np.int64(0), np.int64(1)),)
    if isinstance(mechanism, DiscreteLaplace | DiscreteGaussian):
        return ((np.int64(0), np.int64(int(step))),)
    if isinstance(mechanism, Exponential):
        # the best candidate gains what all others lose (half of it under a monotone relation)
        low = 0.0 if mechanism.monotone else -step
        return ((np.zeros(4), np.array([step, low, low, low])),)
    if isinstance(mechanism, SymmetricGaussian):
        return ((np.zeros((2, 2)), np.diag([step, 0.0])),)
    if at.metric in ("l1", "l2", "linf", "frobenius"):
        return ((np.float64(0.0), np.float64(step)),)
    raise InvalidValueError(
        field="pair",
        found=None,
        allowed=f"a pair of datasets (no pair at {at} is known for {type(mechanism).__name__})",
        where="audit",
        fix="Pass pair=(d1, d2), or give the mechanism a method neighbouring_values(at).",
    )


def takes_any_number(mechanism: Mechanism, at: Distance) -> bool:
    """Whether nothing is known of a mechanism's values but that numbers at this distance are neighbours."""
    special = (RandomizedResponse, DiscreteLaplace, DiscreteGaussian, Exponential, SymmetricGaussian)
    return not isinstance(mechanism, (Neighbouring, *special)) and at.metric in ("l1", "l2", "linf")


def registered_pairs(mechanism: Mechanism, at: Distance, registry: Registry) -> tuple[Pair, ...]:
    """The pairs that plugins registered for this mechanism. One that is too far apart would refute a true claim: refused."""
    names = factory_names(mechanism, registry)
    found: list[Pair] = []
    for source in registry.neighbour_pairs:
        if source.mechanism in names:
            pairs: Any = source.pairs(mechanism, at)
            found += [_checked(source, one, two, at) for one, two in pairs]
    return tuple(found)


def factory_names(mechanism: Mechanism, registry: Registry) -> set[str]:
    """What the registry calls this mechanism: by the class that a factory makes, else by the class's own name."""
    made = {factory.name for factory in registry.mechanisms if factory.make is type(mechanism)}
    return made or {re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", type(mechanism).__name__).lower()}


def _checked(source: NeighbourPairs, one: object, two: object, at: Distance) -> Pair:
    if at.metric in ("l1", "l2", "linf", "frobenius"):
        apart = size_in(at.metric, np.asarray(two, dtype=np.float64) - np.asarray(one, dtype=np.float64))
        if not apart <= at.value * (1.0 + 1e-9):
            raise InvalidValueError(
                field="pairs",
                found=f"values {apart!r} apart",
                allowed=f"values at most {at.value!r} apart in {at.metric}",
                where=f"NeighbourPairs({source.name})",
            )
    return one, two
