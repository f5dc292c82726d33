"""A quick statistical audit: choose the most telling event on one half of the samples, decide on the other half."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpkit.core.mechanism import Mechanism, WhiteBox
from dpkit.testing.cases import Array
from dpkit.testing.statistics import proportion_bounds

SAMPLES = 8_000
TAILS = 24
ATOMS = 12
EPSILONS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)

Profile = Callable[[float], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """An event whose probabilities under two neighbours a claim does not allow."""

    claim: str
    event: str
    epsilon: float
    likely: float
    unlikely: float


def quick_audit(
    mechanism: Mechanism,
    pairs: Sequence[tuple[Array, Array]],
    claims: Sequence[tuple[str, Profile]],
    *,
    rng: np.random.Generator,
    samples: int = SAMPLES,
) -> Violation | None:
    """The first violation found, or None. Each pair and direction raises a false alarm with probability at most 2e-9."""
    bounds = [(name, epsilon, profile(epsilon)) for name, profile in claims for epsilon in EPSILONS]
    bounds = [bound for bound in bounds if bound[2] < 0.5]
    if not bounds:
        return None
    for value, neighbour in pairs:
        try:
            here = np.asarray(mechanism.release_many(value, samples, rng))
            there = np.asarray(mechanism.release_many(neighbour, samples, rng))
        except ValueError:
            continue  # a value that this mechanism does not take
        for one, other, first, second in ((here, there, value, neighbour), (there, here, neighbour, value)):
            found = _decide(one, other, bounds, _features(mechanism, first, second))
            if found is not None:
                return found
    return None


def _features(mechanism: Mechanism, value: Array, neighbour: Array) -> Callable[[Array], dict[str, npt.NDArray[np.float64]]]:
    """What is looked at: each coordinate, their differences, the norm, and the likelihood ratio where it is known."""

    def features(outputs: Array) -> dict[str, npt.NDArray[np.float64]]:
        flat = outputs.reshape(len(outputs), -1)[:, :6].astype(np.float64)
        found = {f"coordinate {j}": flat[:, j] for j in range(flat.shape[1])}
        for j in range(1, flat.shape[1]):
            found[f"coordinate {j} less coordinate 0"] = flat[:, j] - flat[:, 0]
        if flat.shape[1] > 1:
            found["the sum of the coordinates"] = flat.sum(axis=1)
        if isinstance(mechanism, WhiteBox):
            density: Any = mechanism.log_density
            with np.errstate(all="ignore"):
                ratio = np.asarray(density(outputs, value)) - np.asarray(density(outputs, neighbour))
            found["the declared log likelihood ratio"] = np.nan_to_num(ratio, nan=0.0, posinf=1e300, neginf=-1e300)
        return found

    return features


def _decide(
    likely: Array,
    unlikely: Array,
    bounds: Sequence[tuple[str, float, float]],
    features: Callable[[Array], dict[str, npt.NDArray[np.float64]]],
) -> Violation | None:
    half = len(likely) // 2
    here, there = features(likely), features(unlikely)
    best: tuple[float, str, str, float, float] | None = None
    for name in here:
        for words, threshold in _events(here[name][:half], there[name][:half]):
            p, q = (float(np.mean(_happens(sample[name][:half], words, threshold))) for sample in (here, there))
            # an event that was never seen may still have probability 1/n
            odds, noise = math.log((p + 1e-12) / (q + 1.0 / half)), math.sqrt((p + q) / half)
            if p > 3.0 * noise and (best is None or odds * math.sqrt(p) > best[0]):
                best = (odds * math.sqrt(p), name, words, threshold, p)
    if best is None:
        return None
    _, name, words, threshold, _ = best
    hits = [int(np.sum(_happens(sample[name][half:], words, threshold))) for sample in (here, there)]
    low = proportion_bounds(hits[0], len(likely) - half)[0]
    high = proportion_bounds(hits[1], len(unlikely) - half)[1]
    for claim, epsilon, delta in bounds:
        if low > math.exp(epsilon) * high + delta:
            return Violation(claim=claim, event=f"{name} {words} a threshold", epsilon=epsilon, likely=low, unlikely=high)
    return None


def _events(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> list[tuple[str, float]]:
    """Tails at common quantiles, and the values that are hit most often."""
    both = np.concatenate([one, other])
    cuts = np.unique(np.quantile(both, np.linspace(0.005, 0.995, TAILS), method="nearest"))
    events = [("above", float(cut)) for cut in cuts] + [("below", float(cut)) for cut in cuts]
    values, counts = np.unique(both, return_counts=True)
    if counts.max() > 3:
        frequent = values[np.argsort(counts)[-ATOMS:]]
        events += [("equal to", float(value)) for value in frequent]
    return events


def _happens(sample: npt.NDArray[np.float64], words: str, threshold: float) -> npt.NDArray[np.bool_]:
    match words:
        case "above":
            return np.asarray(sample > threshold)
        case "below":
            return np.asarray(sample < threshold)
        case _:
            return np.asarray(sample == threshold)
