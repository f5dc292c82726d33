"""How many unknown keys come out at an equal (epsilon, delta): dpkit's thresholds beside those of OpenDP and PipelineDP.

Keys are drawn from a Zipf law; a person has at most `most` of them. Peers run on the same people: OpenDP's measurements
release, at the smallest threshold that their own map allows; PipelineDP's strategies say with which probability each key
is kept. All figures are numbers of keys, on average.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import dpkit
from dpkit_bench.peers import peer

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


def keys_kept(people: int, most: Sequence[int] = (1, 3, 10)) -> tuple[list[KeysRow], tuple[str, ...]]:
    """Every method at every number of keys a person; and which peers are left out."""
    rows: list[KeysRow] = []
    notes: dict[str, None] = {}
    for each in most:
        held = zipf_people(people, each)
        counts = held.sum(axis=1)
        kept = {"dpkit": _ours(held, each)}
        for measured, said in (_opendp(counts, each), _pipeline_dp(held, each)):
            kept |= measured
            notes |= dict.fromkeys(said)
        rows += [KeysRow(most=each, method=method, kept=number, keys=len(counts)) for method, number in kept.items()]
    return rows, tuple(notes)


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


def _opendp(counts: npt.NDArray[np.int64], most: int) -> tuple[dict[str, float], tuple[str, ...]]:
    """What OpenDP's measurements release, at the smallest threshold for the budget over a grid of scales."""
    dp, notes = peer("opendp.prelude", of="opendp")
    if dp is None:
        return {}, notes
    dp.enable_features("contrib")
    domain = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int))
    space = (domain, dp.l01inf_distance(dp.absolute_distance(T=int)))
    held = {str(place): int(count) for place, count in enumerate(counts)}
    moved = (most, most, 1)

    def laplace(scale: float, threshold: int) -> Any:
        return space >> dp.m.then_laplace_threshold(scale=scale, threshold=threshold)

    def gaussian(scale: float, threshold: int) -> Any:
        noisy = space >> dp.m.then_gaussian_threshold(scale=scale, threshold=threshold)
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(noisy), DELTA / 2)

    found = {}
    for name, make, scales in (
        ("OpenDP, Laplace threshold", laplace, [most / EPSILON * (1.0 + 1e-9)]),
        ("OpenDP, Gaussian threshold", gaussian, [math.sqrt(most) * size for size in (4.7, 5.0, 5.4, 6.0)]),
    ):
        best = None
        for scale in scales:
            low, high = 2, int(60 * scale) + 10 if best is None else best[1] - 1
            if not _keeps_within(make, scale, high, moved):
                continue  # no smaller one than is known
            while low < high:  # the smallest that keeps within the budget
                middle = (low + high) // 2
                low, high = (low, middle) if _keeps_within(make, scale, middle, moved) else (middle + 1, high)
            best = (scale, low)
        if best is not None:
            measurement = make(*best)
            found[name] = _drawn(measurement, held)
            if make is laplace:  # OpenDP 0.16 lets out what reaches the threshold; its map prices what exceeds it
                found[f"{name} one higher"] = _drawn(make(best[0], best[1] + 1), held)
    return found, notes


def _drawn(measurement: Any, held: dict[str, int]) -> float:
    return float(np.mean([len(measurement(held)) for _ in range(10)]))


def _keeps_within(make: Callable[[float, int], Any], scale: float, threshold: int, moved: tuple[int, int, int]) -> bool:
    try:
        epsilon, delta = make(scale, threshold).map(moved)
    except Exception:  # noqa: BLE001 - a peer refuses what it cannot price
        return False
    return bool(epsilon <= EPSILON * (1.0 + 1e-6) and delta <= DELTA)


def _pipeline_dp(held: npt.NDArray[np.int64], most: int) -> tuple[dict[str, float], tuple[str, ...]]:
    """The sum of the probabilities with which PipelineDP's strategies keep each key; of weights, what its draws keep."""
    package, notes = peer("pipeline_dp")
    selection, _ = peer("pipeline_dp.partition_selection", of="pipeline_dp")
    if package is None or selection is None:
        return {}, notes
    sizes, times = np.unique(held.sum(axis=1), return_counts=True)
    found = {}
    for kind in package.PartitionSelectionStrategy:
        if kind.name.startswith("WEIGHTED"):  # of a sum of weights it says whether it keeps it, and no probability
            weighed = selection.create_weighted_gaussian_thresholding(EPSILON, DELTA, most)
            weights = held @ (1.0 / np.sqrt(np.arange(1, most + 1)))
            drawn = [sum(bool(weighed.should_keep(float(weight))) for weight in weights) for _ in range(DRAWS)]
            found["PipelineDP, weighted gaussian thresholding"] = float(np.mean(drawn))
            continue
        strategy = selection.create_partition_selection_strategy(kind, EPSILON, DELTA, most)
        kept = sum(int(time) * float(strategy.probability_of_keep(int(size))) for size, time in zip(sizes, times, strict=True))
        found[f"PipelineDP, {kind.name.lower().replace('_', ' ')}"] = kept
    return found, notes


def as_markdown(rows: Sequence[KeysRow]) -> str:
    """A table: one line a method and number of keys."""
    lines = ["| keys a person, at most | method | keys that come out | of |", "|---|---|---|---|"]
    lines += [f"| {row.most} | {row.method} | {row.kept:,.1f} | {row.keys:,} |" for row in rows]
    return "\n".join(lines)
