"""Reading composed losses: epsilon at a delta, delta at an epsilon, each as a certified interval with its route."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from dpkit.accountants.pld.composition import reader, tuned
from dpkit.accountants.pld.moments import Terms, chernoff_delta, real_moments
from dpkit.accountants.pld.where_bounds_hold import ErrorTerms, Reader, binomial_holds, profile_holds, wanted_width
from dpkit.numerics.rounding import SMALLEST, exact_sum, format_up, round_up, sqrt_down, sqrt_up
from dpkit.numerics.special import asfloat
from dpkit.privacy.compositions import optimal_delta, optimal_delta_below, optimal_epsilon
from dpkit.privacy.gaussian_dp import GaussianDirection, GaussianPair, gaussian_delta, gaussian_delta_below, gaussian_epsilon
from dpkit.privacy.loss_pairs import LossDirection, LossPair, Profile, PurePair
from dpkit.values import dataclass

PairTerms = Sequence[tuple[LossPair, int]]

_FIRST_LOOK = 1e-3
"""The width at which a direction is looked at, to see whether it is larger than one that is known."""

_FAR_BELOW = 1e-3
"""A delta that is this far below what it was guessed to be is read again."""

_LARGEST = sys.float_info.max

_FAR = 1e6
"""An epsilon beyond which deltas are not told apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """A certified interval, the route that gave it, and what was added to the upper end, relatively to delta."""

    lower: float
    upper: float
    route: str
    errors: ErrorTerms = ()
    note: str = ""

    def describe(self) -> str:
        """The route, its size, and each error term."""
        terms = ", ".join(f"{name} {format_up(size, digits=2)}" for name, size in self.errors)
        return "; ".join(
            part for part in (self.route, self.note, f"added to delta, relatively: {terms}" if terms else "") if part
        )


def loss_directions(terms: PairTerms) -> list[Terms]:
    """The terms in each direction, Gaussians merged into one; a single list when every pair is symmetric."""
    squares = _squares(terms)
    gaussian: list[tuple[LossDirection, int]] = [(GaussianDirection(mu=sqrt_up(squares)), 1)] if squares else []
    rest = [(pair, n) for pair, n in terms if not isinstance(pair, GaussianPair)]
    forward = [(pair.forward(), n) for pair, n in rest]
    backward = [(pair.backward(), n) for pair, n in rest]
    if all(direction is None for direction, _ in backward):
        return [[*forward, *gaussian]]
    mixed = [(back or ahead, n) for (back, n), (ahead, _) in zip(backward, forward, strict=True)]
    return [[*forward, *gaussian], [*mixed, *gaussian]]


def closed_epsilon(terms: PairTerms, delta: float, *, both: bool) -> Bounds | None:
    """Nothing, Gaussians alone, identical pure losses, and delta = 0 have closed forms; with `both`, the lower end, too."""
    if not terms:
        return Bounds(lower=0.0, upper=0.0, route="closed form", note="nothing was released")
    if delta == 0.0:
        largest = _largest(terms)
        return Bounds(
            lower=0.0 if math.isinf(largest) else largest * (1.0 - 1e-12), upper=largest, route="closed form", note="delta is 0"
        )
    known = _closed_form(terms)
    if known is None:
        return None
    upper = known.epsilon(delta)
    lower = _crossing_below(known.delta_below, delta, start=upper) if both and 0.0 < upper < math.inf else 0.0
    return Bounds(lower=lower, upper=upper, route="closed form", note=known.note)


def closed_delta(terms: PairTerms, epsilon: float) -> Bounds | None:
    """The same, for delta."""
    if not terms or Fraction(epsilon) >= _exact_largest(terms):
        return Bounds(lower=0.0, upper=0.0, route="closed form", note="no loss is larger")
    known = _closed_form(terms)
    if known is None:
        return None
    return Bounds(lower=known.delta_below(epsilon), upper=known.delta(epsilon), route="closed form", note=known.note)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ClosedForm:
    """A profile in closed form, rounded up and rounded down, and the epsilon that the first gives at a delta."""

    epsilon: Callable[[float], float]
    delta: Callable[[float], float]
    delta_below: Callable[[float], float]
    note: str


