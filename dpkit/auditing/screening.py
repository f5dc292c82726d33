"""A screening of many pairs: few samples choose the most telling events of all, many fresh ones decide on these.

Where `audit` bets at one pair until a claim falls, a screening looks at dozens of pairs for the price of one: a law of the
conformance kit needs that. Events and their counts are those of the audit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from dpkit.auditing.betting.bets import Bet, cuts_of, tail_counts
from dpkit.auditing.betting.column_scores import ColumnScores
from dpkit.auditing.betting.columns import Columns, Coordinates, Differences, Nearness, Summaries
from dpkit.auditing.betting.learned_columns import CategoryRatio
from dpkit.auditing.betting.lower_bound import TailEvent, proportion_bounds
from dpkit.auditing.betting.profile import Point
from dpkit.auditing.claim_at_pair import ClaimAtPair
from dpkit.auditing.draw_outputs import PairOutputs
from dpkit.auditing.falsifiers.white_box import LogRatio
from dpkit.auditing.search.pairs import Pair
from dpkit.errors import InvalidValueError
from dpkit.numerics.special import Array
from dpkit.values import dataclass

CHOOSING = 4_000
"""Draws of each value from which events are chosen: nothing is decided on these."""
DECIDING = 100_000
"""Fresh draws of each value for a chosen event: enough to see a scale that is off by 5%, without a density."""
CHOSEN = 3
"""How many events, of different pairs, are decided on."""
FALSE_ALARM = 1e-9
"""The probability with which one decision accuses a right mechanism."""
_ENTRIES = 6
"""Entries of an output whose values are counted one by one."""
EPSILONS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)

Profile = Callable[[float], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """An event whose probabilities under two neighbours a claim does not allow."""

    claim: str
    event: str
    epsilon: float
    likely: float
    unlikely: float


def screen_pairs(
    subject: ClaimAtPair,
    pairs: Sequence[Pair],
    claims: Sequence[tuple[str, Profile]],
    *,
    rng: np.random.Generator,
    epsilons: Sequence[float] = (),
    choosing: int = CHOOSING,
    deciding: int = DECIDING,
    chosen: int = CHOSEN,
) -> Violation | None:
    """The worst violation of these profiles at any of the pairs, or None; one false alarm in a thousand million decisions.

    The subject's own claim and pair are not looked at. `epsilons` are read beside the usual ones: where a claim is pure, its
    own epsilon is the most telling. A value that the mechanism does not take is left out.
    """
    read = sorted({*EPSILONS, *(epsilon for epsilon in epsilons if math.isfinite(epsilon))})
    bounds = [(name, Point(epsilon=epsilon, delta=profile(epsilon))) for name, profile in claims for epsilon in read]
    bounds = [(name, point) for name, point in bounds if point.delta < 0.5]
    candidates: list[tuple[float, PairOutputs, TailEvent]] = []
    for pair in pairs if bounds else ():
        source = PairOutputs(subject.sampler, pair, np.random.SeedSequence(int(rng.integers(2**63))))
        try:
            outputs = source.draw(choosing)
        except ValueError as error:
            if isinstance(error, InvalidValueError) and error.where == "audit":
                raise  # outputs that no audit can read
            continue
        score, tail = _most_telling(replace(subject, pair=pair), outputs, [point for _, point in bounds])
        candidates.append((score, source, tail))
    for _, source, tail in sorted(candidates, key=lambda found: -found[0])[:chosen]:
        more, fewer = tail.hits(*source.draw(deciding))
        low = proportion_bounds(more, deciding, alpha=FALSE_ALARM / 2.0)[0]
        high = proportion_bounds(fewer, deciding, alpha=FALSE_ALARM / 2.0)[1]
        for claim, point in bounds:
            if low > point.ratio * high + point.delta:
                event = f"{tail.bank.names[tail.bet.column]} {'>=' if tail.bet.upper else '<='} a threshold"
                return Violation(claim=claim, event=event, epsilon=point.epsilon, likely=low, unlikely=high)
    return None


def _most_telling(subject: ClaimAtPair, outputs: tuple[Array, Array], points: Sequence[Point]) -> tuple[float, TailEvent]:
    """The event that exceeds what is allowed by the most standard deviations, and by how many; in either direction."""
    shape = outputs[0].shape[1:]
    entries = min(int(np.prod(shape)), _ENTRIES)
    columns: list[Columns] = [Coordinates(shape), *(CategoryRatio(entry) for entry in range(entries))]
    if entries > 1:
        columns += [Differences(shape), Summaries(), Nearness(subject.pair, shape), CategoryRatio()]
    if subject.density is not None:
        columns.append(LogRatio(subject.log_density))
    bank = ColumnScores(columns)
    start = len(outputs[0]) // 4  # counts of categories are learned from the first ones, and chosen by the rest
    learned = outputs[0][:start], outputs[1][:start]
    bank.take(learned, (bank.scores(learned[0]), bank.scores(learned[1])))
    first, second = (bank.scores(side[start:]) for side in outputs)
    n = len(first)
    factor, delta = (np.array([getattr(point, name) for point in points])[:, None] for name in ("ratio", "delta"))
    best, bet = -math.inf, Bet(column=0, upper=True, cut=-math.inf, forward=True, point=points[0])
    for column in range(first.shape[1]):
        cuts = cuts_of(first[:, column], second[:, column])
        if cuts.size == 0:
            continue
        shares = tail_counts(first[:, column], second[:, column], cuts) / n  # (direction, tail, cut)
        p, q = shares.reshape(-1), shares[::-1].reshape(-1)
        # an event that was never seen may still have probability 1/n
        scores = np.max((p - factor * q - delta) / np.sqrt((p + 1.0 / n + factor**2 * (q + 1.0 / n)) / n), axis=0)
        place = int(np.argmax(scores))
        if scores[place] > best:
            direction, tail, cut = np.unravel_index(place, shares.shape)
            best = float(scores[place])
            bet = Bet(column=column, upper=bool(tail == 0), cut=float(cuts[cut]), forward=bool(direction == 0), point=points[0])
    return best, TailEvent(bank=bank.frozen(), bet=bet)
