"""Large losses apart from the rest: where few releases lose much, no one tilt holds both (docs/proofs/pld.md, theorem 16).

That some release loses more than a cut is counted in closed form; a lattice holds the case that none does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpkit.accountants.pld.atom_laws import AtomLaw
from dpkit.accountants.pld.moments import ALIAS, Terms, log_kernel_peak
from dpkit.numerics.lattice_laws import LatticeLaw, log_moments
from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array, asfloat, log_sum_exp
from dpkit.privacy.loss_pairs import LossDirection
from dpkit.values import dataclass

_PLACES, _NEAREST = 240, 1e-6
"""Losses of a rough law on either side of 0, in equal ratios, and the smallest one as a part of the largest."""

CUT_SIZE = 1 << 19
"""The longest lattice of losses below a cut."""

_EPSILONS, _CUTS, _TILTS = 160, 120, 61
"""How many of each are tried in a search; whatever is found is valid."""

_FARTHEST = 1e-5
"""The smallest epsilon that is looked for, as a part of Chernoff's."""

_NO_EPSILON = 1e-200
"""Nearer to an epsilon of 0 no cut is looked for."""

_DIGITS = 14.0
"""How far above delta, in logarithms, what is summed may be: rounding is relative to it."""

_MISSED = 20.0
"""How far below delta what the closed form leaves open shall be."""

_STEEP = 600.0
"""Exponents above it are not raised."""

_EARLIEST = 0.45
"""At this part of the epsilon that is found it may lie; aliases above are larger there."""

_OF_AN_EDGE = 0.25
"""The largest step, as a part of the nearer edge of a loss, between which and 0 a rare sample has almost all of its mass."""

_TURNS = 6
"""How often a rough law is made to have the mean that it must have."""

_SHARES = (0.5, 1.0, 2.0)
"""Parts of the tilt that was found at which a rest is bounded; any tilt is valid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Losses above `loss` are counted apart. The tilt, the period and the step of the lattice, about where delta is reached,
    the tilt at which what is left open is small, about how wide an interval is,
    and delta.
    """

    loss: float
    tilt: float
    period: float
    epsilon: float
    rest: float
    step: float
    wide: float
    delta: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LawPart:
    """One release on a lattice, as many times.

    Where it is `cut` its last point stands for all losses from there on.
    """

    law: LatticeLaw
    count: int
    cut: bool = False

    def places(self, step: float) -> Array:
        """Where the masses are."""
        return asfloat((self.law.first + np.arange(self.law.masses.size)) * step)

    @property
    def masses(self) -> Array:
        """Those of the law."""
        return self.law.masses

    @property
    def end(self) -> float:
        """The profile at the last point."""
        return self.law.end

    def body(self) -> LawPart:
        """The release without its large losses."""
        masses = self.law.masses[:-1] if self.cut else self.law.masses
        return LawPart(law=LatticeLaw(first=self.law.first, masses=masses), count=self.count)

    def moment(self, step: float, tilt: float) -> float:
        """The log moment of one release; minus infinity where nothing is left of the law."""
        if not np.any(self.law.masses):
            return -math.inf
        return float(log_moments(self.law, step, np.array([tilt]))[0])


