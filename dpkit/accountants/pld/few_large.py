"""The route for rare losses: a contour over atoms, in which few releases have large losses.

Where large losses are rare, a moment is almost all of many of them at once, which hardly ever happens. So losses above a
threshold may occur in at most a few releases, what that leaves out is bounded, and the moments of the rest are moderate at
every tilt that is asked for (docs/proofs/pld.md, theorem 18).
"""

from __future__ import annotations

from collections.abc import Sequence

from dpkit.accountants.pld.atom_laws import ReadDirection
from dpkit.accountants.pld.atom_sums import AtomSums, ContourChoice
from dpkit.accountants.pld.contour import ContourSum
from dpkit.accountants.pld.few_large_choice import choose
from dpkit.accountants.pld.moments import Terms, alias_bound
from dpkit.accountants.pld.where_bounds_hold import MOST_RELEASES, ErrorTerms, Reader, scaled
from dpkit.numerics.rounding import format_down

_ATOMS, _FEWER = 12000, 1500
"""Atoms of all mechanisms, and of each in a first look; the variance that they add is about (2/atoms)^2 of its own."""

_MOST_TERMS = 4
"""Of more mechanisms atoms are not read."""

_STEEP = 600.0
"""e to more is not raised."""

_NEARLY, _TURNS = 0.97, 4
"""Where delta is reached below this part of the epsilon that was looked at, all is laid anew; so often, at most."""

_HALVINGS = 30
"""How often the place is halved at which delta is looked for."""


def few_large_holds(terms: Terms, tail: float) -> bool:
    """Whether every e^loss is a number, and rounding errors do not add up to everything."""
    if len(terms) > _MOST_TERMS:
        return False
    reaches = [direction.reach(tail) for direction, _ in terms]
    held = all(-_STEEP < low < high < _STEEP and high > 0.0 for low, high in reaches)
    return held and sum(count for _, count in terms) <= MOST_RELEASES


def few_large_reader(terms: Terms, *, delta: float, epsilon: float, width: float, tail: float) -> Reader | None:
    """A reader near the epsilon of this delta, of which one from above is given; None where nothing suitable is found."""
    read = [ReadDirection(direction, count, tail=tail, atoms=_FEWER) for direction, count in terms]
    found: Reader | None = None
    tilt = 0.0
    for _ in range(_TURNS):
        chosen = choose([one.upper(None) for one in read], delta=delta, epsilon=epsilon, width=width)
        made = None if chosen is None else _reader(read, chosen, start=epsilon)
        if made is None or chosen is None:
            return found
        found, before, tilt = made, epsilon, chosen.tilt
        epsilon = _reached(found, delta)
        if epsilon > _NEARLY * before:
            break
    # near enough: more atoms, where they count there
    read = [ReadDirection(direction, n, tail=tail, atoms=_ATOMS // len(terms), tilt=tilt) for direction, n in terms]
    chosen = choose([one.upper(None) for one in read], delta=delta, epsilon=epsilon, width=width)
    made = None if chosen is None else _reader(read, chosen, start=epsilon)
    return found if made is None else made


def _reached(found: Reader, delta: float) -> float:
    low, high = 0.0, found.start
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if found.upper(middle)[0] <= delta else (middle, high)
    return high


def _reader(read: Sequence[ReadDirection], chosen: ContourChoice, *, start: float) -> Reader | None:
    """Bounds by the atoms of both sides; the lower ones are made when they are asked for."""
    above = AtomSums([one.upper(chosen.cut if _is_cut(one, chosen) else None) for one in read], chosen)
    total = above.contour(chosen)
    if total is None:
        return None
    lost = sum(one.count * one.beyond() for one, law in zip(read, above.laws, strict=True) if not law.cut)
    lost = (lost + above.missed) * (1.0 + 1e-9)

    def upper(at: float) -> tuple[float, ErrorTerms]:
        value, error, log_scale = total.scaled_delta(at)
        bound = scaled(max(value, 0.0) + error, log_scale, size=chosen.tilt * abs(at)) + lost
        bound += 0.0 if above.large is None else above.large.above(at)
        sizes = (("rounding and truncation", error / max(value, 1e-300)), ("large losses left out", lost / max(bound, 1e-300)))
        return bound, sizes

    cache: list[tuple[AtomSums, ContourSum | None]] = []

    def lower(at: float) -> float:
        if not cache:
            side = AtomSums([one.lower(chosen.cut if _is_cut(one, chosen) else None) for one in read], chosen)
            cache.append((side, side.contour(chosen)))
        side, part = cache[0]
        found = 0.0
        if part is not None:
            value, error, log_scale = part.scaled_delta(at, below=True)
            alias = alias_bound(side.smoothed(chosen.smoothing), tilt=chosen.tilt, epsilon=at, period=chosen.period)
            found = scaled(value - error, log_scale, size=chosen.tilt * abs(at), up=False) - alias * (1.0 + 1e-9)
        return max(found, 0.0) + (0.0 if side.large is None else side.large.under(at))

    note = f"{total.heights.size} nodes over atoms, at most {chosen.few} losses above {format_down(chosen.threshold, digits=3)}"
    return Reader(upper=upper, lower=lower, route="contour over atoms", start=start, tilt=chosen.tilt, note=note)


def _is_cut(one: ReadDirection, chosen: ContourChoice) -> bool:
    return chosen.cut is not None and float(one.places[-1]) > chosen.cut
