"""Falsifiers that draw no samples: the declared law integrated or enumerated, and accountants held against each other."""

from __future__ import annotations

import math

import numpy as np

from dpkit.auditing.betting.bets import OutputEvent
from dpkit.auditing.betting.campaign import Finding
from dpkit.auditing.betting.profile import implied_delta
from dpkit.auditing.claim_at_pair import ClaimAtPair
from dpkit.auditing.falsifiers.enumeration import outcomes_of
from dpkit.errors import DpkitError
from dpkit.numerics.rounding import format_down, in_full
from dpkit.numerics.special import Array
from dpkit.privacy.neighbours import Neighbours

_TOLERANCE = 1e-9
"""By how much the computed delta must exceed the claimed one: the error of sums and quadrature is far below."""
_NODES = 200_001


def exact_profile(subject: ClaimAtPair) -> Finding | None:
    """delta(epsilon) of the declared density by quadrature, against the claim, for one-dimensional continuous outputs.

    It sees a wrong theorem, whatever delta is; it cannot see a sampler that does not follow its density.
    """
    if subject.density is None or outcomes_of(subject) is not None:
        return None
    values = [np.asarray(dataset) for dataset in subject.pair]
    if any(value.ndim != 0 or value.dtype.kind not in "fiu" for value in values) or values[0].dtype.kind in "iu":
        return None
    middle = 0.5 * (float(values[0]) + float(values[1]))
    reach = _reach(subject, middle)
    if reach is None:
        return None
    grid = np.linspace(middle - reach, middle + reach, _NODES)
    step = float(grid[1] - grid[0])
    masses = [np.exp(subject.log_density(grid[:, None], side)) * step for side in (0, 1)]
    if any(abs(float(mass.sum()) - 1.0) > 1e-5 for mass in masses):
        return None  # not a density of one number, or one with mass that this grid does not hold
    # the error of the sum is judged by half the nodes, whose own error is larger, and held against a wide margin
    coarse = [2.0 * mass[::2] for mass in masses]
    gap = max(
        abs(_delta(masses, point.ratio, forward) - _delta(coarse, point.ratio, forward))
        for point in subject.points
        for forward in (True, False)
    )
    return _compared(subject, "exact profile", masses, margin=1e-9 + 10.0 * gap)


def exact_enumeration(subject: ClaimAtPair) -> Finding | None:
    """delta(epsilon) summed over all outcomes, where there are finitely many (or all but a negligible tail)."""
    outcomes = None if subject.density is None else outcomes_of(subject)
    if outcomes is None:
        return None
    masses = [np.exp(subject.log_density(outcomes, side)) for side in (0, 1)]
    return _compared(subject, "exact enumeration", masses, margin=_TOLERANCE)


def accountants_agree(subject: ClaimAtPair) -> Finding | None:
    """Every accountant's epsilon for this event against the lower end that `pld` certifies; none may be below it."""
    from dpkit.accounting import account
    from dpkit.hooks.manager import default_registry

    if subject.mechanism is None or subject.at is None:
        return None
    if subject.claim != next(iter(subject.mechanism.claims(subject.at)), None):
        return None  # once for a mechanism is enough
    event = subject.mechanism.event(at=subject.at)
    neighbours: Neighbours = subject.claim.neighbours
    try:
        exact = account(event, accountant="pld", neighbours=neighbours)
    except DpkitError:
        return None
    for delta in (1e-3, 1e-6, 1e-9):
        try:
            lower = exact.interval(delta=delta)[0]
        except DpkitError:
            return None
        for name in default_registry().accountant_names:
            try:
                upper = account(event, accountant=name, neighbours=neighbours).epsilon(delta=delta)
            except DpkitError:
                continue
            if upper < lower:
                said = f"the accountant {name} says epsilon = {upper!r} at delta = {in_full(delta)}"
                words = f"{said}; the truth is at least {lower!r}"
                event_found = OutputEvent(
                    words=words, code=f"account(event, accountant={name!r}).epsilon(delta={delta!r})", forward=True
                )
                return Finding(falsifier="accountant cross-check", verdict="refuted", log_e=math.inf, event=event_found)
    return Finding(falsifier="accountant cross-check", verdict="not refuted")


def _compared(subject: ClaimAtPair, name: str, masses: list[Array], *, margin: float) -> Finding:
    """The largest excess of delta over what the claim implies, over points and directions."""
    worst: tuple[float, float, float, bool] | None = None
    for point in subject.points:
        for forward in (True, False):
            delta = _delta(masses, point.ratio, forward)
            excess = delta - implied_delta(subject.claim.loss, point.epsilon)
            if worst is None or excess > worst[0]:
                worst = (excess, point.epsilon, delta, forward)
    if worst is None or worst[0] <= margin:
        return Finding(falsifier=name, verdict="not refuted")
    _, epsilon, delta, forward = worst
    beyond = _epsilon_beyond(masses, epsilon, implied_delta(subject.claim.loss, epsilon) + margin, forward)
    one, two = ("d1", "d2") if forward else ("d2", "d1")
    found = OutputEvent(
        words=f"the declared law has delta = {format_down(delta)} at epsilon = {in_full(epsilon)}, more than is claimed there",
        code=f"lambda y: log_density(y, {one}) - log_density(y, {two}) >= {epsilon!r}",
        forward=forward,
    )
    return Finding(
        falsifier=name, verdict="refuted", log_e=math.inf, event=found, note="by the declared density, without samples",
        exact_epsilon=beyond,
    )  # fmt: skip


def _epsilon_beyond(masses: list[Array], epsilon: float, delta: float, forward: bool) -> float:
    """The largest epsilon at which the declared law still has more than this delta: below the true one, by bisection."""
    low, high = epsilon, epsilon + 60.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        exceeds = _delta(masses, math.exp(min(middle, 690.0)), forward) > delta
        low, high = (middle, high) if exceeds else (low, middle)
    return low


def _delta(masses: list[Array], ratio: float, forward: bool) -> float:
    p, q = masses if forward else masses[::-1]
    return float(np.sum(np.maximum(p - ratio * q, 0.0)))


def _reach(subject: ClaimAtPair, middle: float) -> float | None:
    """How far from the middle both densities are still worth summing."""
    for power in range(-60, 200):
        reach = 2.0**power
        ends = np.array([[middle - reach], [middle + reach]])
        peak = subject.log_density(np.array([[middle]]), 0)[0]
        if all(float(np.max(subject.log_density(ends, side))) < min(float(peak), 0.0) - 45.0 for side in (0, 1)):
            return reach
    return None