def _closed_form(terms: PairTerms) -> _ClosedForm | None:
    pair, count = terms[0]
    if isinstance(pair, PurePair) and binomial_holds(terms):
        one = pair.epsilon
        return _ClosedForm(
            epsilon=lambda delta: optimal_epsilon(one, count, delta=delta),
            delta=lambda epsilon: optimal_delta(one, count, target=epsilon),
            delta_below=lambda epsilon: optimal_delta_below(one, count, target=epsilon),
            note="binomial (KOV15, Theorem 3.3)",
        )
    if not all(isinstance(pair, GaussianPair) for pair, _ in terms):
        return None
    squares = _squares(terms)
    mu, mu_below = sqrt_up(squares), sqrt_down(squares)
    return _ClosedForm(
        epsilon=lambda delta: gaussian_epsilon(mu, delta=delta),
        delta=lambda epsilon: gaussian_delta(mu, epsilon=epsilon),
        delta_below=lambda epsilon: gaussian_delta_below(mu_below, epsilon=epsilon),
        note="one Gaussian",
    )


def read_epsilon(terms: Terms, delta: float, *, width: float, both: bool) -> Bounds:
    """The smallest epsilon whose upper delta is at most this one; with `both`, the largest whose lower delta is above it."""
    known = _known_profile(terms)
    if known is not None:
        closed = _inverted(known, terms, delta, both=both)
        if profile_holds(terms[0][1], closed.errors[0][1]):
            return closed
    if tuned(tuple(terms), min(delta, 0.5))[2] <= 0.0:
        return Bounds(lower=0.0, upper=0.0, route="chernoff", note="delta(0) is at most this delta")
    found = reader(terms, delta=min(delta, 0.5), width=width)  # a lattice for a larger delta is a worse one
    if found.route == "chernoff" and delta > 0.5:
        found = reader(terms, delta=delta, width=width)
    readers, upper = _crossed(found, delta, width=width, top=_total_top(terms))
    found = readers[-1]
    errors = found.upper(upper)[1] if math.isfinite(upper) else ()
    looked = readers if both and math.isfinite(upper) else ()
    lower = max((_crossing_below(one.lower, delta, start=upper) for one in looked), default=0.0)
    lower *= 1.0 - 1e-13  # lattice points are rounded to floats
    return Bounds(lower=max(0.0, min(lower, upper)), upper=upper, route=found.route, errors=errors, note=found.note)


def _crossed(found: Reader, delta: float, *, width: float, top: float) -> tuple[list[Reader], float]:
    """Where a reader's upper delta is this one, by finer readers, too, where its lower one is too far below there.

    The readers that were asked, the one that gave the answer at the end.
    """

    def crossing(by: Reader, start: float) -> float:
        return _crossing(lambda at: by.upper(at)[0], delta, start=start, near=1e-3 * width)

    upper = min(top, crossing(found, found.start))
    readers = [found]
    while found.finer is not None and 0.0 < upper < math.inf:
        if found.worth > sum(size for _, size in found.upper(upper)[1]):
            break
        # a lower end this far below would still be near enough
        near = max(wanted_width(width, upper), found.spare)
        closer = None if found.lower(upper - near) >= delta else found.finer()
        if closer is None:
            break
        found, crossed = closer, crossing(closer, min(upper, closer.start))
        readers = [*readers, closer] if crossed <= upper else [*readers[:-1], closer, readers[-1]]
        upper = min(upper, crossed)
    return readers, upper


