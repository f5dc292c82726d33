"""`pld`: the law of the privacy loss itself. Certified from both sides, tight, and fast.

Every answer is an interval around the exact value for the pairs that were composed; the upper end is what is reported, and
includes discretisation, truncation, aliasing and rounding (docs/proofs/pld.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import ClassVar

import numpy as np

from dpkit.accountants.pld.moments import Terms, real_moments, saddle_at_delta
from dpkit.accountants.pld.readings import (
    Bounds,
    closed_delta,
    closed_epsilon,
    largest_delta,
    largest_epsilon,
    loss_directions,
    read_delta,
)
from dpkit.contracts.accountant import Accountant, Reading, normalised
from dpkit.errors import UnpricedLossError
from dpkit.numerics.rounding import exact_sum, format_up, sqrt_up
from dpkit.numerics.special import asfloat
from dpkit.privacy.checks import checked, positive
from dpkit.privacy.claims import Citation, Conversion
from dpkit.privacy.conversions import arrows_to
from dpkit.privacy.filter_amounts import delta_left, delta_with, log_slack, slack_total
from dpkit.privacy.loss_pairs import LossPair, SymmetricPair
from dpkit.privacy.losses import ApproxDP, Loss
from dpkit.privacy.neighbours import Neighbours
from dpkit.values import dataclass

_PROOF = Citation(key="dpkit", locator="docs/proofs/pld.md")
_SLACK_ROUNDING = 2.0**-47
"""How far a slack may have been rounded up, relatively: what is left of delta is larger by that for a lower bound."""
_SHARES = asfloat(np.array([0.0, 0.01, 0.1, 0.3, 0.6, 0.9]))
_BELOW = asfloat(np.array([10.0, 5.0, 2.0, 1.0, 0.5, 0.1]))
"""Where proofs are compared: at shares of the largest loss, and so far below it; profiles of large losses differ only there."""
_NO_SLACK = Fraction(1, 10**100)
"""A mass at infinity that is too small to choose a proof by."""
_PROBED_TAIL = 1e-6
"""The largest loss of an unbounded law, for that purpose: less than this is above it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossState:
    """A multiset of dominating pairs, and the sum of -ln(1 - mass at infinity).

    `attained`: each pair is that of some mechanism and neighbours, all in one direction, so that a lower bound on the
    composition of the pairs is one on the events.
    """

    terms: tuple[tuple[LossPair, int], ...]
    log_slack: Fraction
    attained: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(width=positive)
