"""Moments of the likelihood ratio of a Poisson sample under Gaussian noise, at complex powers, with bounds on their errors.

r(w) = 1 - q + q e^(m w - m^2/2) under w ~ N(0,1): E[r^s] by the trapezoid rule, and how its modulus falls with Im s.
docs/proofs/subsampled-gaussian.md has the theorems.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpkit.numerics.rounding import UNIT_ROUNDOFF
from dpkit.numerics.special import Array, Complex, asfloat, expm1_minus, log1p_minus, log1p_near, log_sum_exp
from dpkit.values import dataclass

_MOST_NODES = 8192
"""Nodes of one quadrature."""

_PATIENT = 4
"""How many times as many nodes, and as much work, are allowed where nothing else is near."""

_MOST_WORK = 20_000_000
"""Nodes times powers."""

_ROW = 32
"""The shorter side of a product of matrices."""

_STEEP = 600.0
"""Exponents above it are not raised: such a moment is not given."""

_STRIPS = np.array([0.1, 0.25, 0.5, 0.9])
"""Shares of pi/m that are tried as half the strip in which the integrand is continued; to negative powers up to a half."""

_UNKNOWN = math.log(3.0)
"""The error of a logarithm whose number is only known to be in a disc around 0."""

_CELLS = 100
"""Cells that bound an integral along the edge of a strip."""

_PLENTY = 1500
"""More nodes than this are worth a look at a path that is bent where the integrand is small."""

_BENT_STEPS = 0.85 ** np.arange(48)
"""Steps that are tried for such a path, as parts of the largest one."""

_SPARE_DIGITS = 6.0
"""How much farther than a harmless error, in logarithms, truncation and discretisation go."""

_ROUGH_NODES = 3000
"""Nodes beyond which a rough moment is not cheaper than one that is certified."""

_MOSTLY = 8.0
"""The logarithm of a ratio beside which 1 does not matter, roughly."""

_LEVELS = np.concatenate((np.geomspace(1e-24, 1.0 / 12.0, 47)[:-1], np.arange(1, 13) / 12.0))
"""Parts of its peak at which a density is cut into uniform laws: low ones hold large losses, which are rare."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Nodes:
    """What a sum over nodes w needs that does not depend on Im s, for one Re s = `power`."""

    logs: Array  # ln r
    odd: Array  # weight * (r^p - 1)
    whole: Array  # weight * r^p
    weight: Array
    flat: float  # sum of weight * [r^p - 1 - p ln r + p(ln r - (r - 1))]
    slack: float  # sum of weight * (ln r - (r - 1))
    noise: tuple[float, float, float]  # rounding: constant, times |y|, times y^2
    edges: float  # truncation and discretisation


def sampled_log_moment(
    rate: float, ratio: float, power: float, heights: Array, *, error: float = 0.0, patient: bool = False
) -> tuple[Complex, Array] | None:
    """ln E[r^(power + iy)] at these y >= 0, and bounds on the absolute errors; None where it would take too many nodes.

    An absolute `error` that does no harm asks for fewer nodes, and lets equally spaced heights be summed as a product of
    matrices.
    """
    top = float(np.max(heights, initial=0.0))
    times = _PATIENT if patient else 1
    known = quadrature_nodes(rate, ratio, power, top, error, _MOST_NODES * times)
    if known is None or known.logs.size * heights.size > _MOST_WORK * times:
        return None
    plain = 4.0 * UNIT_ROUNDOFF * (known.logs.size + 16.0) * float(np.sum(known.whole))
    evenly = heights.size > 2 * _ROW and np.array_equal(heights, heights[1] * np.arange(heights.size))
    if evenly and plain < error:
        excess, blur = _product_excess(known, heights), plain
    else:
        excess, blur = _excess(known, heights), 0.0
    constant, linear, square = known.noise
    bound = constant + heights * (linear + heights * square) + known.edges + blur
    small = np.abs(excess) < 0.5
    near = log1p_near(np.where(small, excess, 0.0))
    modulus = np.abs(1.0 + excess)
    far = np.log(np.where(small, 1.0, 1.0 + excess))
    relative = (bound + 4.0 * UNIT_ROUNDOFF * np.abs(excess)) / np.maximum(modulus - bound, 1e-300)
    clear = relative < 0.5
    off = np.where(clear, -np.log1p(-np.minimum(relative, 0.5)), _UNKNOWN)
    # where rounding is as large as the moment, it is somewhere in a disc; its edge is said, from which no point is farther than
    # e^_UNKNOWN - 1 times the radius
    with np.errstate(divide="ignore"):
        edge = np.log((modulus + bound) * (1.0 + 1e-9))
    value = np.where(clear, np.where(small, near, far), edge)
    return value, asfloat(off + 64.0 * UNIT_ROUNDOFF * np.minimum(np.abs(excess), 1.0 + np.abs(far)))


