"""What one call of a primitive loses between the values of two runs, if the primitive is what it says."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from dpkit.auditing.betting.profile import Point
from dpkit.auditing.recording.tape import Call
from dpkit.mechanisms.gaussian import GaussianEvent
from dpkit.mechanisms.laplace import LaplaceEvent
from dpkit.numerics.special import Array, asfloat
from dpkit.privacy.events import ApproxEvent, Event, PureEvent, ZCDPEvent

_TINY = 1e-9
_REACH, _CELLS = 40.0, 4_001
"""Deviations that intervals of noise reach, and how many there are."""


def distances(one: object, two: object) -> tuple[float, float, float]:
    """L1, L2 and largest distance of two values; infinite where their shapes or kinds differ, or where one alone is NaN."""
    try:
        first, second = np.asarray(one, dtype=np.float64), np.asarray(two, dtype=np.float64)
    except (TypeError, ValueError):
        same = one is two or bool(np.all(np.asarray(one == two)))
        return (0.0, 0.0, 0.0) if same else (math.inf, math.inf, math.inf)
    if first.shape != second.shape:
        return math.inf, math.inf, math.inf
    with np.errstate(invalid="ignore"):
        gap = np.where((first == second) | (np.isnan(first) & np.isnan(second)), 0.0, np.abs(first - second))
    gap = np.where(np.isnan(gap), math.inf, gap)
    if gap.size == 0:
        return 0.0, 0.0, 0.0
    return float(gap.sum()), float(np.sqrt((gap * gap).sum())) if np.isfinite(gap).all() else math.inf, float(gap.max())


def noise_parts(call: Call) -> list[tuple[object, object, float]]:
    """By part of a draw, the value of either run that it was added to, and the factor of the noise; None where it was not.

    Each answer once: the same draw that is added to the same value again is no other answer.
    """
    first = call.value if isinstance(call.value, dict) else {}
    second = call.other_value if isinstance(call.other_value, dict) else {}
    found: dict[str, tuple[object, object, float]] = {}
    for key in {**first, **second}:
        one, factor = first.get(key, (None, 1.0))
        two, other = second.get(key, (None, factor))
        found.setdefault(repr((key[0], one, two, factor, other)), (one, two, min(abs(factor), abs(other))))
    return list(found.values())


def moved(call: Call) -> float:
    """How far the inputs of a call are apart, by the largest entry."""
    if call.family in ("laplace", "gaussian", "gumbel"):
        return max((distances(one, two)[2] for one, two, _ in noise_parts(call)), default=0.0)
    return distances(call.value, call.other_value)[2] if call.family != "coins" else 0.0


def loss_of(call: Call) -> list[Event] | None:
    """What the answer tells about which run it was: events that dpkit prices; None where that has no limit."""
    if call.family == "choice":
        first, second = np.asarray(call.value, dtype=np.float64), np.asarray(call.other_value, dtype=np.float64)
        if first.shape != second.shape or bool(((first > 0) != (second > 0)).any()):
            return None
        both = first > 0
        worst = float(np.max(np.abs(np.log(first[both] / second[both])))) if both.any() else 0.0
        return [PureEvent(epsilon=worst)] if worst > _TINY else []
    if call.family == "coins":
        return []
    if call.family == "priced":
        return _declared(call)
    events: list[Event] = []
    scale = _number(call.parameters.get("scale"), 1.0)
    for one, two, factor in noise_parts(call) if isinstance(call.value, dict) else [(call.value, call.other_value, 1.0)]:
        l1, l2, largest = distances(one, two)
        spread = scale * factor
        if l1 <= _TINY:
            continue
        if not math.isfinite(l1) or spread <= 0.0:
            return None
        elif call.family == "laplace":
            events.append(LaplaceEvent(ratio=l1 / spread))
        elif call.family == "gaussian":
            events.append(GaussianEvent(ratio=l2 / spread))
        else:
            events.append(PureEvent(epsilon=2.0 * largest / spread))
    return events


def spread_breaks(call: Call, point: Point) -> bool:
    """Whether noise with one scale in one run and another in the other breaks a claim by itself.

    Of a number with Laplace or Gaussian noise. P(S) - e^epsilon Q(S) is a lower end of delta for every set S; here it is that
    of the intervals of a grid that are likelier than the claim allows. False where nothing is known.
    """
    tail = {"laplace": _laplace_tail, "gaussian": _gaussian_tail}.get(call.family)
    scales = [_number((found or {}).get("scale"), 0.0) for found in (call.parameters, call.other_parameters)]
    if tail is None or min(scales) <= 0.0 or not isinstance(call.value, dict):
        return False
    for one, two, factor in noise_parts(call):
        centres = np.ravel(np.asarray([np.ravel(np.asarray(at, dtype=np.float64)) for at in (one, two)], dtype=np.float64))
        if centres.size != 2 or not np.isfinite(centres).all() or factor == 0.0:
            continue
        spreads = np.array(scales) * factor
        grid = np.linspace(-_REACH, _REACH, _CELLS)
        ends = np.sort(np.concatenate([[-np.inf, np.inf], *(at + grid * max(spreads) for at in centres)]))
        first, second = (_masses(tail, (ends - at) / spread) for at, spread in zip(centres, spreads, strict=True))
        for p, q in ((first, second), (second, first)):
            if float(np.maximum(p - point.ratio * q, 0.0).sum()) > point.delta * (1.0 + 1e-6) + 1e-12:
                return True
    return False


def _masses(tail: Callable[[Array], Array], ends: Array) -> Array:
    """The probabilities between neighbouring ends, by the tail on whose side they lie."""
    above, below = tail(ends), tail(-ends)
    return np.where(ends[:-1] >= 0.0, above[:-1] - above[1:], below[1:] - below[:-1])


def _laplace_tail(at: Array) -> Array:
    """P(X >= at) for Laplace noise of scale 1."""
    return np.where(at >= 0.0, 0.5 * np.exp(-np.abs(at)), 1.0 - 0.5 * np.exp(-np.abs(at)))


def _gaussian_tail(at: Array) -> Array:
    """P(X >= at) for Gaussian noise of scale 1."""
    from scipy.special import ndtr

    return asfloat(ndtr(-at))


def _declared(call: Call) -> list[Event] | None:
    """By its own map where it has one, else in proportion to the declared sensitivity."""
    l1, _, _ = distances(call.value, call.other_value)
    if call.price is not None:
        if _alike(call.value, call.other_value):
            return []
        return _event_of(call.price(call.value, call.other_value), repr(call.parameters))
    if l1 <= _TINY:
        return []
    epsilon, sensitivity = _number(call.parameters.get("epsilon"), 0.0), call.parameters.get("sensitivity")
    apart = distances(call.value, call.other_value)[2] if call.by_largest else l1
    share = apart / _number(sensitivity, 1.0) if sensitivity else 1.0
    delta = _number(call.parameters.get("delta"), 0.0)
    if not math.isfinite(l1) and sensitivity:
        return None
    cost = epsilon * (share if math.isfinite(share) else 1.0)
    if delta:
        return [ApproxEvent(epsilon=cost, delta=delta)]
    return [PureEvent(epsilon=cost)] if cost > 0.0 else []


def _event_of(price: Any, said: str) -> list[Event] | None:
    if not np.all(np.isfinite(np.asarray(price, dtype=np.float64))):
        return None
    if isinstance(price, tuple):
        return [ApproxEvent(epsilon=float(price[0]), delta=float(price[1]))]
    number = float(price)
    if number <= _TINY:
        return []
    return [ZCDPEvent(rho=number)] if "ZeroConcentrated" in said else [PureEvent(epsilon=number)]


def opendp_distance(measurement: Any, one: object, two: object) -> Any:
    """The distance of two inputs by the metric of a measurement: rows, or an absolute distance."""
    metric = str(measurement.input_metric)
    if "Symmetric" in metric or "InsertDelete" in metric or "ChangeOne" in metric or "Hamming" in metric:
        first, second = (Counter(repr(row) for row in value) for value in (one, two))  # type: ignore[attr-defined]
        rows = sum((first - second).values()) + sum((second - first).values())
        return rows if "ChangeOne" not in metric and "Hamming" not in metric else -(-rows // 2)
    l1, l2, largest = distances(one, two)
    found = l2 if "L2" in metric else largest if "LInf" in metric else l1
    whole = all(np.asarray(value).dtype.kind in "iu" for value in (one, two))
    return int(found) if whole and math.isfinite(found) else found


def _alike(one: object, two: object) -> bool:
    return repr(one) == repr(two) or distances(one, two)[0] == 0.0


def _number(value: object, default: float) -> float:
    return float(value) if isinstance(value, int | float | np.number) else default
