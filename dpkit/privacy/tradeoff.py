"""The trade-off curve of a guarantee: what every test, with any knowledge, can find out. Read from the whole privacy profile.

A profile is delta(epsilon) for epsilon >= 0, a bound on H(P||Q) = sup over S of P(S) - e^epsilon Q(S). A guarantee has one
for each direction of a pair, (P, Q) and (Q, P); one profile alone stands for both. Every point of a profile bounds the power of
every test, so the smallest bound holds (DRS22, Proposition 2.13): a point that is missed costs tightness and never soundness.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise

from dpkit.numerics.bracketing import first_true, minimise_unimodal
from dpkit.numerics.rounding import UNIT_ROUNDOFF, exp_up, round_up
from dpkit.privacy.gaussian_dp import gaussian_delta_below

ProfileOf = Callable[[float], float]
"""delta at an epsilon >= 0: an upper bound, rounded up."""

_LOG_LARGEST = 700.0
"""An epsilon beyond which e^epsilon is not worked with."""
_LEAST_MISS = 40.0
"""e to minus this is below what a power near 1 can show."""
_GRID, _MOST_POINTS = 24, 200
_NEAR = 1e-4
"""How far above the smallest mu, relatively, the search may stop; and how many points it starts with and may look at."""
_ROUGHLY = 1e-9
"""More than floats are off by where a power, which is at most 1, is computed without care."""
_CHORD_ROUNDING = 1e-12
"""The relative error of a computed chord, which is added to it."""


def pair_power(epsilon: float, delta: float, false_alarm_rate: float, *, backward: float | None = None) -> float:
    """What one pair says of the power of any test with this rate of false alarms, rounded up (WZ10; KOV15).

    The smaller of e^epsilon rate + delta, from H(P||Q) <= delta, and of 1 - e^-epsilon (1 - rate - backward), from
    H(Q||P) <= backward, which is delta where nothing else is said.
    """
    if not epsilon <= _LOG_LARGEST:
        return 1.0
    grown, rate = Fraction(exp_up(epsilon) if epsilon > 0.0 else 1.0), Fraction(false_alarm_rate)
    other = Fraction(delta if backward is None else backward)
    return max(0.0, round_up(min(Fraction(1), grown * rate + Fraction(delta), 1 - (1 - rate - other) / grown)))


def least_power(pairs: Sequence[tuple[float, float]], false_alarm_rate: float) -> float:
    """The smallest that any of these pairs (epsilon, delta) says, rounded up: those near it, as floats have it, decide."""
    rough = [
        min(_above(epsilon, delta, false_alarm_rate), _below(epsilon, delta, false_alarm_rate), 1.0)
        if epsilon <= _LOG_LARGEST
        else 1.0
        for epsilon, delta in pairs
    ]
    near = min(rough) + _ROUGHLY
    return min(pair_power(*pair, false_alarm_rate) for pair, power in zip(pairs, rough, strict=True) if power <= near)


def pair_profile(epsilon: float, delta: float, at: float) -> float:
    """What (epsilon, delta) says of delta at another epsilon, rounded up (KOV15).

    Below the pair it is delta + (1 - delta) (e^epsilon - e^at) / (e^epsilon + 1):
    H is convex in e^epsilon, so below the pair it is under the chord to what symmetry says of -epsilon.
    """
    if at >= epsilon:
        return delta
    lost = -math.expm1(at - epsilon) / (1.0 + math.exp(-epsilon)) * (1.0 + 2e-15)
    return round_up(min(Fraction(1), Fraction(delta) + (1 - Fraction(delta)) * Fraction(lost)))


def power_of(profiles: Sequence[ProfileOf], false_alarm_rate: float, *, kinks: Sequence[float] = ()) -> float:
    """The largest power of a test with this rate of false alarms, over both directions, rounded up.

    As a function of t = epsilon (the first bound of `pair_power`) or t = -epsilon (the second) the bound has one valley,
    because H is convex in e^epsilon. `kinks` are epsilons that are looked at besides: where a profile has a corner.
    """
    if false_alarm_rate >= 1.0:
        return 1.0
    cached = [cache(profile) for profile in profiles]
    orders = [(cached[0], cached[-1])] if len(cached) == 1 else [(cached[0], cached[1]), (cached[1], cached[0])]
    return max(_one_way(ahead, back, false_alarm_rate, kinks) for ahead, back in orders)


def _one_way(ahead: ProfileOf, back: ProfileOf, rate: float, kinks: Sequence[float]) -> float:
    def bound(t: float) -> float:
        epsilon = abs(t)
        return _above(epsilon, ahead(epsilon), rate) if t >= 0.0 else _below(epsilon, back(epsilon), rate)

    highest = min(_LOG_LARGEST, -math.log(rate)) if rate > 0.0 else _LOG_LARGEST
    found = [minimise_unimodal(bound, low=-_LEAST_MISS, high=highest, near=_gaussian_guess(ahead(0.0), rate))]
    found += [t for kink in kinks if kink <= _LOG_LARGEST for t in (kink, -kink)]
    exact = [pair_power(abs(t), ahead(abs(t)), rate, backward=back(abs(t))) if math.isfinite(t) else 1.0 for t in (0.0, *found)]
    return min(exact)


def _gaussian_guess(advantage: float, rate: float) -> float:
    """Where the bound is smallest for Gaussian noise of this advantage: the loss at the threshold of the test."""
    from scipy.special import ndtri

    mu = -2.0 * float(ndtri(0.5 * (1.0 - min(advantage, 1.0 - 1e-9))))
    return -mu * float(ndtri(max(rate, 1e-300))) - 0.5 * mu * mu


def _above(epsilon: float, delta: float, rate: float) -> float:
    return delta + rate * math.exp(epsilon)


def _below(epsilon: float, delta: float, rate: float) -> float:
    return 1.0 - math.exp(-epsilon) * (1.0 - delta - rate)


def best_guess(delta_of: ProfileOf, prior: float) -> float:
    """How likely the best guess is right, of somebody who gave one of two datasets this probability before, rounded up.

    With m the larger of prior and 1 - prior: m + (1 - m) H at e^epsilon = m / (1 - m), which is what the best of all decisions
    gives (Neyman and Pearson). Before anything is seen, a guess is right with probability m.
    """
    more, less = max(Fraction(prior), 1 - Fraction(prior)), min(Fraction(prior), 1 - Fraction(prior))
    if less == 0:
        return 1.0
    odds = more / less
    # delta falls as epsilon grows: an epsilon rounded down is on the safe side
    epsilon = max(0.0, math.log(odds) * (1.0 - 1e-15) - 1e-15) if odds < 10**300 else 690.0
    return round_up(min(Fraction(1), more + less * Fraction(delta_of(epsilon))))


def accused_rightly(power: float, prior: float, false_alarm_rate: float) -> float:
    """How likely an alarm is right, with this prior, rounded up: prior power / (prior power + (1 - prior) rate)."""
    right = Fraction(prior) * Fraction(power)
    alarms = right + (1 - Fraction(prior)) * Fraction(false_alarm_rate)
    return round_up(right / alarms) if alarms else 0.0


def accused_at_most(prior: float, epsilon: float) -> float:
    """How likely an alarm can be right at all, rounded up: no odds grow more than e^epsilon-fold."""
    right = Fraction(prior)
    others = (1 - right) * Fraction(math.exp(-epsilon) * (1.0 - 4.0 * UNIT_ROUNDOFF))
    return round_up(right / (right + others)) if right else 0.0


def gaussian_mu(delta_of: ProfileOf, *, top: float, slack: float = 0.0) -> float:
    """The smallest mu found, within 1e-4, whose Gaussian curve lies below this guarantee's, less `slack`: rounded up.

    That is delta(epsilon) <= delta_mu(epsilon) + slack for all epsilon in [0, top]; `top` is where delta is at most the slack.
    Between two points H is below its chord in e^epsilon, being convex, and the Gaussian profile is above its tangent of the
    same slope: one comparison covers the whole piece. Pieces that decide are halved (docs/proofs/tradeoff.md).
    """
    if not math.isfinite(top):
        return math.inf
    at = cache(lambda epsilon: max(0.0, delta_of(epsilon) - slack))
    if at(0.0) >= 1.0:
        return math.inf
    places = [top * index / _GRID for index in range(_GRID + 1)]
    least = max(gaussian_mu_at(place, at(place)) for place in places)
    bounds = {piece: _mu_over(*piece, at(piece[0]), at(piece[1]), least) for piece in pairwise(places)}
    while len(bounds) < _MOST_POINTS:
        piece = max(bounds, key=lambda piece: bounds[piece])
        low, high = piece
        middle = 0.5 * (low + high)
        if bounds[piece] <= least * (1.0 + _NEAR) or not low < middle < high:
            break
        least = max(least, gaussian_mu_at(middle, at(middle)))
        del bounds[piece]
        for part in ((low, middle), (middle, high)):
            bounds[part] = _mu_over(*part, at(part[0]), at(part[1]), least)
    return max(bounds.values())


def gaussian_mu_of_pure(epsilon: float) -> float:
    """The smallest mu such that every epsilon-DP release is mu-GDP, rounded up: -2 Phi^-1(1/(1 + e^epsilon))."""
    from scipy.special import erfinv, ndtri

    if not epsilon <= _LOG_LARGEST:
        return math.inf
    near = math.sqrt(8.0) * erfinv(math.tanh(epsilon / 2.0)) if epsilon < 1.0 else -2.0 * ndtri(1.0 / (1.0 + math.exp(epsilon)))
    return float(near) * (1.0 + 1e-12)


def gaussian_mu_of_zcdp(rho: float) -> float:
    """A mu such that every rho-zCDP release is mu-GDP, rounded up (docs/proofs/tradeoff.md).

    Below some epsilon the optimal conversion is compared as `gaussian_mu` does; above it, for a mu 2% beyond sqrt(2 rho), the
    quotient of the two tails falls and is below 1.
    """
    from dpkit.privacy.conversions import renyi_delta  # conversions end in Gaussian pairs
    from dpkit.privacy.losses import LinearCurve

    if rho == 0.0 or not math.isfinite(rho):
        return rho
    curve, least = LinearCurve(slope=rho), 1.02 * math.sqrt(2.0 * rho)
    falls = 1.01 * (1.0 / (2.0 * rho) - 1.0 / (least * least)) ** -0.5
    start = max(falls, 2.0 * rho)
    while _log_tail_quotient(start, rho, least) > -1e-9:
        start *= 1.05
    # the first moment alone bounds delta at 0, and so everywhere (Bretagnolle and Huber)
    most = math.sqrt(-math.expm1(-rho)) * (1.0 + 1e-15)
    return max(least, gaussian_mu(lambda epsilon: min(most, renyi_delta(curve, epsilon=epsilon)[0]), top=start))


def _log_tail_quotient(epsilon: float, rho: float, mu: float) -> float:
    """ln of a bound on delta under rho-zCDP over a bound from below on the Gaussian profile, for epsilon > rho."""
    excess, far = epsilon - rho, epsilon / mu + mu / 2.0
    ours = -excess * excess / (4.0 * rho) + math.log(2.0 * rho / excess) - 1.0
    gaussian = -0.5 * (epsilon / mu - mu / 2.0) ** 2 - 0.5 * math.log(2.0 * math.pi) + math.log(mu / (far * far + 3.0))
    return ours - gaussian


def gaussian_mu_at(epsilon: float, delta: float) -> float:
    """The mu whose profile passes through this point, rounded up by at most 1e-7 of itself."""
    if delta <= 0.0:
        return 0.0
    bracket = first_true(lambda mu: gaussian_delta_below(mu, epsilon=epsilon) >= delta, relative=1e-7)
    return math.inf if bracket is None else bracket[1]


def _mu_over(low: float, high: float, at_low: float, at_high: float, least: float) -> float:
    """A mu at least `least` whose profile is above the chord from one end of a piece to the other."""

    width = high - low

    def holds(mu: float) -> bool:
        from scipy.special import ndtri

        if high > _LOG_LARGEST:  # no float holds a chord there: the highest end against the lowest
            return gaussian_delta_below(mu, epsilon=high) >= at_low
        fall = (at_low - at_high) / math.expm1(width) * math.exp(-low)
        # the profile's slope in e^epsilon is -Phi(-epsilon/mu - mu/2): where it is that of the chord, the two are nearest
        nearest = -mu * (float(ndtri(fall)) + mu / 2.0) if 0.0 < fall < 1.0 else high
        for place in {low, high, min(max(nearest, low), high)}:
            share = math.expm1(place - low) / math.expm1(width)
            chord = (at_low * (1.0 - share) + at_high * share) * (1.0 + _CHORD_ROUNDING)
            if gaussian_delta_below(mu, epsilon=place) < chord:
                return False
        return True

    if at_low <= 0.0 or (least > 0.0 and holds(least)):
        return least
    bracket = first_true(holds, start=max(least, 1e-3), relative=1e-7)
    return math.inf if bracket is None else max(least, bracket[1])
