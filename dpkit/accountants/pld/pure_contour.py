"""The route of one pure loss, however often: a contour over one period of its lattice, with the lattice's own kernel.

docs/proofs/pld.md, theorem 11.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dpkit.accountants.pld.moments import RealMoments, Terms, alias_bound, complex_log_moment
from dpkit.accountants.pld.where_bounds_hold import ErrorTerms, Reader, contour_holds, scaled
from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array, Complex, asfloat
from dpkit.privacy.loss_pairs import PureDirection
from dpkit.values import dataclass

_FALLEN = 50.0
"""By how much, in logarithms, moments have fallen at the last node."""

_MOST_NODES = 1 << 14


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _PureSum:
    """Nodes and log moments of `count` copies of a loss of +-`epsilon`, tilted, with bounds on their errors."""

    epsilon: float
    count: int
    nodes: Complex
    log_moments: Complex
    errors: Array
    period: float
    left_out: float

    def scaled_delta(self, at: float) -> tuple[float, float, float]:
        """(value, error, log_scale): delta plus aliases is value * e^log_scale, up to error * e^log_scale."""
        tilt = float(self.nodes[0].real)
        spacing = 2.0 * self.epsilon
        # the loss next above is (2n - count) epsilon; how far it is away is taken exactly, and rounded once
        loss, place = Fraction(self.epsilon), Fraction(at)
        index = math.floor((self.count + place / loss) / 2) + 1
        gap = float((2 * index - self.count) * loss - place)
        log_scale = float(self.log_moments[0].real) - tilt * at
        exponent = self.log_moments - self.nodes * at - log_scale
        kernel = _kernel(self.nodes, spacing, gap)
        terms = np.exp(exponent) * kernel
        terms[1:] *= 2.0
        share = spacing / self.period
        value = share * float(np.sum(terms.real))
        size = abs(at) * np.abs(self.nodes) + np.abs(self.log_moments) + abs(log_scale)
        blur = np.expm1(np.minimum(self.errors + 32.0 * UNIT_ROUNDOFF * (1.0 + size), 700.0)) + 64.0 * UNIT_ROUNDOFF
        on_axis = math.exp(float(self.errors[0]))
        whole = float(kernel[0].real)
        error = share * (float(np.sum(np.abs(terms) * blur)) + on_axis * self.left_out * whole * (1.0 + 1e-9))
        return value, error, log_scale


def _kernel(z: Complex, spacing: float, gap: float) -> Complex:
    """The sum of e^(-zu)(1 - e^-u) over u = gap, gap + spacing, ...: a quotient in which nothing cancels."""
    step = -np.expm1(-spacing * z)
    next_step = -np.expm1(-spacing * (z + 1.0))
    above = -math.expm1(-gap) + np.exp(-spacing * z) * math.exp(-gap) * -math.expm1(-(spacing - gap))
    return np.asarray(np.exp(-z * gap) * above / (step * next_step), dtype=np.complex128)


def pure_contour_reader(terms: Terms, moments: RealMoments, *, tilt: float, period: float, epsilon: float) -> Reader | None:
    """A reader for copies of one pure loss; None for anything else, and where rounding would be all that is left."""
    direction, count = terms[0]
    if len(terms) != 1 or not isinstance(direction, PureDirection) or not (math.isfinite(period) and tilt > 0.0):
        return None
    fall = direction.fall(tilt)
    rate = fall.rate * count * (1.0 - 1e-9)
    spacing = 2.0 * direction.epsilon
    points = math.ceil(period / spacing)
    if not (rate > 0.0 and math.isfinite(points)):
        return None
    period = points * spacing
    height = math.sqrt(_FALLEN / rate)
    size = math.ceil(height * period / (2.0 * math.pi)) + 1
    if size > _MOST_NODES or 2 * size >= points:
        return None
    nodes = np.asarray(tilt + 2.0j * math.pi / period * np.arange(size), dtype=np.complex128)
    found = complex_log_moment(terms, nodes)
    if found is None or not np.all(np.isfinite(found[0])) or not contour_holds(float(found[1][0])):
        return None
    # nodes beyond: 2 sum over m of e^(-rate y_m^2), at most the first and an integral
    reached = 2.0 * math.pi / period * size
    left_out = 2.0 * math.exp(-rate * reached * reached) * (1.0 + period / (2.0 * math.pi) / (2.0 * rate * reached))
    spent = _PureSum(
        epsilon=direction.epsilon,
        count=count,
        nodes=nodes,
        log_moments=found[0],
        errors=asfloat(found[1]),
        period=period,
        left_out=left_out,
    )

    def upper(at: float) -> tuple[float, ErrorTerms]:
        value, error, log_scale = spent.scaled_delta(at)
        bound = scaled(max(value, 0.0) + error, log_scale, size=tilt * abs(at))
        return bound, (("rounding and truncation", error / max(value, 1e-300)),)

    def lower(at: float) -> float:
        value, error, log_scale = spent.scaled_delta(at)
        alias = alias_bound(moments, tilt=tilt, epsilon=at, period=period)
        return scaled(value - error, log_scale, size=tilt * abs(at), up=False) - alias * (1.0 + 1e-9)

    note = f"{count} equal pure losses, {size} nodes"
    return Reader(upper=upper, lower=lower, route="contour", start=epsilon, tilt=tilt, note=note)
