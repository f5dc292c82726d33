"""A quick statistical audit: few samples choose the most telling events of all pairs, many fresh ones decide on these."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpkit.contracts.mechanism import Mechanism, WhiteBox
from dpkit.testing.cases import Array
from dpkit.testing.statistics import FALSE_ALARM, proportion_bounds

CHOOSING = 4_000
"""Draws of each value from which events are chosen: nothing is decided on these."""
DECIDING = 100_000
"""Fresh draws of each value for a chosen event: enough to see a scale that is off by 5%, without a density."""
CHOSEN = 3
"""How many events, of different pairs, are decided on."""
TAILS = 24
ATOMS = 12
EPSILONS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)

FloatArray = npt.NDArray[np.float64]
Profile = Callable[[float], float]
Features = Callable[[Array], dict[str, FloatArray]]
Bound = tuple[str, float, float]
"""A claim's name, an epsilon, and the delta that the claim allows there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """An event whose probabilities under two neighbours a claim does not allow."""

    claim: str
    event: str
    epsilon: float
    likely: float
    unlikely: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """An event that seems likelier under `value` than under `neighbour` by more than is allowed: `score` deviations more."""

    score: float
    value: Array
    neighbour: Array
    features: Features
    feature: str
    words: str
    threshold: float


def quick_audit(
    mechanism: Mechanism,
    pairs: Sequence[tuple[Array, Array]],
    claims: Sequence[tuple[str, Profile]],
    *,
    rng: np.random.Generator,
    epsilons: Sequence[float] = (),
    choosing: int = CHOOSING,
    deciding: int = DECIDING,
    chosen: int = CHOSEN,
) -> Violation | None:
    """The worst violation found, or None. Each of the few decisions is a false alarm with probability at most 1e-9.

    `epsilons` are read beside the usual ones: where a claim is pure, its own epsilon is the most telling.
    """
    read = sorted({*EPSILONS, *(epsilon for epsilon in epsilons if math.isfinite(epsilon))})
    bounds = [(name, epsilon, profile(epsilon)) for name, profile in claims for epsilon in read]
    bounds = [bound for bound in bounds if bound[2] < 0.5]
    if not bounds:
        return None
    candidates: list[_Candidate] = []
    for value, neighbour in pairs:
        try:
            here, there = (np.asarray(mechanism.release_many(x, choosing, rng)) for x in (value, neighbour))
        except ValueError:
            continue  # a value that this mechanism does not take
        features = _features(mechanism, value, neighbour)
        best = _most_telling((value, neighbour), (here, there), features, bounds)
        if best is not None:
            candidates.append(best)
    for candidate in sorted(candidates, key=lambda found: -found.score)[:chosen]:
        violation = _decide(mechanism, candidate, bounds, rng, deciding)
        if violation is not None:
            return violation
    return None


def _features(mechanism: Mechanism, value: Array, neighbour: Array) -> Features:
    """What is looked at: each coordinate, their differences, the sum, and the likelihood ratio where it is known."""

    def features(outputs: Array) -> dict[str, FloatArray]:
        flat = outputs.reshape(len(outputs), -1)[:, :6].astype(np.float64)
        found = {f"coordinate {j}": flat[:, j] for j in range(flat.shape[1])}
        for i, j in itertools.combinations(range(flat.shape[1]), 2):
            found[f"coordinate {j} less coordinate {i}"] = flat[:, j] - flat[:, i]
        if flat.shape[1] > 1:
            found["the sum of the coordinates"] = flat.sum(axis=1)
            found |= _of_the_whole(outputs.reshape(len(outputs), -1), value, neighbour)
        if isinstance(mechanism, WhiteBox):
            density: Any = mechanism.log_density
            with np.errstate(all="ignore"):
                ratio = np.asarray(density(outputs, value)) - np.asarray(density(outputs, neighbour))
            # its last digits are rounding, which depends on the value that the output came from: no news of the density
            found["the declared log likelihood ratio"] = np.round(np.clip(np.nan_to_num(ratio, nan=0.0), -1e4, 1e4), 9)
        return found

    return features


