"""How many unknown keys come out at an equal (epsilon, delta): dpkit's thresholds beside those of OpenDP and PipelineDP.

Keys are drawn from a Zipf law; a person has at most `most` of them. What peers keep is computed from the noise and the
threshold that they state, on the same people: nothing of theirs is drawn. All figures are expected numbers of keys.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

import dpkit
from dpkit.authoring import Array

EPSILON, DELTA = 1.0, 1e-6
DRAWS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysRow:
    """How many keys come out, of how many there are, where a person has at most `most`."""

    most: int
    method: str
    kept: float
    keys: int

    @property
    def name(self) -> str:
        """As it stands in a picture."""
        return f"{self.method}, at most {self.most}"


def zipf_people(people: int, most: int, *, seed: int = 0) -> npt.NDArray[np.int64]:
    """For each key, how many people hold it who hold 1, 2, ..., `most` different keys. Zipf's exponent is 1.3."""
    rng = np.random.default_rng(seed)
    drawn = rng.zipf(1.3, size=(people, most)) % 1_000_000
    asked = rng.integers(1, most + 1, size=people)
    held = [np.unique(row[:count]) for row, count in zip(drawn, asked, strict=True)]
    numbers = np.array([keys.size for keys in held])
    keys, places = np.unique(np.concatenate(held), return_inverse=True)
    found = np.zeros((keys.size, most), dtype=np.int64)
    np.add.at(found, (places, np.repeat(numbers, numbers) - 1), 1)
    return found


def keys_kept(people: int, most: Sequence[int] = (1, 3, 10)) -> list[KeysRow]:
    """Every method at every number of keys a person."""
    rows = []
    for each in most:
        held = zipf_people(people, each)
        counts = held.sum(axis=1)
        kept = {"dpkit": _ours(held, each), **_peers(counts, each)}
        rows += [KeysRow(most=each, method=method, kept=number, keys=len(counts)) for method, number in kept.items()]
    return rows


def _ours(held: npt.NDArray[np.int64], most: int) -> float:
    """What dpkit's mechanisms keep, on average over draws, at noise that is solved for the budget."""
    budget = dpkit.ApproxDP(epsilon=EPSILON, delta=DELTA)
    if most == 1:
        noise: dpkit.Mechanism = dpkit.ThresholdedGeometric(scale=1.0 / EPSILON, delta=DELTA)
        values: npt.NDArray[np.generic] = held[:, 0]
    else:
        alone = DELTA / 2.0

        def event(scale: float) -> dpkit.Event:
            return dpkit.ThresholdedGaussian(scale=scale, delta=alone, keys=most).event(dpkit.l2(1.0))

        scale = dpkit.calibrate(event, budget, accountant="best")
        noise = dpkit.ThresholdedGaussian(scale=scale, delta=alone, keys=most)
        values = held @ np.array([dpkit.ThresholdedGaussian.weight(keys) for keys in range(1, most + 1)])
    rng = np.random.default_rng(1)
    return float(np.mean([np.count_nonzero(np.asarray(noise.release(values, rng))) for _ in range(DRAWS)]))


def _peers(counts: npt.NDArray[np.int64], most: int) -> dict[str, float]:
    """Each person's keys count one each; Laplace and geometric noise share epsilon and delta among `most` keys."""
    numbers = counts.astype(np.float64)
    laplace = most / EPSILON
    one = -math.expm1(math.log1p(-DELTA) / most)
    threshold = 1.0 + laplace * math.log(1.0 / (2.0 * one))
    spread = np.abs(numbers - threshold) / laplace
    above = np.where(numbers > threshold, 1.0 - 0.5 * np.exp(-spread), 0.5 * np.exp(-spread))
    half = -math.expm1(math.log1p(-DELTA / 2.0) / most)
    gaussian = dpkit.calibrate(
        lambda scale: dpkit.Gaussian(scale=scale).event(dpkit.l2(math.sqrt(most))),
        dpkit.ApproxDP(epsilon=EPSILON, delta=DELTA / 2.0),
        accountant="gdp",
    )
    return {
        "Laplace threshold (OpenDP, PipelineDP)": float(np.sum(above)),
        "Gaussian threshold (OpenDP, PipelineDP)": float(np.sum(ndtr((numbers - 1.0) / gaussian - ndtri(1.0 - half)))),
        "truncated geometric (PipelineDP)": float(np.sum(optimal_chances(EPSILON / most, one, int(counts.max()))[counts])),
    }


def optimal_chances(epsilon: float, delta: float, most: int) -> Array:
    """The largest probability with which a key of n people may come out, for n = 0, ..., most (DVGM20, Theorem 1)."""
    found = [0.0]
    for _ in range(most):
        last = found[-1]
        found.append(min(math.exp(epsilon) * last + delta, 1.0 - math.exp(-epsilon) * (1.0 - last - delta), 1.0))
    return np.array(found)


def as_markdown(rows: Sequence[KeysRow]) -> str:
    """A table: one line a method and number of keys."""
    lines = ["| keys a person, at most | method | keys that come out | of |", "|---|---|---|---|"]
    lines += [f"| {row.most} | {row.method} | {row.kept:,.1f} | {row.keys:,} |" for row in rows]
    return "\n".join(lines)