class LossDistributionAccountant(Accountant[LossState]):
    """Composition by the law of the privacy loss, in both directions. `width` is how far apart the two bounds may be."""

    name: ClassVar[str] = "pld"
    native: ClassVar[type[Loss]] = LossPair
    conversions: ClassVar[Mapping[type[Loss], Conversion]] = arrows_to(LossPair)
    refuses: ClassVar[str] = "a {} loss bounds moments and has no one worst pair of distributions; use zcdp, rdp or best."

    width: float = 5e-7

    def zero(self) -> LossState:
        """Nothing spent."""
        return LossState(terms=(), log_slack=Fraction(0), attained=True)

    def marked(self, state: LossState, *, attained: bool) -> LossState:
        """Never for an envelope of two directions, nor where one direction has less at infinity than is counted."""
        held = all(pair.balanced and not isinstance(pair, SymmetricPair) for pair, _ in state.terms)
        return replace(state, attained=attained and held)

    def lift(self, loss: Loss) -> LossState:
        """The pair of the loss; what is at infinity apart."""
        state = self.state_of(self.converted(loss))
        return replace(state, log_slack=log_slack(loss.delta)) if isinstance(loss, ApproxDP) else state

    def lift_under(self, loss: Loss, neighbours: Neighbours) -> LossState:
        """Under replace-one nobody knows an event's direction, so each pair is made symmetric before it is composed."""
        state = self.lift(loss)
        if neighbours is Neighbours.ADD_REMOVE:
            return state
        terms = tuple((pair if pair.backward() is None else SymmetricPair(pair=pair), n) for pair, n in state.terms)
        return replace(state, terms=terms)

    def state_of(self, loss: Loss) -> LossState:
        """One pair; none where nothing is lost."""
        if not isinstance(loss, LossPair):
            raise UnpricedLossError(loss=loss, accountant=self.name, reason=self.refusal(loss))
        terms = () if loss.strength == 0.0 else ((loss, 1),)
        return LossState(terms=terms, log_slack=log_slack(loss.infinity))

    def combine(self, *states: LossState) -> LossState:
        """The union of the multisets; slacks combine."""
        counts: dict[LossPair, int] = {}
        for state in states:
            for pair, count in state.terms:
                counts[pair] = counts.get(pair, 0) + count
        slack = exact_sum((state.log_slack, 1) for state in states)
        return LossState(terms=_ordered(counts), log_slack=slack, attained=all(state.attained for state in states))

    def repeat(self, state: LossState, times: int) -> LossState:
        """Every count multiplied."""
        terms = tuple((pair, count * times) for pair, count in state.terms if times)
        return LossState(terms=terms, log_slack=state.log_slack * times, attained=state.attained or not times)

    def join(self, *states: LossState) -> LossState:
        """Rank by rank the stronger pair of each class that is ordered by strength; all pairs of the others.

        Attained where it is one of these states, and that one is: a record may be in its cell.
        """
        counts: dict[LossPair, int] = {}
        for kind in {type(pair) for state in states for pair, _ in state.terms}:
            ranked: list[tuple[LossPair, int]] = []
            for state in states:
                ranked = _stronger(ranked, [(pair, n) for pair, n in state.terms if type(pair) is kind])
            for pair, count in ranked:
                counts[pair] = counts.get(pair, 0) + count
        slack = max((s.log_slack for s in states), default=Fraction(0))
        joined = LossState(terms=_ordered(counts), log_slack=slack, attained=True)
        return joined if joined in states or not states else replace(joined, attained=False)

    def best(self, *states: LossState) -> LossState:
        """The smaller slack first, then the smaller profile at a few epsilons, then one that is attained; which one is kept
        affects tightness only.
        """
        largest = max((_largest_loss(pair) for state in states for pair, _ in state.terms), default=0.0)
        probes = np.concatenate((largest * _SHARES, np.maximum(largest - _BELOW, 0.0)))

        def size(state: LossState) -> float:
            return sum(n * float(np.sum(pair.forward().profile(probes)[0])) for pair, n in state.terms)

        return min(states, key=lambda state: (max(state.log_slack, _NO_SLACK), size(state), not state.attained))

    def reading(self, state: LossState, *, delta: float) -> Reading:
        """The upper end of the interval, with the route that certified it."""
        slack = slack_total(state.log_slack)
        left = delta_left(delta, slack)
        if left < 0.0:
            return Reading(epsilon=math.inf, because=_PROOF, note="delta is below the mass at infinity")
        bounds = self._epsilon(state, left, both=False)
        return Reading(epsilon=bounds.upper, because=_PROOF, note=bounds.describe())

    def explained_reading(self, state: LossState, *, delta: float) -> Reading:
        """With the whole interval, and why it is wider than was asked for, where it is."""
        left = delta_left(delta, slack_total(state.log_slack))
        if left < 0.0:
            return self.reading(state, delta=delta)
        bounds = self._epsilon(state, left, both=False)
        certified = self.interval(state, delta=delta)
        if certified is None:
            note = f"{bounds.describe()}; no lower end: not every pair is attained"
            return Reading(epsilon=bounds.upper, because=_PROOF, note=note)
        lower = certified[0]
        printed = format_up(-lower, digits=10).lstrip("-")  # rounded down
        found = f"between {printed} and {format_up(bounds.upper, digits=10)}; {bounds.describe()}"
        if bounds.upper - lower > 2.0 * self.width:
            found += "; the lower bound is farther than asked for: losses fit no common lattice, or it is coarse"
        return Reading(epsilon=bounds.upper, because=_PROOF, note=found)

    def interval(self, state: LossState, *, delta: float) -> tuple[float, float] | None:
        """Certified from both sides, where every pair is attained; a pair that only dominates has no lower end."""
        if not state.attained:
            return None
        slack = slack_total(state.log_slack)
        left = delta_left(delta, slack)
        most = delta_left(delta, slack * (1.0 - _SLACK_ROUNDING))
        if left < 0.0:
            # between the two roundings of the slack nothing is known from below
            return (math.inf if most < 0.0 else 0.0), math.inf
        bounds = self._epsilon(state, left, both=True)
        lower = bounds.lower if slack == 0.0 else self._epsilon(state, most, both=True).lower
        return min(lower, bounds.upper), bounds.upper

    def delta(self, state: LossState, *, epsilon: float) -> float:
        """The upper bound on delta, with the mass at infinity on top."""
        return delta_with(self._delta(state, epsilon).upper, slack_total(state.log_slack))

    def profiles(self, state: LossState) -> tuple[Callable[[float], float], ...]:
        """Each direction on its own, where they differ."""
        directions = loss_directions(state.terms) if closed_delta(state.terms, 0.0) is None else []
        if len(directions) < 2:
            return super().profiles(state)
        slack = slack_total(state.log_slack)
        return tuple(partial(self._directed_delta, terms, slack) for terms in directions)

    def _directed_delta(self, terms: Terms, slack: float, epsilon: float) -> float:
        return delta_with(read_delta(terms, epsilon, width=self.width, both=False).upper, slack)

    def gaussian_bound(self, state: LossState) -> float:
        """Squares of the mu of each pair add (DRS22, Corollary 2); none with mass at infinity."""
        bounds = [(pair.gaussian_bound(), n) for pair, n in state.terms]
        if state.log_slack or any(math.isinf(mu) for mu, _ in bounds):
            return math.inf
        return sqrt_up(exact_sum((Fraction(mu) ** 2, n) for mu, n in bounds))

    def weight(self, state: LossState, total: LossState, *, delta: float) -> float:
        """The log moment at the tilt that the total is read at."""
        return self.shares([state, total], total, delta=delta)[0]

    def shares(self, states: Sequence[LossState], total: LossState, *, delta: float) -> list[float]:
        """Log moments at the tilt of the total, as shares."""
        left = delta_left(delta, slack_total(total.log_slack))
        if not total.terms or not left > 0.0:
            return normalised([float(state.log_slack) for state in states])
        tail = left * 1e-12
        tilt = saddle_at_delta(real_moments(loss_directions(total.terms)[0], tail=tail), left)[0]
        moments = [real_moments(loss_directions(state.terms)[0], tail=tail) if state.terms else None for state in states]
        return normalised([0.0 if known is None else float(known(np.array([tilt]))[0]) for known in moments])

    def _epsilon(self, state: LossState, delta: float, *, both: bool) -> Bounds:
        closed = closed_epsilon(state.terms, delta, both=both)
        if closed is not None:
            return closed
        return largest_epsilon(loss_directions(state.terms), delta, width=self.width, both=both)

    def _delta(self, state: LossState, epsilon: float) -> Bounds:
        closed = closed_delta(state.terms, epsilon)
        if closed is not None:
            return closed
        return largest_delta(loss_directions(state.terms), epsilon, width=self.width)


