"""The laws of promises: one release is one of many, the density is within the claims, the accuracy is what it says."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from dpkit.auditing.betting.lower_bound import proportion_bounds
from dpkit.auditing.screening import EPSILONS, FALSE_ALARM
from dpkit.contracts.mechanism import Accurate
from dpkit.numerics.rounding import format_down, format_up
from dpkit.privacy.claims import Claim
from dpkit.privacy.neighbours import Distance
from dpkit.testing.claim_laws import MOST_PAIRS, grouped_claims, own_epsilons, profile_of
from dpkit.testing.mechanism_cases import Array, MechanismCase, MechanismSubject, base_values, pairs_at, released
from dpkit.testing.run_laws import LawNotApplicable
from dpkit.testing.sampler_laws import covering_line, log_density_of, samples_gap, white_box

SINGLE_RELEASES = 2_000
"""Enough to see a scale that is off by a factor of 1.8."""
TARGETS = (0.5, 2.0, 12.0)
"""Epsilons at whose distances densities are compared: some theorems end at 1, and are used beyond."""
THINNED = 8
"""A bound from below needs no finer line than one point in this number."""
SLACK = 1e-9
"""What the rounding of a log density explains, relatively."""


def release_many_is_many_releases(case: MechanismCase) -> None:
    """`release`, which an analysis calls, follows the law of `release_many`, which auditors sample."""
    for index, subject in enumerate(case.subjects(2)):
        for shape in case.factory.shapes:
            value = base_values(case, subject, shape, 1.0)[-1]
            rng = case.rng(31, index)
            many = released(subject.mechanism, value, 10 * SINGLE_RELEASES, rng)
            singles = np.stack([np.asarray(subject.mechanism.release(value, rng)) for _ in range(SINGLE_RELEASES)])
            message = f"release gives shape {singles.shape[1:]}, release_many gives {many.shape[1:]}, for values of {shape}"
            assert singles.shape[1:] == many.shape[1:], message
            columns = zip(_flat(singles).T, _flat(many).T, strict=True)
            for coordinate, (one, other) in enumerate(columns):
                gap, limit = samples_gap(one, other)
                assert gap <= limit, (
                    f"release and release_many follow different laws in coordinate {coordinate}: their distribution "
                    f"functions are {gap:.4f} apart, at most {limit:.4f} is chance, with parameters {subject.parameters}"
                )


def density_keeps_the_claims(case: MechanismCase) -> None:
    """Between neighbours the declared density exceeds no claim: a bound from below of its delta(epsilon), without sampling."""
    compared = 0
    for index, subject in enumerate(case.subjects(3)):
        white_box(subject)
        for target in TARGETS:
            at = case.distance(subject, target=target)
            for claims in grouped_claims(case, subject, at) if at.value else ():
                compared += compare_densities(case, subject, at, claims, index)
    if not compared:
        raise LawNotApplicable("the kit knows no pair of values with one output each, at which densities can be compared")


def compare_densities(case: MechanismCase, subject: MechanismSubject, at: Distance, claims: list[Claim], salt: int) -> int:
    """Hold the declared densities of neighbours against the claims; how many pairs there were to compare."""
    allowed = [
        (claim.loss, epsilon, profile(epsilon))
        for claim in claims
        if (profile := profile_of(claim.loss, case)) is not None
        for epsilon in (*EPSILONS, *own_epsilons([claim]))
    ]
    count = 0
    for line, p, q in _densities(case, subject, at, claims[0], salt):
        count += 1
        for one, other in ((p, q), (q, p)):
            deltas = {epsilon: _delta_from_below(line, one, other, epsilon) for epsilon in {row[1] for row in allowed}}
            for loss, epsilon, delta in allowed:
                assert deltas[epsilon] <= delta * (1.0 + 1e-6), (
                    f"the declared density breaks the claim {loss} at {at}: delta({epsilon:g}) is at least "
                    f"{format_down(deltas[epsilon])}, claimed {format_up(delta)}, with parameters {subject.parameters}"
                )
    return count


def _densities(
    case: MechanismCase, subject: MechanismSubject, at: Distance, claim: Claim, salt: int
) -> Iterator[tuple[Array, npt.NDArray[np.float64], npt.NDArray[np.float64]]]:
    """Points that cover the outputs of two neighbours, and the declared log densities of both there."""
    for value, neighbour in pairs_at(case, subject, at, claim, most=MOST_PAIRS):
        if value.size > 1 and case.factory.values != "scores":
            continue
        try:
            lines = [_line_at(case, subject, x, salt) for x in (value, neighbour)]
        except ValueError:
            continue  # a value that this mechanism does not take
        if lines[0] is None or lines[1] is None:
            continue
        line = np.union1d(lines[0], lines[1])
        grid = line.reshape(-1, *value.shape) if case.factory.values != "scores" else line
        yield line, log_density_of(subject, grid, value), log_density_of(subject, grid, neighbour)


def renyi_from_below(
    case: MechanismCase, subject: MechanismSubject, at: Distance, claim: Claim, orders: npt.NDArray[np.float64], salt: int
) -> Iterator[npt.NDArray[np.float64]]:
    """Rényi divergences of neighbours by the declared densities, not above the truth where those are monotone between points.

    Of p^order q^(1 - order) the smaller of two neighbouring points counts, so that what lies beyond the line is left out.
    """
    for line, p, q in _densities(case, subject, at, claim, salt):
        for one, other in ((p, q), (q, p)):
            with np.errstate(all="ignore"):
                logs = orders[:, None] * one - (orders[:, None] - 1.0) * other
                logs = np.where(np.isneginf(one), -np.inf, np.nan_to_num(logs, nan=-np.inf, posinf=np.inf))
                if not np.issubdtype(line.dtype, np.integer):
                    logs = np.minimum(logs[:, 1:], logs[:, :-1]) + np.log(np.diff(line.astype(np.float64)))
                yield np.maximum(0.0, logsumexp(logs, axis=1) / (orders - 1.0))


def _line_at(case: MechanismCase, subject: MechanismSubject, value: Array, salt: int) -> Array | None:
    outputs = released(subject.mechanism, value, 2_000, case.rng(32, salt))
    line = covering_line(case, subject, outputs.reshape(len(outputs)), value)
    return line if line is None or np.issubdtype(line.dtype, np.integer) else line[::THINNED]


def _delta_from_below(line: Array, one: npt.NDArray[np.float64], other: npt.NDArray[np.float64], epsilon: float) -> float:
    """The integral of (p - e^epsilon q)+, or its sum over whole numbers; where it is monotone between points, not above it."""
    with np.errstate(all="ignore"):
        excess = epsilon + other - one
        excess = np.where(np.isneginf(one), 0.0, np.nan_to_num(excess, nan=0.0))
        excess = np.where(excess > -SLACK * (1.0 + np.abs(np.nan_to_num(one))), 0.0, excess)
        parts = np.exp(one) * -np.expm1(excess)
    if np.issubdtype(line.dtype, np.integer):
        return float(np.sum(parts))
    return float(np.sum(np.minimum(parts[1:], parts[:-1]) * np.diff(line)))


def accuracy_covers_the_error(case: MechanismCase) -> None:
    """The error exceeds `accuracy(shape, confidence)` no more often than it says."""
    if case.factory.values not in ("reals", "symmetric", "integers"):
        raise LawNotApplicable("the error of a choice or of categories has no common meaning")
    for index, subject in enumerate(case.subjects(2)):
        if not isinstance(subject.mechanism, Accurate):
            raise LawNotApplicable("the mechanism declares no accuracy")
        for shape in case.factory.shapes:
            held = [_covered(case, subject, value, index) for value in base_values(case, subject, shape, 1.0)]
            # some values are outside of what a mechanism answers well (beyond its bounds, say); not all of them
            assert any(held), f"the error exceeds accuracy{shape} more often than promised, with {subject.parameters}"


def _covered(case: MechanismCase, subject: MechanismSubject, value: Array, salt: int) -> bool:
    mechanism: Any = subject.mechanism
    outputs = released(mechanism, value, 4_000, case.rng(33, salt))
    if outputs.shape[1:] != value.shape:
        raise LawNotApplicable("the output has another shape than the value")
    errors = np.max(np.abs(_flat(outputs) - value.reshape(-1)), axis=1)
    for confidence in (0.5, 0.9, 0.99):
        within = int(np.sum(errors <= mechanism.accuracy(value.shape, confidence)))
        if proportion_bounds(within, len(errors), alpha=FALSE_ALARM)[1] < confidence * (1.0 - 1e-9):
            return False
    return True


def _flat(outputs: Array) -> npt.NDArray[np.float64]:
    flat = outputs.reshape(len(outputs), math.prod(outputs.shape[1:]))
    return np.asarray(flat, dtype=np.float64)
