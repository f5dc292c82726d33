"""Whether the outputs of one call are as independent as those of many: everything that an audit says rests on that."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpkit.auditing.call_timer import TimeUp, call_until
from dpkit.auditing.draw_outputs import Sampler, copied, flat
from dpkit.errors import InvalidValueError
from dpkit.numerics.special import Array, asfloat

_MOST, _LEAST, _SHARE = 4, 3, 40
"""Calls, and outputs of each; fewer where the budget is small: of every 40 samples, one is spent on looking."""
_SHUFFLES = 8_000
_LEVEL = 2e-3
"""How often independent outputs are called dependent. Then they are drawn one by one, which costs time and nothing else."""
_ENTRIES = 2
_KOLMOGOROV = 1.95
UNFINISHED = "unfinished"


class Pilot(NamedTuple):
    """How outputs of one call depend on each other, in words; the samples that it took; and these, of either side.

    Nothing is kept where some were no numbers of one form.
    """

    found: str
    drawn: int
    outputs: tuple[Array, Array] | None = None


class KnownIndependent:
    """A function whose outputs of one call are known to be independent: it is not looked at."""

    independent = True

    def __init__(self, fn: Sampler) -> None:
        self.audited = fn

    def __call__(self, dataset: object, n: int, rng: np.random.Generator) -> npt.ArrayLike:
        """n outputs."""
        return self.audited(dataset, n, rng)


class SingleCalls:
    """A function whose outputs are drawn one a call: what a batch shares is not shared, and nothing else changes."""

    independent = True

    def __init__(self, fn: Sampler) -> None:
        self.audited = fn

    def __call__(self, dataset: object, n: int, rng: np.random.Generator) -> npt.ArrayLike:
        """n calls for one output."""
        parts = [self.audited(copied(dataset), 1, rng) for _ in range(n)]
        if any(isinstance(part, list | tuple) for part in parts):
            return [item for part in parts for item in part]  # type: ignore[union-attr,return-value]
        return np.concatenate([np.asarray(part) for part in parts])


def pilot_size(samples: int) -> int:
    """How many calls, and outputs of each call, a budget of samples allows for looking; 0 where it allows none."""
    size = min(_MOST, math.isqrt(samples // _SHARE))
    return size if size >= _LEAST else 0


def find_dependence(
    fn: Sampler, pair: tuple[object, object], size: int, seed: np.random.SeedSequence, *, until: float | None = None
) -> Pilot:
    """How outputs of one call depend on each other; nothing where no dependence is seen.

    `size` calls for `size` outputs each are held against as many calls for one output. Outputs that share something within a
    call lie nearer to each other than to those of other calls (a permutation test of the variance within calls); and their
    distribution must be that of single calls (a permutation test of Kolmogorov and Smirnov's distance). UNFINISHED where the
    moment `until` came first.
    """
    rng = np.random.default_rng(seed)
    found, drawn = "", 0
    kept: list[Array] = []
    for dataset in pair:
        calls: list[Array] = []
        singles: list[Array] = []
        try:
            for asked, part in ((size, calls), (1, singles)):
                for _ in range(size * size // asked):
                    if until is not None and time.monotonic() > until:
                        return Pilot(UNFINISHED, drawn + sum(len(call) for call in calls) + len(singles))
                    with call_until(until):
                        part.append(flat(_numbers(fn(copied(dataset), asked, rng))))
        except KeyboardInterrupt:
            raise
        except TimeUp:
            return Pilot(UNFINISHED, drawn + sum(len(call) for call in calls) + len(singles))
        except BaseException:  # noqa: BLE001 - what a function raises is for the audit that follows to see
            return Pilot("", drawn)
        drawn += 2 * size * size
        if any(call.shape != calls[0].shape for call in calls) or any(one.shape != calls[0][:1].shape for one in singles):
            return Pilot("", drawn)
        batch, alone = np.stack(calls), np.concatenate(singles)
        kept.append(np.concatenate([*calls, alone]))
        entries = min(batch.shape[2], _ENTRIES)
        for entry in range(entries):
            level = _LEVEL / (4.0 * entries)
            if _clusters(batch[:, :, entry], rng) <= level:
                found = found or "outputs of one call depend on each other"
            elif _differ(batch[:, :, entry].ravel(), alone[:, entry], rng) <= level:
                found = found or "the outputs of one call of n are distributed otherwise than those of n calls of one"
    return Pilot(found, drawn, (kept[0], kept[1]) if kept[0].shape == kept[1].shape else None)


def unlike(batches: tuple[Array, Array], singles: tuple[Array, Array]) -> bool:
    """Whether outputs of calls for many are distributed otherwise than these of single calls, by Kolmogorov and Smirnov.

    Outputs that share something within a call are: there are fewer of them than it seems. Independent ones are called so with
    probability about 1e-3; then they are drawn one by one, which costs samples and nothing else.
    """
    for many, alone in zip(map(flat, batches), map(flat, singles), strict=True):
        if many.shape[1] != alone.shape[1] or not len(many) or not len(alone):
            continue
        scale = math.sqrt(len(many) * len(alone) / (len(many) + len(alone)))
        for entry in range(min(many.shape[1], _ENTRIES)):
            one, two = np.sort(many[:, entry]), np.sort(alone[:, entry])
            at = np.concatenate([one, two])
            gaps = np.searchsorted(one, at, "right") / one.size - np.searchsorted(two, at, "right") / two.size
            if scale * float(np.abs(gaps).max()) > _KOLMOGOROV:
                return True
    return False


def _numbers(outputs: object) -> Array:
    array = np.asarray(outputs)
    if array.dtype.kind not in "biuf" or array.ndim == 0:
        raise InvalidValueError(field="target", found="other outputs", allowed="numbers", where="audit")
    return np.nan_to_num(asfloat(array.reshape(array.shape[0], -1)), nan=-2e300, posinf=1e300, neginf=-1e300)


def _ranks(values: Array) -> Array:
    """Ranks, the mean of them for ties."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return asfloat((np.cumsum(counts) - 0.5 * (counts - 1))[inverse])


def _clusters(calls: Array, rng: np.random.Generator) -> float:
    """The p-value of how far the means of ranks of the calls are apart; 1 where all outputs are equal."""
    ranks = _ranks(calls.ravel())
    if ranks.min() == ranks.max():
        return 1.0
    shuffled = rng.permuted(np.tile(ranks, (_SHUFFLES, 1)), axis=1).reshape(_SHUFFLES, *calls.shape)
    spread = shuffled.mean(axis=2).var(axis=1)
    seen = ranks.reshape(calls.shape).mean(axis=1).var()
    return float((1 + np.count_nonzero(spread >= seen * (1.0 - 1e-12))) / (_SHUFFLES + 1))


def _differ(one: Array, two: Array, rng: np.random.Generator) -> float:
    """The p-value of the largest distance between two empirical distributions."""
    pooled = np.concatenate([one, two])
    order = np.argsort(pooled, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(pooled[order]) > 0, True))

    def distance(signs: Array) -> Array:
        return asfloat(np.abs(np.cumsum(signs, axis=-1)[..., ends]).max(axis=-1))

    signs = np.concatenate([np.full(one.size, 1.0 / one.size), np.full(two.size, -1.0 / two.size)])[order]
    shuffled = rng.permuted(np.tile(signs, (_SHUFFLES, 1)), axis=1)
    return float((1 + np.count_nonzero(distance(shuffled) >= distance(signs) - 1e-12)) / (_SHUFFLES + 1))
