"""Laws of single releases as few atoms, as dense as each loss asks for: bounds from both sides, and their moments anywhere.

A lattice has one step for all losses. Of a sample that is rare almost all losses are within a millionth of 0, and those that
count far away; atoms may lie as each of them asks for. Dots and tangents bound a profile at any places (docs/proofs/pld.md,
theorems 3 and 4), and a moment of atoms is a sum.
"""

from __future__ import annotations

import math

import numpy as np

from dpkit.numerics.lattice_laws import lower_masses_at, upper_masses_at
from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array, asfloat
from dpkit.privacy.loss_pairs import LossDirection
from dpkit.values import dataclass

_PROBES, _NEAREST = 500, 1e-9
"""Losses on either side of 0 at which a law is looked at, in equal ratios; the smallest one as a part of the largest."""

_BODY, _TAIL, _LOW = 0.7, 0.2, 0.1
"""Parts of the atoms that serve the variance, and that serve rare losses, large and small ones."""

_SEEN = 1e-13
"""Of smaller probabilities below a loss rounding leaves nothing."""

_CLOSEST = 2.0**-30
"""No two places are closer, relatively to their size."""

_STEEP = 600.0
"""Exponents above it are not raised."""

_BEFORE = 2.0**-44
"""How far below the largest loss a lower law ends, relatively."""

