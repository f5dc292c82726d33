"""Events whose worst case is known: the delta at each epsilon that some mechanism and neighbours reach."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from dpkit.mechanisms.gaussian import GaussianEvent
from dpkit.mechanisms.laplace import LaplaceEvent
from dpkit.privacy.events import ApproxEvent, Compose, Event, Parallel, PureEvent, Repeat, Subsample, ZCDPEvent
from dpkit.privacy.gaussian_dp import gaussian_delta
from dpkit.privacy.neighbours import Neighbours

Truth = tuple[Event, Callable[[float], float], Neighbours]
"""An event, the delta at each epsilon that some pair reaches, and under which relation."""

RATES = (0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
TIMES = (2, 30)
_REACH, _STEP = 14.0, 1.0 / 256.0
"""Nodes of the profile: what lies beyond the reach is below 1e-42, the kink costs a relative 1e-3 at the very most."""


def known_truths() -> Iterator[Truth]:
    """Events that state a loss, with a pair that attains it; repeated, on disjoint records, and on samples."""
    for relation in Neighbours:
        for size in (0.01, 0.3, 2.0):
            for event, truth in _plain(size):
                yield Repeat(event=event, times=1), truth, relation
                for rate in RATES:
                    yield Subsample(rate=rate, event=event), _sampled(size, rate, event, truth, relation), relation
        for size in (0.01, 0.3, 2.0, 8.0, 20.0):
            for event, truth in _plain(size):
                yield event, truth, relation
                # a record of the one part, which no other part hides
                for others in ((), (event,), (PureEvent(epsilon=0.1),)):
                    yield Parallel(events=(event, *others)), truth, relation
                for times in TIMES:
                    whole = _several(size, times, event, truth)
                    yield Repeat(event=event, times=times), whole, relation
                    yield Compose(events=(event,) * times), whole, relation


def _plain(size: float) -> Iterator[tuple[Event, Callable[[float], float]]]:
    yield PureEvent(epsilon=size), partial(_response, size)
    yield ZCDPEvent(rho=size * size / 2), partial(_gaussian, size)
    yield GaussianEvent(ratio=size), partial(_gaussian, size)
    yield LaplaceEvent(ratio=size), partial(_laplace, size)
    for delta in (1e-6, 1e-2):
        yield ApproxEvent(epsilon=size, delta=delta), partial(_told_or_response, size, delta)


def _several(size: float, times: int, event: Event, truth: Callable[[float], float]) -> Callable[[float], float]:
    """The event several times over, on the same records; of those without a formula, once."""
    if isinstance(event, GaussianEvent | ZCDPEvent):
        return partial(_gaussian, size * math.sqrt(times))
    if isinstance(event, PureEvent):
        return partial(_responses, size, times)
    return truth


def _responses(size: float, times: int, epsilon: float) -> float:
    """delta(epsilon) of k randomised responses: if j give the likelier answer, the loss is (2 j - k) times the size."""
    high, low = 1.0 / (1.0 + math.exp(-size)), 1.0 / (1.0 + math.exp(size))
    return sum(
        math.comb(times, hits) * high**hits * low ** (times - hits) * max(0.0, -math.expm1(epsilon - size * (2 * hits - times)))
        for hits in range(times + 1)
    )


def _sampled(
    size: float, rate: float, event: Event, truth: Callable[[float], float], relation: Neighbours
) -> Callable[[float], float]:
    """A worst case on a Poisson sample.

    Under replace-one, what comes out of samples without the record may have nothing in common with the rest, so that nothing
    hides whose record it is: the delta is the rate times that of the event. Under add-remove a record that is not sampled is
    one that is absent.
    """
    if rate == 1.0:
        return truth
    if relation is Neighbours.REPLACE_ONE:
        return lambda epsilon: rate * truth(epsilon)
    if isinstance(event, GaussianEvent):
        return lambda epsilon: max(sampled_gaussian_deltas(rate, size, epsilon=epsilon))
    if isinstance(event, PureEvent):
        return partial(_sampled_response, size, rate)
    if isinstance(event, LaplaceEvent):
        return partial(_sampled_laplace, size, rate)
    return lambda epsilon: 0.0


def _response(size: float, epsilon: float) -> float:
    """delta(epsilon) of a randomised response with loss `size`."""
    return max(0.0, (math.exp(size) - math.exp(epsilon)) / (1.0 + math.exp(size)))


def _sampled_response(size: float, rate: float, epsilon: float) -> float:
    """With probability `rate` the response of the record, else that of nobody; the worse direction."""
    high, low = math.exp(size) / (1.0 + math.exp(size)), 1.0 / (1.0 + math.exp(size))
    mixed = (rate * high + (1.0 - rate) * low, rate * low + (1.0 - rate) * high)
    absent = (low, high)
    grown = math.exp(epsilon)
    return max(
        sum(max(0.0, p - grown * q) for p, q in zip(one, other, strict=True))
        for one, other in ((mixed, absent), (absent, mixed))
    )


def _told_or_response(size: float, delta: float, epsilon: float) -> float:
    """With probability delta everything is told; otherwise a randomised response."""
    return delta + (1.0 - delta) * _response(size, epsilon)


def _gaussian(size: float, epsilon: float) -> float:
    return gaussian_delta(size * (1.0 - 1e-9), epsilon=epsilon)


def _laplace(size: float, epsilon: float) -> float:
    """delta(epsilon) of Laplace noise at a distance of `size` scales."""
    return max(0.0, -math.expm1((epsilon - size) / 2.0))


def _sampled_laplace(size: float, rate: float, epsilon: float) -> float:
    """By sums over a fine line, the worse direction; the mass beyond it is left out."""
    line = np.linspace(-30.0, 30.0 + size, 20_001)
    absent = np.exp(-np.abs(line)) / 2.0
    mixed = rate * np.exp(-np.abs(line - size)) / 2.0 + (1.0 - rate) * absent
    width = line[1] - line[0]
    excesses = [np.maximum(0.0, one - math.exp(epsilon) * other) for one, other in ((mixed, absent), (absent, mixed))]
    # of two neighbouring points the smaller counts, so that the sum is not above the integral by a kink
    return max(float(np.sum(np.minimum(found[1:], found[:-1])) * width) for found in excesses)


def sampled_gaussian_deltas(rate: float, ratio: float, *, epsilon: float) -> tuple[float, float]:
    """The exact deltas, by quadrature, of (1-q) N(0,1) + q N(ratio,1) against N(0,1), and of the reverse."""
    nodes = np.arange(-_REACH, ratio + _REACH, _STEP)
    density = np.exp(-0.5 * nodes * nodes) * (_STEP / math.sqrt(2.0 * math.pi))
    mixture = density * (1.0 + rate * np.expm1(ratio * nodes - 0.5 * ratio * ratio))
    odds = math.exp(min(epsilon, 700.0))
    added = float(np.sum(np.maximum(mixture - odds * density, 0.0)))
    removed = float(np.sum(np.maximum(density - odds * mixture, 0.0)))
    return added, removed