def read_delta(terms: Terms, epsilon: float, *, width: float, both: bool) -> Bounds:
    """Bounds on delta at one epsilon, from above or with `both` from below, too; tuned for the Chernoff bound there."""
    if epsilon > _FAR:  # products with it overflow; delta falls, so it is not above what it is here
        return replace(read_delta(terms, _FAR, width=width, both=False), lower=0.0)
    known = _known_profile(terms)
    if known is not None:
        value, error = (float(part[0]) for part in known(asfloat([epsilon])))
        if profile_holds(terms[0][1], error / value if value > 0.0 else math.inf):
            low, high = max(0.0, value - error), min(1.0, value + error)
            return Bounds(lower=low, upper=high, route="closed form", note=_copies(terms))
    guess = min(0.5, max(1e-300, chernoff_delta(real_moments(terms, tail=1e-15), epsilon)))
    if guess < 2e-300:
        return Bounds(lower=0.0, upper=2e-300, route="chernoff", note="below 2e-300")
    found = reader(terms, delta=guess, width=width, at=epsilon if epsilon > 0.0 else None)
    upper, errors = found.upper(epsilon)
    if SMALLEST < upper < _FAR_BELOW * guess and epsilon > 0.0:  # what aliases add is a part of the guess
        closer = reader(terms, delta=upper, width=width, at=epsilon)
        nearer = closer.upper(epsilon)
        found, upper, errors = (closer, *nearer) if nearer[0] <= upper else (found, upper, errors)
    lower = max(0.0, found.lower(epsilon * (1.0 + 1e-13))) if both else 0.0  # lattice points are rounded to floats
    # below the largest loss no delta is 0: what underflows is counted as the smallest float
    least = SMALLEST if epsilon < _total_top(terms) else 0.0
    return Bounds(lower=lower, upper=max(least, min(1.0, upper)), route=found.route, errors=errors, note=found.note)


def _known_profile(terms: Terms) -> Profile | None:
    return terms[0][0].repeated_profile(terms[0][1]) if len(terms) == 1 else None


def _copies(terms: Terms) -> str:
    return "one release: its profile" if terms[0][1] == 1 else f"{terms[0][1]} equal releases: their profile"


def _inverted(profile: Profile, terms: Terms, delta: float, *, both: bool) -> Bounds:
    """A profile that is known needs no composition: it is inverted."""

    def upper(at: float) -> float:
        value, error = profile(asfloat([at]))
        return float(value[0] + error[0])

    def lower(at: float) -> float:
        value, error = profile(asfloat([at]))
        return float(value[0] - error[0])

    direction, count = terms[0]
    top = _total_top(terms)
    start = min(top, max(direction.reach(delta)[1], 1e-300)) if count == 1 else top
    high = min(top, _crossing(upper, delta, start=start))
    low = _crossing_below(lower, delta, start=high) if both and 0.0 < high < math.inf else 0.0
    errors = (("rounding", float(profile(asfloat([high]))[1][0]) / delta if math.isfinite(high) else 0.0),)
    return Bounds(lower=min(low, high), upper=high, route="closed form", errors=errors, note=_copies(terms))


def largest_epsilon(directions: Sequence[Terms], delta: float, *, width: float, both: bool) -> Bounds:
    """The larger of the directions; of the others one look tells that they are not."""
    best = read_epsilon(directions[0], delta, width=width, both=both)
    for terms in directions[1:]:
        if _exceeds(terms, delta, best.upper, width=max(width, _FIRST_LOOK)):
            other = read_epsilon(terms, delta, width=width, both=both)
            best = other if other.upper > best.upper else best
    return best


def _exceeds(terms: Terms, delta: float, epsilon: float, *, width: float) -> bool:
    """Whether a direction may cost more than this epsilon at this delta."""
    if epsilon == math.inf or _total_top(terms) <= epsilon:
        return False
    known = _known_profile(terms)
    if known is not None:
        value, error = (float(part[0]) for part in known(asfloat([epsilon])))
        if profile_holds(terms[0][1], error / value if value > 0.0 else math.inf):
            return not value + error <= delta
    near = min(delta, 0.5)
    return (
        tuned(tuple(terms), near)[2] > epsilon
        and not reader(terms, delta=near, width=width, at=epsilon).upper(epsilon)[0] <= delta
    )