class SomeLarge:
    """What the case adds to delta that some release has a loss from its last point on, all of them on lattices of this step."""

    def __init__(self, parts: Sequence[LawPart | AtomLaw], *, step: float, rest: float) -> None:
        tilts = rest * asfloat(_SHARES)
        log_total, log_none, moments = np.zeros(2), np.zeros(2), np.zeros(tilts.size)  # under P and under Q; ln E_Q[e^-tL]
        large: list[tuple[float, float, Array]] = []  # n Q(large), where large losses begin, ln moments of one release
        reach = releases = 0.0
        for part in parts:
            losses, masses = part.places(step), part.masses
            last = float(losses[-1])
            under_q = masses * np.exp(-losses)
            if part.cut:  # the profile at the last point is P - e^loss Q of what is beyond
                under_q[-1] = math.exp(-last) * max(0.0, float(masses[-1]) - part.end)
            total = np.array([np.sum(masses), np.sum(under_q)])
            with np.errstate(divide="ignore"):
                logs = np.log(under_q)
                log_total += part.count * np.log(total)
                if part.cut:
                    above = np.array([masses[-1], under_q[-1]])
                    log_none += part.count * np.log1p(-np.minimum(above / total, 1.0))
            own = log_sum_exp(logs[None, :] - np.multiply.outer(tilts, losses))
            moments += part.count * own
            if part.cut and under_q[-1] > 0.0:
                large.append((part.count * float(under_q[-1]), last, own))
            reach, releases = max(reach, abs(last), abs(float(losses[0]))), releases + part.count
        self._near = UNIT_ROUNDOFF * (1.0 + releases) * (256.0 + 16.0 * reach)
        self._p, self._q = (math.exp(float(a)) * -math.expm1(float(b)) for a, b in zip(log_total, log_none, strict=True))
        # a product of this many moments, each off by a few units of its exponents
        slack = 1e-9 + UNIT_ROUNDOFF * (1.0 + releases) * (256.0 + 16.0 * (1.0 + float(tilts[-1])) * reach)
        self._open = [(tilts, math.log(size) + moments - own - tilts * first + slack) for size, first, own in large]

    def above(self, epsilon: float) -> float:
        """From above: P - e^epsilon Q of that case, and e^epsilon Q of its part where all losses together are below."""
        high, low = self._p * (1.0 + self._near), self._q * (1.0 - self._near)
        rest = sum(math.exp(min(float(np.min(sizes + tilts * epsilon)), _STEEP)) for tilts, sizes in self._open)
        return min(high, high - math.exp(min(epsilon, _STEEP)) * max(0.0, low - rest)) * (1.0 + 8.0 * UNIT_ROUNDOFF)

    def under(self, epsilon: float) -> float:
        """From below: P - e^epsilon Q of that case."""
        if epsilon > _STEEP:
            return 0.0
        low, high = self._p * (1.0 - self._near), self._q * (1.0 + self._near)
        return max(0.0, low - math.exp(epsilon) * high * (1.0 + 8.0 * UNIT_ROUNDOFF)) * (1.0 - 8.0 * UNIT_ROUNDOFF)


def find_cut(terms: Terms, *, delta: float, chernoff: float, tail: float, width: float, at: float | None = None) -> Cut | None:
    """A cut that makes intervals narrow, and where delta is reached then; None where none is found.

    `chernoff` is an epsilon from above. With `at` that is where delta is read. By rough laws: whatever is found is valid.
    """
    roughs = [(_Rough(direction, tail), count) for direction, count in terms]
    releases = sum(count for _, count in terms)
    edge = min(min(-rough.low, rough.high) for rough, _ in roughs)
    highest = max(rough.high for rough, _ in roughs)
    last = chernoff if at is None else at
    if not (0.0 < highest < _STEEP and edge > 0.0 and 0.0 < chernoff < math.inf and last > _NO_EPSILON):
        return None
    epsilons = last * np.geomspace(_FARTHEST, 1.0, _EPSILONS)
    cuts = highest * np.geomspace(_NEAREST, 1.0, _CUTS)
    tilts = np.geomspace(0.03, 1e6, _TILTS) / highest
    logs, joint, below = np.zeros((_TILTS, _CUTS)), np.zeros((2, _CUTS)), np.zeros(_TILTS)
    with np.errstate(all="ignore"):
        for rough, count in roughs:
            one, large = rough.moments(tilts, cuts)
            logs += count * one
            joint += count * np.log1p(-np.minimum(large, 1.0))
            below += count * rough.moments(-1.0 - tilts, cuts[-1:])[0][:, 0]
        p, q = -np.expm1(joint)
        peaks = log_kernel_peak(asfloat(tilts))
        # bounds at [epsilon, cut]: the smallest over tilts of the rest, what is apart, and what that leaves open
        rest = np.min((logs + peaks[:, None])[None, :, :] - np.multiply.outer(epsilons, tilts)[:, :, None], axis=1)
        gaps = np.subtract.outer(epsilons, cuts) * -1.0
        falls = np.min(below[:, None, None] - np.multiply.outer(tilts, gaps), axis=0)
        closed = (gaps > 0.0) & (np.log(q) + epsilons[:, None] + falls < math.log(delta) - _MISSED)
        whole = np.exp(np.minimum(rest, 1.0)) + np.maximum(p - np.exp(epsilons)[:, None] * q, 0.0)
        whole = np.where(closed, whole, np.inf)
        least = np.min(whole, axis=1)
        reached = np.flatnonzero(least <= delta) if at is None else np.array([_EPSILONS - 1])
        if not reached.size or not 0.0 < float(least[reached[0]]) < 1.0:
            return None
        place = int(reached[0])
        epsilon, delta = float(epsilons[place]), delta if at is None else float(least[place])
        lifted = logs - tilts[:, None] * epsilon  # [tilt, cut]
        wanted = -math.log(delta) - math.log(ALIAS)
        over = np.maximum(lifted + peaks[:, None] - math.log(delta), 0.0)
        steeper = np.subtract.outer(tilts, tilts).T  # [i, j]: tilt j less tilt i
        steeper = np.where(steeper > 0.0, steeper, np.nan)
        early = lifted + ((1.0 - _EARLIEST) * epsilon * tilts)[:, None]
        beyond = (early[None, :, :] + wanted) / steeper[:, :, None]
        above = np.nanmin(np.where(np.isfinite(beyond), beyond, np.inf), axis=1, initial=np.inf)
        periods = np.maximum(np.maximum((wanted + over) / (0.9 * tilts[:, None]), above), epsilon)
        before = max(0, place - 3)
        fall = math.log(min(float(least[before]), 1.0) / max(float(least[place]), 1e-300))
        fall = max(1.0, fall / (epsilon - float(epsilons[before]))) if before < place else 1.0 / epsilon
        wanted_step = min(math.sqrt(4.2 * width / ((fall + 1.0) * releases)), _OF_AN_EDGE * edge)
        steps = np.maximum(wanted_step, periods / CUT_SIZE)
        # how wide an interval is: dots add a variance, each point is rounded, and readings sum those within 1/tilt
        rounded = 16.0 * UNIT_ROUNDOFF * (100.0 + releases) * np.exp(over) * np.maximum(1.0, 1.0 / (steps * tilts[:, None]))
        wide = releases * steps * steps * (fall + 1.0) / 4.2 + rounded / fall
        usable = closed[place] & (over < _DIGITS) & np.isfinite(periods) & (cuts * tilts[:, None] < _STEEP)
        cost = np.where(usable, wide, np.inf)
    best = np.unravel_index(int(np.argmin(cost)), cost.shape)
    least_wide, chosen = float(cost[best]), int(best[1])
    if not math.isfinite(least_wide):
        return None
    return Cut(
        loss=float(cuts[chosen]),
        tilt=float(tilts[best[0]]),
        period=float(periods[best]),
        epsilon=epsilon,
        rest=float(tilts[int(np.argmin(below - tilts * float(gaps[place, chosen])))]),
        step=float(steps[best]),
        wide=least_wide,
        delta=delta,
    )