def _largest_loss(pair: LossPair) -> float:
    """The largest loss of a pair, or one that is hardly ever exceeded; 0 where that is no number."""
    top = pair.forward().top()
    largest = top if math.isfinite(top) else pair.forward().reach(_PROBED_TAIL)[1]
    return largest if math.isfinite(largest) else 0.0


def _ordered(counts: Mapping[LossPair, int]) -> tuple[tuple[LossPair, int], ...]:
    return tuple(sorted(((pair, n) for pair, n in counts.items() if n), key=lambda item: repr(item[0])))


def _stronger(one: list[tuple[LossPair, int]], other: list[tuple[LossPair, int]]) -> list[tuple[LossPair, int]]:
    """Merge two multisets of one class, strongest first, taking the stronger at each rank; without an order, take both.

    What both hold is taken once: the union holds each of the two.
    """
    if any(pair.strength is None for pair, _ in (*one, *other)):
        counts: dict[LossPair, int] = {}
        for pair, n in (*one, *other):
            counts[pair] = max(n, counts.get(pair, 0))
        return list(counts.items())

    def strength(item: tuple[LossPair, int]) -> float:
        return item[0].strength or 0.0

    left, right = sorted(one, key=strength), sorted(other, key=strength)
    merged: list[tuple[LossPair, int]] = []
    while left and right:
        (a, n), (b, m) = left.pop(), right.pop()
        step = min(n, m)
        merged.append((max((a, b), key=lambda pair: pair.strength or 0.0), step))
        left += [(a, n - step)] if n > step else []
        right += [(b, m - step)] if m > step else []
    return merged + left[::-1] + right[::-1]