def _product_excess(known: _Nodes, heights: Array) -> Complex:
    """E[r^s] - 1 at equally spaced heights: e^(iy ln r) is a product of two short tables."""
    fine = _turned(np.multiply.outer(heights[:_ROW], known.logs))
    coarse = _turned(np.multiply.outer(heights[::_ROW], known.logs)) * known.whole
    whole = np.einsum("aw,bw->ab", coarse, fine).reshape(-1)[: heights.size] - 1.0  # BLAS would start threads
    # Re s = power at height 0 without cancellation, so that the rest is relative to it
    return np.asarray(whole - (float(np.sum(known.whole)) - 1.0) + known.flat, dtype=np.complex128)


def _turned(angles: Array) -> Complex:
    """e^(i angle), by two functions of real numbers, which are faster."""
    found = np.empty(angles.shape, dtype=np.complex128)
    np.cos(angles, out=found.real)
    np.sin(angles, out=found.imag)
    return found


def _excess(known: _Nodes, heights: Array) -> Complex:
    """E[r^s] - 1, in which nothing cancels but what must."""
    real, imaginary = np.empty(heights.size), np.empty(heights.size)
    rows = max(1, (1 << 16) // known.logs.size)
    for start in range(0, heights.size, rows):
        block = slice(start, start + rows)
        halves = np.multiply.outer(0.5 * heights[block], known.logs)
        sines = np.sin(halves)
        turn = 2.0 * sines * np.cos(halves)  # sin y ln r
        real[block] = known.flat - 2.0 * (sines * sines) @ known.whole
        imaginary[block] = turn @ known.odd + _sine_less(2.0 * halves, turn) @ known.weight + heights[block] * known.slack
    return np.asarray(real + 1j * imaginary, dtype=np.complex128)


def _sine_less(angles: Array, sines: Array) -> Array:
    """sin b - b without cancellation, given both."""
    square = angles * angles
    series = 1.0 / 5040.0 - square * (1.0 / 362880.0 - square * (1.0 / 39916800.0 - square / 6227020800.0))
    series = square * (1.0 / 6.0 - square * (1.0 / 120.0 - square * series))
    return asfloat(np.where(square < 0.25, -angles * series, sines - angles))


@lru_cache(maxsize=256)
def quadrature_nodes(
    rate: float, ratio: float, power: float, top: float, error: float = 0.0, most: int = _MOST_NODES
) -> _Nodes | None:
    """Nodes that serve every |Im s| <= top; fewer where some absolute error does no harm."""
    size = abs(power) + top
    digits = 44.0 - 2.0 * math.log(rate) - 2.0 * min(0.0, math.log(ratio)) + math.log1p(size)
    if error > 0.0 and top > 0.0:  # on the axis one set of nodes serves everybody
        digits = min(digits, _SPARE_DIGITS - math.log(error) + math.log1p(size))
    floor = max(0.0, power * math.log1p(-rate))  # ln of the largest r^p for p < 0
    low = -math.sqrt(2.0 * (digits + floor))
    high = max(power, 1.0) * ratio + math.sqrt(2.0 * digits)
    step, missed = _best_step(rate, ratio, power, top, digits)
    if not (high - low) / step <= _PLENTY:
        high = min(high, _far_end(rate, ratio, power, digits))
        step = max(step, _bent_step(rate, ratio, power, top, digits))
    elif power * math.log1p(rate * math.expm1(min(ratio * high - 0.5 * ratio * ratio, _STEEP))) > _STEEP:
        high = min(high, _far_end(rate, ratio, power, digits))  # beyond, powers would overflow that count for nothing
    if not (high - low) / step <= most:
        return None
    places = low + step * np.arange(math.ceil((high - low) / step) + 1)
    tilt = ratio * places - 0.5 * ratio * ratio
    if float(tilt[-1]) > _STEEP:
        return None
    growth = rate * np.expm1(tilt)
    logs = np.log1p(growth)
    rise = power * logs
    log_weight = -0.5 * places * places + math.log(step / math.sqrt(2.0 * math.pi))
    if float(np.max(rise + log_weight)) > _STEEP or float(np.max(rise)) > _STEEP:
        return None
    weight = np.exp(log_weight)
    whole, odd = np.exp(log_weight + rise), weight * np.expm1(rise)
    curve = np.where(rise < 1.0, weight * expm1_minus(np.minimum(rise, 1.0)), whole - weight * (1.0 + rise))
    less = weight * log1p_minus(growth)
    slack = float(np.sum(less))
    # what each piece may be off by, relatively: its exponents carry units of their own size
    relative = UNIT_ROUNDOFF * (32.0 + 4.0 * (places * places + np.abs(rise)))
    # and ln r moves by this much, absolutely
    steep = rate * np.exp(tilt - logs) * (np.abs(ratio * places) + ratio * ratio) + np.abs(growth) * np.exp(-logs)
    moved = UNIT_ROUNDOFF * 8.0 * (np.abs(logs) + steep)
    bends = np.abs(odd) + weight * np.abs(growth)
    summing = UNIT_ROUNDOFF * (16.0 + 2.0 * math.log2(places.size) ** 2)
    relative, squares = relative + summing, logs * logs
    # d/dl [e^(sl) - 1 - s(e^l - 1)] = s(e^(sl) - e^l), at most |s|(|e^(pl) - 1| + e^(pl)|yl| + |e^l - 1|)
    constant = float(relative @ (np.abs(curve) + abs(power) * np.abs(less)) + abs(power) * (moved @ bends))
    linear = float(
        relative @ (np.abs(odd * logs) + np.abs(less)) + moved @ bends + abs(power) * (moved @ (whole * np.abs(logs)))
    )
    square = float(relative @ ((whole + weight) * squares) + moved @ (whole * np.abs(logs)))
    # beyond the ends: at most 1 + r^p + |s|(1 + r), integrated
    beyond = 2.0 * math.exp(-0.5 * low * low) * (1.0 + math.exp(min(floor, _STEEP)) + 2.0 * size)
    past = _past(rate, ratio, power, size, float(places[-1]))
    return _Nodes(
        logs=logs,
        odd=odd,
        whole=whole,
        weight=weight,
        flat=float(np.sum(curve)) + power * slack,
        slack=slack,
        noise=(2.0 * constant, 2.0 * linear, 2.0 * square),
        edges=missed + beyond + past,
    )


def _past(rate: float, ratio: float, power: float, size: float, end: float) -> float:
    """What nodes beyond this one add at most: 1 + r^p + size (1 + r), by the smaller of two bounds on r^p there."""
    plain = _tail(end) * (1.0 + 2.0 * size) + size * rate * _tail(end - ratio)
    if power <= 0.0:
        return 2.0 * (plain + _tail(end))
    peak = power * ratio
    # a sum of two humps, each of which is at most the integral beyond and one term at its top
    hump = math.exp(min(_STEEP, max(-745.0, _log_hump(rate, ratio, power))))
    spread = math.exp(min(_STEEP, (max(power, 1.0) - 1.0) * math.log(2.0)))
    both = spread * (_tail(end) + hump * _tail(end - peak))
    if end > peak:
        growth = rate * math.expm1(ratio * end - 0.5 * ratio * ratio)
        steep = math.exp(max(-745.0, min(_STEEP, power * math.log1p(growth) - 0.5 * end * end)))
        both = min(both, steep / (end - peak))
    return 2.0 * (plain + both)


def _tail(end: float) -> float:
    """A bound on the sum over nodes beyond `end` of a normal density, in steps of at most 1."""
    return 1.5 if end < 0.0 else math.exp(max(-745.0, -0.5 * end * end))


def _log_hump(rate: float, ratio: float, power: float) -> float:
    """ln of q^p E[e^(p (m w - m^2/2))]: what r^p adds where a sampled record is most of r."""
    return power * math.log(rate) + 0.5 * power * (power - 1.0) * ratio * ratio


def _far_end(rate: float, ratio: float, power: float, digits: float) -> float:
    """Where the sum may end: r^p <= 2^(p-1) (1 + (q e^(m w - m^2/2))^p), and the second hump may be too small to matter."""
    spread = (max(power, 1.0) - 1.0) * math.log(2.0)
    end = max(math.sqrt(2.0 * (digits + spread)), ratio + math.sqrt(2.0 * max(0.0, digits + math.log(rate))))
    hump = _log_hump(rate, ratio, power) + spread if power > 0.0 else -math.inf
    return max(end, power * ratio + math.sqrt(2.0 * (digits + hump))) if digits + hump > 0.0 else end


def _bent_step(rate: float, ratio: float, power: float, top: float, digits: float) -> float:
    """The largest step found for a path above the real axis that is far away where arguments are small, near where moduli are.

    docs/proofs/subsampled-gaussian.md: with h the step, the error is at most twice the integral of |integrand| e^(-2 pi c/h) /
    (1 - e^(-2 pi c/h)) over a path of height c; in each cell c is the highest one, or h / (2 pi). 0 where none is found.
    """
    goal = digits + math.log(16.0)
    size = abs(power) + top
    largest = min(1.0, math.pi * math.sqrt(2.0 / (goal + math.log1p(2.0 * size))))  # of 1 and s(r - 1), which are entire
    highest = 0.25 * math.pi / ratio
    low = -math.sqrt(2.0 * (goal + max(0.0, power * math.log1p(-rate)) + 0.5 * highest * highest + 10.0))
    hump = max(0.0, _log_hump(rate, ratio, power)) if power > 0.0 else 0.0

    def holds(step: float) -> bool:
        lift = top * ratio * step / (2.0 * math.pi)
        high = max(power, 1.0) * ratio + math.sqrt(2.0 * (goal + lift + hump + 2.0 * max(power, 1.0) + 10.0))
        places = asfloat(low + (high - low) / (2 * _CELLS) * np.arange(2 * _CELLS + 1))
        return step < 2.0 * math.pi * highest and _bent_error(rate, ratio, power, top, step, places, highest) < -goal

    coarse, fine = -1, _BENT_STEPS.size  # too coarse, and fine enough or none
    while fine - coarse > 1:
        middle = (coarse + fine) // 2
        coarse, fine = (coarse, middle) if holds(largest * float(_BENT_STEPS[middle])) else (middle, fine)
    return largest * float(_BENT_STEPS[fine]) if fine < _BENT_STEPS.size else 0.0


def _bent_error(rate: float, ratio: float, power: float, top: float, step: float, places: Array, highest: float) -> float:
    """ln of the bound for r^s on a path that is bent at the ends of cells, of which the last ones go on for ever."""
    nearest = 0.5 * step / math.pi
    keep = 1.0 - rate
    with np.errstate(over="ignore"):
        odds = rate * np.exp(np.minimum(ratio * places - 0.5 * ratio * ratio, _STEEP))
    # arg(1 - q + odds e^(i m c)) is concave in c while odds are below 1 - q, and always at most m c
    turned = top * ratio * np.where(odds <= keep, odds / (keep + odds), 1.0)
    grown = power * np.log(keep + (odds if power >= 0.0 else 0.7 * odds))  # cos(m c) > 0.7
    left, right = slice(None, -1), slice(1, None)
    # the ends of each cell at which the factors are larger: arguments rise
    centre = np.where(places[left] * places[right] <= 0.0, 0.0, np.minimum(np.abs(places[left]), np.abs(places[right])))
    size = -0.5 * centre * centre + np.maximum(grown[left], grown[right])
    slope = turned[right] - 2.0 * math.pi / step
    up = np.minimum(highest, np.maximum(nearest, -slope))
    heights = np.where(0.5 * up * up + slope * up < 0.5 * nearest * nearest + slope * nearest, up, nearest)
    heights[-1] = nearest  # and on, to the right
    across = size + 0.5 * heights * heights + slope * heights + math.log((places[-1] - places[0]) / (places.size - 1))
    # where the path changes its height: the exponent is convex in c, so an end of the change is the worst
    slopes, before, after = slope[left], heights[left], heights[right]
    worst = np.maximum(0.5 * before * before + slopes * before, 0.5 * after * after + slopes * after)
    change = np.abs(after - before)
    along = -0.5 * places[1:-1] ** 2 + grown[1:-1] + worst + np.log(np.maximum(change, 1e-300))
    # beyond both ends: the normal tail at most, times the growth bounded as in `_past`
    outer = -0.5 * places[0] ** 2 + max(0.0, power * math.log(keep)) + 0.5 * highest * highest + max(0.0, slope[0]) * highest
    far = max(power, 1.0) * ratio
    beyond = (max(power, 1.0) - 1.0) * math.log(2.0) + top * ratio * nearest
    hump = max(0.0, _log_hump(rate, ratio, power)) if power > 0.0 else 0.0
    outer = max(outer, beyond + hump + 0.5 * nearest * nearest - 0.5 * (places[-1] - far) ** 2)
    return float(np.logaddexp(log_sum_exp(np.concatenate((across, along))[None, :])[0], outer)) + math.log(4.0)


def _best_step(rate: float, ratio: float, power: float, top: float, digits: float) -> tuple[float, float]:
    """The largest step found whose discretisation error is at most e^-digits, and that error."""
    strips = np.minimum(_STRIPS * math.pi / ratio, math.sqrt(2.0 * digits))
    usable = strips if power >= 0.0 else strips[:-1]
    edges = _log_edges(rate, ratio, power, top, usable)
    return float(np.max(2.0 * math.pi * usable / (digits + edges + math.log(4.0)), initial=0.0)), math.exp(-digits)


def _log_edges(rate: float, ratio: float, power: float, top: float, strips: Array) -> Array:
    """ln of a bound on the integral of |integrand| along Im w = +-strip: right or left ends of cells, where it is larger."""
    angles = ratio * strips
    far = np.sqrt(2.0 * (top * angles + 40.0))
    low = -math.sqrt(2.0 * (40.0 + max(0.0, power * math.log1p(-rate))))
    lengths = (max(power, 1.0) * ratio + far - low) / _CELLS
    cells = low + np.multiply.outer(lengths, np.arange(_CELLS + 1))
    left, right = cells[:, :-1], cells[:, 1:]
    nearest = np.where(left * right <= 0.0, 0.0, np.minimum(np.abs(left), np.abs(right)))
    with np.errstate(over="ignore"):
        odds = rate * np.exp(np.minimum(ratio * cells - 0.5 * ratio * ratio, _STEEP))
    sines, cosines = np.sin(angles)[:, None], np.cos(angles)[:, None]
    turned = np.arctan2(odds[:, 1:] * sines, 1.0 - rate + odds[:, 1:] * cosines)
    if power >= 0.0:
        size = power * np.log(1.0 - rate + odds[:, 1:])
    else:
        size = power * np.log(1.0 - rate + odds[:, :-1] * np.maximum(0.0, cosines))
    logs = -0.5 * nearest * nearest + size + top * turned + np.log(lengths)[:, None]
    # below the lowest cell r^p is at most what it is there, or e^40; above the highest less than 1 or than the sum is left;
    # 1 and s(r - 1) have the integrals 1 and at most 2|s|
    beyond = np.maximum(top * turned[:, 0] - 40.0, 0.0)
    rest = math.log(8.0 + 2.0 * (abs(power) + top))
    return asfloat(0.5 * strips * strips + np.maximum(log_sum_exp(logs), beyond) + rest)


def rough_log_moment(rate: float, ratio: float, powers: Array) -> Array | None:
    """ln E[r^power] at these powers up to a percent or so, without any bound on its error; None where it takes long."""
    # r is hardly more than its larger part where a moment of a power beyond `last` lies
    last = (_MOSTLY - math.log(rate)) / (ratio * ratio) + 0.5
    with np.errstate(over="ignore"):
        closed = np.logaddexp(0.0, powers * (math.log(rate) + 0.5 * (powers - 1.0) * ratio * ratio))
    some = (powers < last) | (closed < _MOSTLY)  # where the larger part is rare, too, the rest is all of the moment
    if not np.any(some):
        return asfloat(closed)
    near = powers[some]
    low, high, step = (
        -7.0 if float(np.min(near)) > 0.0 else -16.0,
        max(float(np.max(near)), 1.0) * ratio + 7.0,
        min(0.7, 0.7 / ratio),
    )
    if not high - low < step * _ROUGH_NODES:
        return None
    places = np.arange(low, high, step)
    growth = rate * np.expm1(ratio * places - 0.5 * ratio * ratio)
    log_weight = -0.5 * places * places + math.log(step / math.sqrt(2.0 * math.pi))
    rises = np.multiply.outer(near, np.log1p(growth))
    top = np.maximum(np.max(log_weight + rises, axis=1, keepdims=True), 0.0)
    # E[r] = 1, so that powers of r - 1 may be taken off; where r^power is large they do not matter
    parts = np.exp(log_weight - top) * (np.expm1(np.minimum(rises, _STEEP)) - np.multiply.outer(near, growth))
    found = np.maximum(np.sum(np.where(rises < _STEEP, parts, np.exp(log_weight + rises - top)), axis=1), 1e-300)
    closed[some] = np.where(top[:, 0] > 0.0, top[:, 0] + np.log(found + np.exp(-top[:, 0])), np.log1p(found))
    return asfloat(closed)


@lru_cache(maxsize=256)
def uniform_parts(rate: float, ratio: float, power: float) -> tuple[Array, Array] | None:
    """(masses, lengths) of uniform laws that are, together, below the law of ln r under w ~ phi r^p / E[r^p]."""
    known = sampled_log_moment(rate, ratio, power, np.zeros(1)) if ratio * (18.0 + abs(power) * ratio) < _STEEP else None
    if known is None or float(known[1][0]) >= 0.5:
        return None
    log_moment = float(known[0][0].real + known[1][0])
    span = max(power, 0.0) * ratio + 18.0
    step = min(0.05, 0.3 / (ratio * math.sqrt(1.0 + abs(power))))
    size = min(20_000, math.ceil(span / step))
    step = span / size
    places = -9.0 + step * np.arange(size + 1)
    tilt = np.minimum(ratio * places - 0.5 * ratio * ratio, _STEEP)
    logs = np.log1p(rate * np.expm1(tilt))
    # the density of ln r, with d ln r / dw = m q e^tilt / r; between two places it falls below both by at most K step^2/8
    log_density = -0.5 * places * places + power * logs - (math.log(ratio * rate) + tilt - logs)
    bend = (abs(power) + 1.0) * ratio * ratio / 4.0 * step * step / 8.0
    lowest = np.minimum(log_density[:-1], log_density[1:]) - bend - log_moment - 0.5 * math.log(2.0 * math.pi)
    density = np.exp(np.minimum(lowest, _STEEP)) * (1.0 - 1e-9)
    peak = int(np.argmax(density))
    heights = float(density[peak]) * _LEVELS
    under = density < heights[:, None]
    before, after = under[:, peak::-1], under[:, peak:]
    left = np.where(np.any(before, axis=1), peak - np.argmax(before, axis=1) + 1, 0)
    right = np.where(np.any(after, axis=1), peak + np.argmax(after, axis=1), density.size)
    lengths = np.where(right > left, np.maximum(0.0, (logs[right] - logs[left]) * (1.0 - 1e-9)), 0.0)
    masses = np.diff(heights, prepend=0.0) * lengths
    return (asfloat(masses), asfloat(lengths)) if math.fsum(masses.tolist()) <= 1.0 + 1e-6 else None


def sampled_decay(rate: float, ratio: float, power: float, height: float) -> float:
    """ln of a bound on |E r^(power + iy)| / E r^power over all |y| >= height: of uniform parts, |sin x / x| is left."""
    parts = uniform_parts(rate, ratio, power)
    if parts is None:
        return 0.0
    masses, lengths = parts
    halves = 0.5 * height * lengths
    left = np.where(halves < 2.0, np.exp(-(np.minimum(halves, 2.0) ** 2) / 6.0), 1.0 / np.maximum(halves, 2.0))
    return math.log1p(-min(1.0 - 1e-12, float(np.sum(masses * (1.0 - left))) * (1.0 - 1e-9)))
