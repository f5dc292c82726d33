"""Private keys, which nobody declared: their noise, and how many people have each where a person has one."""

from __future__ import annotations

import math
from dataclasses import field, replace

import numpy as np
import numpy.typing as npt

import dpkit
from dpkit.authoring import dataclass, finite_number
from dpkit_stats.noise_errors import each_of
from dpkit_stats.one_release import CONFIDENCE
from dpkit_stats.results import Answer, GroupTable

KeyNoise = dpkit.ThresholdedGeometric | dpkit.ThresholdedGaussian
_SMALLEST = 1e-7
"""The smallest scale: below what the largest budget that a file may state would take."""


def holds_one_key(setting: dpkit.Setting) -> bool:
    """Whether a person has one key at most: each is a row, or one row of each is used."""
    return keys_of_a_person(setting) == 1


def keys_of_a_person(setting: dpkit.Setting) -> int:
    """How many keys a person has at most: as many as rows of theirs are used."""
    return int(getattr(getattr(setting, "unit", None), "at_most", 1))


def key_noise(setting: dpkit.Setting, keys: dpkit.KeyColumn, multiplier: float) -> KeyNoise:
    """Geometric noise where it was asked for and a person has one key; else Gaussian noise, on weights where they have more."""
    wanted = finite_number(multiplier, field="noise", where="keys", minimum=0.0, strict=True)
    both = 2 if setting.neighbours is dpkit.Neighbours.REPLACE_ONE else 1
    if keys.noise == "geometric" and holds_one_key(setting):
        return dpkit.ThresholdedGeometric(scale=max(both * wanted / math.sqrt(2.0), _SMALLEST), delta=keys.delta / both)
    scale = max(math.sqrt(both) * wanted, _SMALLEST)
    return dpkit.ThresholdedGaussian(scale=scale, delta=keys.delta, keys=keys_of_a_person(setting))


def key_advice(noise: KeyNoise) -> tuple[str, ...]:
    """From how many people on a key is likelier to come out than not."""
    people = math.ceil(noise.threshold) + 1
    one = isinstance(noise, dpkit.ThresholdedGeometric) or noise.keys == 1
    who = "people" if one else "people with no other key"
    return (f"keys that fewer than about {people} {who} have mostly stay out.",)


def released_keys(curator: dpkit.Curator, query: dpkit.KeyQuery, noise: KeyNoise) -> dpkit.ReleasedKeys:
    """The keys that come out; refused by a curator that knows nothing of keys."""
    if not isinstance(curator, dpkit.ReleasesKeys):
        found, allowed = type(curator).__name__, "one that releases keys"
        raise dpkit.InvalidValueError(field="curator", found=found, allowed=allowed, where="keys")
    return curator.release_keys(query, noise)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedKeysState:
    """The noise multiplier, and the keys that came out with their noisy counts, if anything did."""

    noise: float
    keys: tuple[str, ...] | None = None
    counts: npt.NDArray[np.generic] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedKeys:
    """How many people have each key, where a person has one: keys and counts from one release.

    A count comes out because its noise was not too small, so intervals are those of the law given that it came out.
    """

    setting: dpkit.Setting
    keys: dpkit.KeyColumn

    def plan(self, noise: float) -> dpkit.Event:
        """One release."""
        return dpkit.planned_keys(self.setting, self._query, self._noise(noise))

    def init(self, noise: float) -> CountedKeysState:
        """Nothing released yet."""
        return CountedKeysState(noise=finite_number(noise, field="noise", where="keys", minimum=0.0, strict=True))

    def step(self, state: CountedKeysState, curator: dpkit.Curator) -> CountedKeysState:
        """The release."""
        released = released_keys(curator, self._query, self._noise(state.noise))
        return replace(state, keys=released.texts, counts=released.numbers)

    def finished(self, state: CountedKeysState) -> bool:
        """After one step."""
        return state.keys is not None

    def result(self, state: CountedKeysState) -> Answer | None:
        """One row a key."""
        if state.keys is None or state.counts is None:
            return None
        noise = self._noise(state.noise)
        each = each_of(len(state.keys), CONFIDENCE)
        counts = np.asarray(state.counts, dtype=np.float64).tolist()
        rows = tuple((key, count, *_interval(noise, count, each)) for key, count in zip(state.keys, counts, strict=True))
        columns = (self.keys.shown, "estimate", "lower", "upper")
        return GroupTable(columns=columns, rows=rows, confidence=CONFIDENCE)

    def accuracy(self, noise: float, confidence: float = CONFIDENCE, *, rows: int | None = None) -> float:
        """Of a key that many people have."""
        found = self._noise(noise)
        if isinstance(found, dpkit.ThresholdedGaussian):
            return dpkit.Gaussian(scale=found.scale).accuracy((), confidence)
        return min(float(found.threshold), dpkit.DiscreteLaplace(scale=found.scale).accuracy((), confidence))

    def advice(self, noise: float) -> tuple[str, ...]:
        """Which keys to expect."""
        return key_advice(self._noise(noise))

    @property
    def _query(self) -> dpkit.KeyQuery:
        return dpkit.KeyQuery(column=self.keys.column)

    def _noise(self, multiplier: float) -> KeyNoise:
        return key_noise(self.setting, self.keys, multiplier)


def _interval(noise: KeyNoise, count: float, confidence: float) -> tuple[float, float]:
    """The true counts under which what came out is not among the rarest outcomes on either side, given that it came out."""
    tail = (1.0 - confidence) / 2.0
    if isinstance(noise, dpkit.ThresholdedGaussian):
        least, most = (_gaussian_end(noise, count, share) for share in (tail, 1.0 - tail))
        return max(1.0, least), max(1.0, most)
    longest, often = noise.cut
    true = np.maximum(1.0, count - np.arange(longest, -longest - 1, -1.0))

    def comes_out(at_least: float) -> npt.NDArray[np.float64]:
        """The probability of coming out with this number or a larger one, for each true count."""
        each = [
            share * _at_least(noise.scale, np.maximum(at_least, length + 1.0) - true, length)
            for length, share in ((longest, 1.0 - often), (longest - 1, often))
        ]
        return each[0] + each[1]

    out = np.maximum(comes_out(0.0), 1e-300)
    above, below = comes_out(count) / out, 1.0 - comes_out(count + 1.0) / out
    possible = true[(above >= tail) & (below >= tail)]
    return (float(possible.min()), float(possible.max())) if possible.size else (count, count)


def _gaussian_end(noise: dpkit.ThresholdedGaussian, count: float, share: float) -> float:
    """The true count at which so large a number comes out with this probability, given that it comes out."""
    from scipy.special import log_ndtr

    low, high = count - 40.0 * noise.scale, count + 40.0 * noise.scale
    for _ in range(80):
        middle = 0.5 * (low + high)
        above = log_ndtr((middle - count) / noise.scale) - log_ndtr((middle - noise.threshold) / noise.scale)
        low, high = (low, middle) if above > math.log(share) else (middle, high)
    return high


def _at_least(scale: float, noise: npt.NDArray[np.float64], longest: int) -> npt.NDArray[np.float64]:
    """P(noise >= x) of geometric noise that is cut at this length, for whole x."""
    q = math.exp(-1.0 / scale)
    steps = np.exp(-np.abs(np.arange(-longest, longest + 1)) / scale) * (1.0 - q)
    tails = np.append(np.cumsum(steps[::-1])[::-1], 0.0) / steps.sum()
    return np.asarray(tails[np.clip(noise + longest, 0, 2 * longest + 1).astype(np.int64)])