def _of_the_whole(flat: Array, value: Array, neighbour: Array) -> dict[str, FloatArray]:
    """Along the line from one value to the other, where outputs have their form; and of whole numbers the output as a word."""
    found: dict[str, FloatArray] = {}
    step = np.subtract(neighbour, value, dtype=np.float64).reshape(-1)
    if flat.shape[1] == step.size:
        found["the component along the change"] = flat.astype(np.float64) @ (step / (np.linalg.norm(step) or 1.0))
    if flat.dtype.kind in "iub":
        # a word of up to 64 entries as one number: equal words are equal numbers, others practically never
        found["the whole output"] = flat.astype(np.float64) @ np.random.default_rng(3).random(flat.shape[1])
    return found


def _most_telling(
    pair: tuple[Array, Array], outputs: tuple[Array, Array], features: Features, bounds: Sequence[Bound]
) -> _Candidate | None:
    """The event that exceeds what is allowed by the most standard deviations, in either direction."""
    (value, neighbour), here, there = pair, features(outputs[0]), features(outputs[1])
    best: _Candidate | None = None
    allowed = np.array([[epsilon, delta] for _, epsilon, delta in bounds])
    for name, ours in here.items():
        events, p, q = _events(ours, there[name])
        for first, second, likely, unlikely in ((value, neighbour, p, q), (neighbour, value, q, p)):
            scores = _scores(likely, unlikely, allowed, len(ours))
            index = int(np.argmax(scores))
            if best is None or scores[index] > best.score:
                words, threshold = events[index]
                best = _Candidate(
                    score=float(scores[index]),
                    value=first,
                    neighbour=second,
                    features=features,
                    feature=name,
                    words=words,
                    threshold=threshold,
                )
    return best


def _scores(p: FloatArray, q: FloatArray, allowed: FloatArray, n: int) -> FloatArray:
    """(p - e^epsilon q - delta) in deviations of its estimate; an event that was never seen may still have probability 1/n."""
    factor, delta = np.exp(allowed[:, :1]), allowed[:, 1:]
    spread = np.sqrt((p + 1.0 / n + factor**2 * (q + 1.0 / n)) / n)
    return np.asarray(np.max((p - factor * q - delta) / spread, axis=0))


def _events(one: FloatArray, other: FloatArray) -> tuple[list[tuple[str, float]], FloatArray, FloatArray]:
    """Tails at common quantiles and the values that are hit most often, each with its share of either sample."""
    both = np.sort(np.concatenate([one, other]))
    cuts = np.unique(both[np.linspace(0.0025 * len(both), 0.9975 * len(both), TAILS).astype(int)])
    values, counts = np.unique(both, return_counts=True)
    frequent = values[np.argsort(counts)[-ATOMS:]] if counts.max() > 3 else values[:0]
    events = [(words, float(cut)) for words in ("above", "below") for cut in cuts]
    events += [("equal to", float(value)) for value in frequent]
    shares = []
    for sample in (np.sort(one), np.sort(other)):
        left, right = np.searchsorted(sample, cuts, "left"), np.searchsorted(sample, cuts, "right")
        atoms = np.searchsorted(sample, frequent, "right") - np.searchsorted(sample, frequent, "left")
        shares.append(np.concatenate([len(sample) - right, left, atoms]) / len(sample))
    return events, shares[0], shares[1]


def _decide(
    mechanism: Mechanism, candidate: _Candidate, bounds: Sequence[Bound], rng: np.random.Generator, draws: int
) -> Violation | None:
    hits = []
    for value in (candidate.value, candidate.neighbour):
        sample = candidate.features(np.asarray(mechanism.release_many(value, draws, rng)))[candidate.feature]
        hits.append(int(np.sum(_happens(sample, candidate.words, candidate.threshold))))
    low = proportion_bounds(hits[0], draws, alpha=FALSE_ALARM / 2.0)[0]
    high = proportion_bounds(hits[1], draws, alpha=FALSE_ALARM / 2.0)[1]
    event = f"{candidate.feature} {candidate.words} a threshold"
    for claim, epsilon, delta in bounds:
        if low > math.exp(epsilon) * high + delta:
            return Violation(claim=claim, event=event, epsilon=epsilon, likely=low, unlikely=high)
    return None


def _happens(sample: FloatArray, words: str, threshold: float) -> npt.NDArray[np.bool_]:
    match words:
        case "above":
            return np.asarray(sample > threshold)
        case "below":
            return np.asarray(sample < threshold)
        case _:
            return np.asarray(sample == threshold)