_EXACT = 2.0**-38
"""What a slope may be off by, and more."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AtomLaw:
    """Mass masses[i] at losses[i], `count` times. Where it is `cut` the last atom stands for all losses from there on, of which
    `end` is the profile.
    """

    losses: Array
    masses: Array
    count: int
    end: float
    cut: bool

    def places(self, step: float) -> Array:
        """Where the masses are; no step plays a part."""
        return self.losses

    def body(self) -> AtomLaw:
        """The release without its large losses."""
        kept = slice(None, -1) if self.cut else slice(None)
        return AtomLaw(losses=self.losses[kept], masses=self.masses[kept], count=self.count, end=0.0, cut=False)


class ReadDirection:
    """A direction that was read once, at places that suit its law; laws from above and from below, cut anywhere."""

    def __init__(
        self, direction: LossDirection, count: int, *, tail: float, atoms: int, tilt: float = 0.0, most: float = math.inf
    ) -> None:
        self.direction, self.count = direction, count
        low, high = direction.reach(tail)
        self.top = direction.top()
        self.places = _places(direction, low, min(high, most), atoms, tilt)
        first, last = float(self.places[1] - self.places[0]), float(self.places[-1] - self.places[-2])
        before, after = self.places[0] - first * np.array([2.0, 1.0]), self.places[-1] + last * np.array([1.0, 2.0])
        whole = np.concatenate((before, self.places, after))
        self._whole = asfloat(whole)
        self._centres = asfloat(0.5 * (whole[:-1] + whole[1:]))
        self._above = direction.above().profile(asfloat(whole[1:-2]))
        below = direction.below()
        self._below = (*below.profile(self._centres), below.slope(self._centres))

    def upper(self, cut: float | None) -> AtomLaw:
        """A law whose profile is nowhere below, up to the place next to `cut`; all of it where that is None."""
        size = self.places.size if cut is None else self._index(cut) + 1
        profile, errors = (part[: size + 1].copy() for part in self._above)
        places = self._whole[1 : size + 2]
        masses, end = upper_masses_at(profile, errors, places=places, gaps=asfloat(np.diff(places)))
        if cut is not None:
            odds = self._odds(self.direction.above(), float(places[-1]))
            masses[-1] = max(float(masses[-1]), (end + odds) * (1.0 + 8.0 * UNIT_ROUNDOFF))
        return AtomLaw(losses=places[1:], masses=masses, count=self.count, end=end, cut=cut is not None)

    def lower(self, cut: float | None) -> AtomLaw:
        """The same from below."""
        size = self.places.size if cut is None else self._index(cut) + 1
        spare = 1 if cut is None else 0  # of a law that is not cut the place after its last one holds nothing
        middles, errors, slopes = (part[: size + 2 + spare].copy() for part in self._below)
        places = self._whole[1 : size + 2 + spare].copy()
        centres = self._centres[: size + 2 + spare]
        top, atom = None, 0.0
        if cut is None and 0.0 < self.top < math.inf:
            # a law that ends next below the largest loss: all of Q's mass above that place counts there
            last = self.top * (1.0 - _BEFORE)
            nearest = int(np.searchsorted(places, self.top * (1.0 - 2.0 * _BEFORE)))
            if nearest < places.size and places[nearest] <= self.top * (1.0 + 8.0 * UNIT_ROUNDOFF):  # else all lie below it
                atom = float(self.direction.below().slope(asfloat([last]))[0])
                places[nearest] = last
                top = (nearest, last) if atom > 0.0 else None
        masses, end = lower_masses_at(
            asfloat(middles),
            asfloat(errors),
            asfloat(slopes),
            centres=centres,
            places=places,
            gaps=asfloat(np.diff(places)),
            halves=(asfloat(places - centres[:-1]), asfloat(centres[1:] - places)),
            top=top,
            atom=atom,
        )
        if cut is not None:
            last = float(places[-1])
            value, error = (float(part[0]) for part in self.direction.below().profile(asfloat([last])))
            odds = self._odds(self.direction.below(), last)
            share = max(0.0, value - error) / (value + error + odds) * (1.0 - 8.0 * UNIT_ROUNDOFF) if odds > 0.0 else 0.0
            end = min(end, float(masses[-1]) * share)
        return AtomLaw(losses=places[1:], masses=masses, count=self.count, end=end, cut=cut is not None)

    def beyond(self) -> float:
        """What the profile still is at the last place."""
        return 0.0 if self.top <= self.places[-1] else float(self._above[0][-1] + self._above[1][-1])

    def _index(self, cut: float) -> int:
        return min(int(np.searchsorted(self.places, cut)), self.places.size - 1)

    def _odds(self, direction: LossDirection, at: float) -> float:
        return math.exp(at) * float(direction.slope(asfloat([at]))[0]) * (1.0 + _EXACT)


def _places(direction: LossDirection, low: float, high: float, atoms: int, tilt: float) -> Array:
    """Places for atoms: where the variance is, and where rare losses are; and at the atoms that the law has itself."""
    top = direction.top()
    high = top if high >= top * (1.0 - _CLOSEST) else high  # an end that is known to rounding
    sides = [np.linspace(low, high, _PROBES)]
    near = np.geomspace(_NEAREST, 1.0, _PROBES)
    if low < 0.0:
        sides.append(low * near)
    if high > 0.0:
        sides.append(high * near)
    probes = np.unique(np.concatenate(sides))
    with np.errstate(all="ignore"):
        survival = direction.profile(asfloat(probes))[0] + np.exp(np.minimum(probes, _STEEP)) * direction.slope(asfloat(probes))
    survival = np.minimum.accumulate(np.clip(np.nan_to_num(survival), 0.0, 1.0))
    cells, widths = survival[:-1] - survival[1:], np.diff(probes)
    # the sum of m h^2 is least where the number of atoms is as the third root of the density
    found = [probes[:1]]
    for steep in {0.0, tilt}:
        powers = steep * probes[1:]
        weights = cells * np.exp(np.maximum(powers - np.max(powers), -_STEEP))
        often = np.cumsum(np.concatenate(([0.0], np.cbrt(weights) * np.cbrt(widths) ** 2)))
        if often[-1] > 0.0:
            half = math.ceil(_BODY * atoms / (2.0 if tilt else 1.0))
            found.append(np.interp(np.linspace(0.0, often[-1], half), often, probes))
    rarely = -np.log(np.maximum(survival, 1e-290))
    falls = np.concatenate(([True], np.diff(rarely) > 0.0))
    found.append(np.interp(np.linspace(rarely[0], rarely[falls][-1], math.ceil(_TAIL * atoms)), rarely[falls], probes[falls]))
    under = np.concatenate(([0.0], np.cumsum(cells)))
    seen = np.flatnonzero(under > _SEEN)
    if seen.size > 1 and low < 0.0:
        logs, few = np.log(under[seen]), math.ceil(0.5 * _LOW * atoms)
        found += [np.interp(np.linspace(logs[0], logs[-1], few), logs, probes[seen]), np.linspace(low, probes[seen[0]], few)]
    places = np.unique(np.clip(np.concatenate(found), low, high))
    own = np.unique([at for atom in direction.atoms() for at in (atom, -atom) if low <= at <= high] + [low, high])
    # an end that is rounded is an atom that is next to it
    own = own[np.append(np.diff(own) > _CLOSEST * np.maximum(np.abs(own[1:]), np.abs(own[:-1])), True)]
    size = np.maximum(np.abs(places[:-1]), np.abs(places[1:]))
    apart = np.concatenate(([True], np.diff(places) > np.maximum(_CLOSEST * size, 1e-280)))
    places = places[apart]
    nearest = np.min(np.abs(np.subtract.outer(places, own)), axis=1)
    places = places[nearest > _CLOSEST * np.maximum(np.abs(places), np.max(np.abs(own)) * 1e-12)]
    return asfloat(np.unique(np.concatenate((places, own))))