class _Rough:
    """A law of few points that is roughly that of a loss: to search by."""

    def __init__(self, direction: LossDirection, tail: float) -> None:
        self.low, self.high = direction.reach(tail)
        near = np.geomspace(_NEAREST, 1.0, _PLACES)
        places = asfloat(np.concatenate((min(self.low, -1e-12) * near[::-1], max(self.high, 1e-12) * near)))
        with np.errstate(all="ignore"):
            survival = direction.profile(places)[0] + np.exp(np.minimum(places, _STEEP)) * direction.slope(places)
        survival = np.minimum.accumulate(np.clip(np.nan_to_num(survival), 0.0, 1.0))
        self.losses = np.concatenate((places[:1], 0.5 * (places[:-1] + places[1:]), places[-1:]))
        self.masses = np.concatenate(([1.0 - survival[0]], survival[:-1] - survival[1:], survival[-1:]))
        # the mean of e^-L is 1: losses below 0 are moved until it is
        gains, negative = float(self.masses @ np.maximum(-np.expm1(-self.losses), 0.0)), self.losses < 0.0
        for _ in range(_TURNS):
            lost = float(self.masses[negative] @ np.expm1(-self.losses[negative]))
            self.losses[negative] *= gains / lost if lost > 0.0 else 1.0

    def moments(self, tilts: Array, cuts: Array) -> tuple[Array, Array]:
        """ln E[e^(tilt L); L <= cut] at [tilt, cut], and the masses above the cuts under P and Q."""
        turned = -np.expm1(-self.losses)
        powers = np.multiply.outer(tilts, self.losses)
        # 1 - e^-L has the mean 0, so that it may be taken off: what is left is of second order
        curved = np.expm1(np.minimum(powers, 700.0)) - tilts[:, None] * turned
        summed = np.cumsum(np.where(self.masses > 0.0, np.where(powers < 700.0, curved, np.inf) * self.masses, 0.0), axis=1)
        index = np.searchsorted(self.losses, cuts, side="right") - 1
        tails = np.cumsum(self.masses[::-1])[::-1], np.cumsum((self.masses * np.exp(-self.losses))[::-1])[::-1]
        large = np.stack([np.append(tail, 0.0)[index + 1] for tail in tails])
        excess = summed[:, np.maximum(index, 0)] - large[0] - tilts[:, None] * (large[0] - large[1])
        return asfloat(np.log1p(np.maximum(excess, -1.0))), asfloat(large)
