"""Readings by a lattice: which step and how long, and sums from above and from below (docs/proofs/pld.md, theorems 5 and 6)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dpkit.accountants.pld.large_losses import CUT_SIZE, Cut, LawPart, SomeLarge
from dpkit.accountants.pld.lattice import LatticeSum
from dpkit.accountants.pld.moments import STEEPEST_BOUNDS, RealMoments, Terms, alias_bound
from dpkit.accountants.pld.where_bounds_hold import ErrorTerms, Reader, scaled
from dpkit.numerics.fourier import fast_length
from dpkit.numerics.lattice_laws import LatticeLaw, log_moments, lower_masses, upper_masses
from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array, asfloat
from dpkit.privacy.loss_pairs import LossDirection
from dpkit.values import dataclass

_LATTICE_SIZE = 1 << 21
"""The longest transform: 16 MB of floats, and a few times that in passing."""

_ALIGNMENTS = 20_000
"""How many steps are tried for the one on which the atoms of the losses lie best."""

_LOWER_WORK = 1 << 20
"""Distinct mechanisms times transform length for a lower bound whose atoms fit no lattice: a second, at most."""

_LATTICE_WORK = 1 << 26
"""Distinct mechanisms times transform length: half a gigabyte of transforms."""

_EDGE = 4.0
"""An edge of a loss that is nearer to 0 than this many steps may not be seen."""


def lattice_reader(
    terms: Terms,
    *,
    tilt: float,
    period: float,
    epsilon: float,
    tail: float,
    wanted: float,
    width: float,
    other: Callable[[], Reader | None] | None = None,
    cut: Cut | None = None,
) -> Reader:
    """A reader on a lattice whose step is the one wanted, or as small as the work allows; then the note says so.

    `other` gives another reader, for rarely sampled losses whose lower end a lattice may not see: almost all of their mass lies
    within few steps. Losses above a `cut` are counted apart.
    """
    most = max(1024, min(_LATTICE_SIZE if cut is None else CUT_SIZE, _LATTICE_WORK // len(terms)))
    reaches = [direction.reach(tail) for direction, _ in terms]
    if cut is not None:
        reaches = [(low, min(high, cut.loss)) for low, high in reaches]
    widest = max(high - low for low, high in reaches)
    step = _aligned(max(wanted, period / most, widest / _LATTICE_SIZE), terms)
    size = fast_length(math.ceil(period / step))
    note = f"step {step:.3g}, {size} points"
    if step > wanted * 1.001:
        note += (
            f"; the width asked for would take {period / wanted:.2g} points, more than are allowed, so the interval is wider"
        )
    finest = max(period / (_LOWER_WORK // len(terms) + 1), widest / _LATTICE_SIZE)
    fine = _lower_step(terms, step=step, finest=finest, width=width)
    grids = (step, size), (fine, size if fine == step else fast_length(math.ceil(period / fine)))
    found = _lattice_bounds(terms, reaches, grids=grids, tilt=tilt, start=epsilon, note=note, width=width, cut=cut)
    rare = any(0.0 < min(map(abs, reach)) < _EDGE * step for reach in reaches)
    return replace(found, finer=other) if rare else found


def _lattice_bounds(
    terms: Terms,
    reaches: list[tuple[float, float]],
    *,
    grids: tuple[tuple[float, int], tuple[float, int]],
    tilt: float,
    start: float,
    note: str,
    width: float,
    cut: Cut | None,
) -> Reader:
    """Bounds on two lattices, each a step and a size: the upper one on the first, the lower one on the second or near it."""
    (step, size), (fine, fine_size) = grids
    whole = [
        _part(direction.above(), _upper_law(direction.above(), reach, step), n, step=step, cut=_is_cut(reach, cut), upper=True)
        for (direction, n), reach in zip(terms, reaches, strict=True)
    ]
    lost = sum(
        count * _beyond(direction, part.law, step)
        for (direction, count), part in zip(terms, whole, strict=True)
        if not part.cut
    )
    large = None if cut is None else SomeLarge(whole, step=step, rest=cut.rest)
    laws = [part.body() for part in whole]
    spent = LatticeSum([(part.law, part.count) for part in laws], step=step, tilt=tilt, size=size, near=start)
    del whole, laws
    cache: list[_LowerSum | None] = []

    def upper(at: float) -> tuple[float, ErrorTerms]:
        if not spent.readable(at):
            return 1.0, (("too far from where the lattice was tuned", 1.0),)
        value, error, log_scale = spent.scaled_delta(at)
        bound = scaled(value + error, log_scale + spent.log_error, size=tilt * abs(at)) + lost
        bound += 0.0 if large is None else large.above(at)
        sizes = (("rounding", error / max(value, 1e-300) + spent.log_error), ("truncated tail", lost / max(bound, 1e-300)))
        return bound, sizes

    def lower(at: float) -> float:
        if not cache:
            below = [
                _part(direction.below(), _lower_law(direction.below(), reach, fine), n, step=fine, cut=_is_cut(reach, cut))
                for (direction, n), reach in zip(terms, reaches, strict=True)
            ]
            cache.append(_lower_sum(below, step=fine, tilt=tilt, size=fine_size, start=start, cut=cut))
        return 0.0 if cache[0] is None else cache[0].delta(at)

    return Reader(upper=upper, lower=lower, route="lattice", start=start, tilt=tilt, note=note)


@dataclass(frozen=True, slots=True, kw_only=True)
class _LowerSum:
    """Lower laws composed."""

    total: LatticeSum
    moments: RealMoments
    period: float
    tilt: float
    large: SomeLarge | None

    def delta(self, at: float) -> float:
        """A lower bound of delta there."""
        if not self.total.readable(at):
            return 0.0
        value, error, log_scale = self.total.scaled_delta(at)
        steeper = {} if self.large is None else {"steeper": STEEPEST_BOUNDS}
        alias = alias_bound(self.moments, tilt=self.tilt, epsilon=at, period=self.period, **steeper)
        size = self.tilt * abs(at)
        found = scaled(value - error, log_scale - self.total.log_error, size=size, up=False) - alias * (1.0 + 1e-9)
        return found if self.large is None else max(found, 0.0) + self.large.under(at)


def _lower_sum(below: list[LawPart], *, step: float, tilt: float, size: int, start: float, cut: Cut | None) -> _LowerSum | None:
    """The lower laws composed; None where the lattice is too coarse for every release."""
    large = None
    if cut is None:
        # where the lattice is too coarse for a release, leaving that release out is the better lower bound
        below = [one for one in below if one.moment(step, tilt) > 0.0]
    else:
        below = [one for one in below if np.any(one.law.masses)]
        large = SomeLarge(below, step=step, rest=cut.rest)
        below = [one.body() for one in below]
    if not below:
        return None
    steeper: dict[float, float] = {}

    def log_moment(tilts: Array) -> Array:
        new = np.array([one for one in tilts.tolist() if one not in steeper])
        if new.size:
            found = np.zeros(new.size)
            for one in below:
                found += one.count * log_moments(one.law, step, new)
            steeper.update(zip(new.tolist(), found.tolist(), strict=True))
        return np.array([steeper[one] for one in tilts.tolist()])

    laws = [(one.law, one.count) for one in below]
    total = LatticeSum(laws, step=step, tilt=tilt, size=size, near=start)
    return _LowerSum(total=total, moments=log_moment, period=size * step, tilt=tilt, large=large)


def _is_cut(reach: tuple[float, float], cut: Cut | None) -> bool:
    """Whether a release has losses from the cut on: its reach ends there."""
    return cut is not None and reach[1] >= cut.loss


def _part(direction: LossDirection, law: LatticeLaw, count: int, *, step: float, cut: bool, upper: bool = False) -> LawPart:
    """A law as a part. Where it is cut, what its last point stands for is made such that a law beyond has it (theorem 16)."""
    if cut:
        at = (law.first + law.masses.size - 1) * step
        value, error = (float(found[0]) for found in direction.profile(asfloat([at])))
        odds = math.exp(at) * float(direction.slope(asfloat([at]))[0]) * (1.0 + 2.0**-38)
        if upper:
            masses = law.masses.copy()
            masses[-1] = max(float(masses[-1]), (law.end + odds) * (1.0 + 8.0 * UNIT_ROUNDOFF))
            law = replace(law, masses=masses)
        else:
            share = max(0.0, value - error) / (value + error + odds) * (1.0 - 8.0 * UNIT_ROUNDOFF) if odds > 0.0 else 0.0
            law = replace(law, end=min(law.end, float(law.masses[-1]) * share))
    return LawPart(law=law, count=count, cut=cut)


def _upper_law(direction: LossDirection, reach: tuple[float, float], step: float) -> LatticeLaw:
    first, last = math.floor(reach[0] / step), math.ceil(reach[1] / step)
    profile, errors = direction.profile(asfloat(np.arange(first - 1, last + 1) * step))
    return upper_masses(profile, errors, first=first, step=step)


def _lower_law(direction: LossDirection, reach: tuple[float, float], step: float) -> LatticeLaw:
    first, last = math.floor(reach[0] / step) - 1, math.ceil(reach[1] / step) + 1
    middles = asfloat((np.arange(first - 1, last + 2) - 0.5) * step)
    profile, errors = direction.profile(middles)
    top = direction.top()
    slopes = direction.slope(middles)
    atom = float(direction.slope(asfloat([top * (1.0 - 2.0**-50)]))[0]) if 0.0 < top < math.inf else 0.0
    nearest = _place_below(top, step) if atom > 0.0 else 0
    if not 0 < nearest <= last:
        return lower_masses(profile, errors, slopes, first=first, step=step)
    return lower_masses(profile, errors, slopes, first=first, step=step, top=nearest, atom=atom)


def _place_below(loss: float, step: float) -> int:
    """The lattice point at a loss or next below it; a point that rounding alone lifts above it counts as at it."""
    return math.floor(loss / step * (1.0 + 8.0 * UNIT_ROUNDOFF))


def _beyond(direction: LossDirection, law: LatticeLaw, step: float) -> float:
    """What the profile still is at the last point: the mass that may lie above it."""
    last = (law.first + law.masses.size - 1) * step
    if direction.top() <= last:
        return 0.0
    value, error = direction.profile(np.array([last]))
    return float(value[0] + error[0]) if value[0] > 0.0 else 0.0


def _aligned(step: float, terms: Terms) -> float:
    """The step, a little smaller, so that atoms of the losses lie on lattice points, or hardly above.

    The heaviest atom is put on the lattice exactly; among the steps that do so, the one that serves the others best. An atom
    between points costs the lower bound what it lies above the lower one.
    """
    atoms = [(atom, count) for direction, count in terms for atom in direction.atoms() if atom > step]
    if not atoms:
        return step
    heaviest = max(atoms, key=lambda item: item[0] * item[1])[0]
    fewest = math.ceil(heaviest / step)
    parts = np.arange(fewest, fewest + min(_ALIGNMENTS, max(1, fewest // 4)))
    wasted = np.zeros(parts.size)
    for atom, count in atoms[:64]:
        position = atom / heaviest * parts
        wasted += count * (position - np.floor(position * (1.0 + 8.0 * UNIT_ROUNDOFF))) / parts
    return heaviest / float(parts[int(np.argmin(wasted))])


def _lower_step(terms: Terms, *, step: float, finest: float, width: float) -> float:
    """The step for a lower bound: a finer one where atoms between lattice points would cost it more than the width."""
    atoms = [(atom, count) for direction, count in terms for atom in direction.atoms()]

    def wasted(at: float) -> float:
        return sum(count * (atom - _place_below(atom, at) * at) for atom, count in atoms)

    best, least = step, wasted(step)
    while least > width and step > 4.0 * finest:
        step = _aligned(step / 4.0, terms)
        if (waste := wasted(step)) < least:
            best, least = step, waste
    return best