def largest_delta(directions: Sequence[Terms], epsilon: float, *, width: float) -> Bounds:
    """The larger of the directions. A first, wide look tells whether another one has to be looked at closely."""
    best = read_delta(directions[0], epsilon, width=width, both=False)
    for terms in directions[1:]:
        if read_delta(terms, epsilon, width=max(width, _FIRST_LOOK), both=False).upper > best.upper:
            other = read_delta(terms, epsilon, width=width, both=False)
            best = other if other.upper > best.upper else best
    return best


def _crossing(delta_of: Callable[[float], float], delta: float, *, start: float, near: float = 0.0) -> float:
    """The smallest epsilon at which a falling bound is at most delta: regula falsi on logarithms, guarded by bisection.

    The end that is returned was seen to be on its side, whatever the function does elsewhere.
    """
    if not math.isfinite(start):
        return math.inf
    high = max(start, 1e-300)
    value_high = delta_of(high)
    factor = 1.5
    while not value_high <= delta:
        high *= factor
        factor = min(1.1 * factor, 1e6)  # from the smallest float to the largest in a hundred strides
        if not high <= min(1e6 * max(start, 1.0), _LARGEST):
            return math.inf
        value_high = delta_of(high)
    low, value_low, stride = high, value_high, 0.02 * high
    while value_low <= delta:
        if low == 0.0:
            return 0.0
        high, value_high = low, value_low
        low, stride = max(0.0, low - stride), 2.0 * stride
        value_low = delta_of(low)
    for turn in range(80):
        if high - low <= max(4e-14 * high, min(near, 1e-9 * high)):
            break
        guess = _falsi(low, high, value_low, value_high, delta, turn)
        value = delta_of(guess)
        if not value <= delta:
            low, value_low = guess, value
        else:
            high, value_high = guess, value
    return high


def _crossing_below(delta_of: Callable[[float], float], delta: float, *, start: float) -> float:
    """The largest epsilon found at which a bound from below is at least delta, starting from an upper bound of it."""
    gap = 1e-12 * start
    while not delta_of(start - gap) >= delta:
        if gap >= start:
            return 0.0
        gap = min(4.0 * gap, start)
    low, high = start - gap, start - gap / 4.0
    for _ in range(12):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if delta_of(middle) >= delta else (low, middle)
    return low


def _falsi(low: float, high: float, value_low: float, value_high: float, delta: float, turn: int) -> float:
    """Where the logarithm, taken as a line, crosses; kept off the ends; the middle every fourth time and when in doubt."""
    middle = 0.5 * (low + high)
    if turn % 4 == 3 or not math.isfinite(value_low) or value_high <= 0.0:
        return middle
    up, down = math.log(value_low) - math.log(delta), math.log(value_high) - math.log(delta)  # a quotient may overflow
    if not up > down:
        return middle
    guess = low + (high - low) * up / (up - down)
    margin = 1e-3 * (high - low)
    return min(max(guess, low + margin), high - margin)


def _squares(terms: PairTerms) -> Fraction:
    """The sum of the squares of all mu, exactly: Gaussians compose into one."""
    return exact_sum((Fraction(pair.mu) ** 2, n) for pair, n in terms if isinstance(pair, GaussianPair))


def _bounded(terms: Terms) -> bool:
    return all(math.isfinite(direction.top()) for direction, _ in terms)


def _total_top(terms: Terms) -> float:
    """The largest total loss, rounded up; infinity when there is none."""
    return round_up(sum((Fraction(n) * Fraction(d.top()) for d, n in terms), Fraction(0))) if _bounded(terms) else math.inf


def _exact_largest(terms: PairTerms) -> Fraction:
    """The largest total loss of any direction, exactly; beyond every float when there is none."""
    largest = Fraction(0)
    for direction in loss_directions(terms):
        if not _bounded(direction):
            return Fraction(10) ** 400
        largest = max(largest, sum((Fraction(n) * Fraction(d.top()) for d, n in direction), Fraction(0)))
    return largest


def _largest(terms: PairTerms) -> float:
    return round_up(_exact_largest(terms))
