"""dpkit's own entries of the zoo: additive noise, the sparse vector technique, noisy maxima and randomised answers.

Epsilon is 1 where nothing else is said.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dpkit.auditing.draw_outputs import Sampler
from dpkit.contracts.zoo import ZooEntry
from dpkit.mechanisms.gaussian import Gaussian
from dpkit.mechanisms.laplace import Laplace
from dpkit.mechanisms.randomized_response import RandomizedResponse
from dpkit.numerics.special import Array, asfloat
from dpkit.privacy.losses import GDP, ApproxDP, Loss, PureDP

_SIGMA = 3.730631634944469
"""The smallest standard deviation that is (1, 1e-5)-DP at a sensitivity of 1 (BW18)."""


def _floats(data: object) -> Array:
    return np.asarray(data, dtype=np.float64)


def _additive(law: Literal["laplace", "normal"], scale: float) -> Sampler:
    """numpy's noise: right in real arithmetic at the right scale, and broken in floating point."""

    def sampler(value: object, n: int, rng: np.random.Generator) -> Array:
        center = _floats(value)
        return asfloat(center + getattr(rng, law)(scale=scale, size=(n, *center.shape)))

    return sampler


def _released(mechanism: Laplace | Gaussian) -> Sampler:
    return lambda value, n, rng: mechanism.release_many(_floats(value), n, rng)


def leaking_mean(data: object, n: int, rng: np.random.Generator) -> Array:
    """The mean of numbers in [0, 1] with noise 1/N, as if N were public, when a record may come or go."""
    records = _floats(data)
    return asfloat(records.mean() + rng.laplace(scale=1.0 / records.size, size=n))


def prefix_sums(data: object, n: int, rng: np.random.Generator) -> Array:
    """Noisy counts, then their running sums: post-processing."""
    counts = _floats(data)
    return asfloat(np.cumsum(counts + rng.laplace(scale=1.0, size=(n, counts.size)), axis=1))


def parallel_laplace(value: object, n: int, rng: np.random.Generator) -> Array:
    """Twenty answers about one value, each with a twentieth of epsilon: basic composition, and tight."""
    return asfloat(float(_floats(value)) + rng.laplace(scale=20.0, size=(n, 20)))


def truncated_geometric(value: object, n: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Two-sided geometric noise on a count, clamped to 0..5 (GRS09)."""
    half = 1.0 - np.exp(-1.0)
    noise = rng.geometric(half, size=n) - rng.geometric(half, size=n)
    return np.asarray(np.clip(np.int64(np.asarray(value)) + noise, 0, 5), dtype=np.int64)


# The sparse vector technique in the six versions of Lyu, Su and Li (LSL17, Figure 1): 1 and 2 are right, 3 to 6 are not.
# Outputs: 1 above, 0 below, -1 after the end; version 3 gives the noisy answer itself instead of 1. The sensitivity and the
# threshold are 1.
_T = 1.0


def _asked(data: object, noise: float, n: int, rng: np.random.Generator) -> Array:
    answers = _floats(data)
    if noise == 0.0:
        return np.broadcast_to(answers, (n, answers.size)).copy()
    return answers + rng.laplace(scale=noise, size=(n, answers.size))


def _ended(above: Array, limit: int) -> Array:
    """-1 after the limit-th answer above."""
    before = np.cumsum(above, axis=1) - above
    return np.where(before >= limit, -1.0, above)


def svt(*, threshold_noise: float, query_noise: float, limit: int | None) -> Sampler:
    """Compare noisy answers with one noisy threshold; stop after `limit` answers above."""

    def sampler(data: object, n: int, rng: np.random.Generator) -> Array:
        threshold = _T + rng.laplace(scale=threshold_noise, size=(n, 1))
        above = (_asked(data, query_noise, n, rng) >= threshold).astype(np.float64)
        return above if limit is None else _ended(above, limit)

    return sampler


def svt_two(data: object, n: int, rng: np.random.Generator) -> Array:
    """Version 2 draws a new threshold after each answer above (DR14); it stops after the first."""
    noisy = _asked(data, 4.0, n, rng)
    out = np.full(noisy.shape, -1.0)
    threshold = _T + rng.laplace(scale=2.0, size=n)
    count = np.zeros(n, dtype=np.int64)
    for j in range(noisy.shape[1]):
        running = count < 1
        above = running & (noisy[:, j] >= threshold)
        out[:, j] = np.where(running, above, -1.0)
        count += above
        threshold = np.where(above, _T + rng.laplace(scale=2.0, size=n), threshold)
    return out


def svt_three(data: object, n: int, rng: np.random.Generator) -> Array:
    """Version 3 releases the noisy answer that was compared; it stops after the first above."""
    threshold = _T + rng.laplace(scale=2.0, size=(n, 1))
    noisy = _asked(data, 2.0, n, rng)
    ended = _ended((noisy >= threshold).astype(np.float64), 1)
    return np.where(ended == 1.0, noisy, np.where(ended == 0.0, -1000.0, -2000.0))


def noisy_max(noise: Literal["laplace", "exponential"], gives: Literal["index", "value"]) -> Sampler:
    """Noise of scale 2/epsilon on every score; the index (private) or the value (not) of the largest.

    Numbered 1 to 4 as by DP-Sniper and StatDP.
    """

    def sampler(data: object, n: int, rng: np.random.Generator) -> Array:
        scores = _floats(data)
        noisy = scores + getattr(rng, noise)(scale=2.0, size=(n, scores.size))
        return asfloat(np.argmax(noisy, axis=1) if gives == "index" else np.max(noisy, axis=1))

    return sampler


_F, _P, _Q, _BITS, _HASHES = 0.75, 0.45, 0.55, 8, 2


def rappor(*, once: bool) -> Sampler:
    """A permanent answer to each bit (kept with probability 1 - f/2); unless once, an instant answer to that one."""

    def sampler(data: object, n: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        bits = np.asarray(data)
        permanent = np.where(rng.random((n, bits.size)) < _F, rng.random((n, bits.size)) < 0.5, bits == 1)
        if once:
            return permanent.astype(np.int64)
        return (rng.random((n, bits.size)) < np.where(permanent, _Q, _P)).astype(np.int64)

    return sampler


def _respond(value: object, n: int, rng: np.random.Generator) -> npt.ArrayLike:
    return RandomizedResponse(epsilon=1.0, categories=4).release_many(np.int64(np.asarray(value)), n, rng)


def _instant_epsilon() -> float:
    """h ln[q*(1-p*) / (p*(1-q*))], rounded up: the loss of one instant answer (EPK14, section 3.2)."""
    ones = 0.5 * _F * (_P + _Q) + (1.0 - _F) * _Q
    zeros = 0.5 * _F * (_P + _Q) + (1.0 - _F) * _P
    return _HASHES * math.log(ones * (1.0 - zeros) / (zeros * (1.0 - ones))) * (1.0 + 1e-12)


def _entry(
    name: str,
    sampler: Sampler,
    claim: Loss,
    pair: tuple[object, object],
    truth: Literal["broken", "right"],
    about: str,
    **rest: Any,
) -> ZooEntry:
    return ZooEntry(name=name, sampler=sampler, claim=claim, pair=pair, truth=truth, about=about, **rest)


_ONE, _TINY = PureDP(epsilon=1.0), ApproxDP(epsilon=1.0, delta=1e-5)
_PERMANENT = PureDP(epsilon=2.0 * _HASHES * math.log((1.0 - 0.5 * _F) / (0.5 * _F)) * (1.0 + 1e-12))
_INSTANT = PureDP(epsilon=_instant_epsilon())
_STEP = (0.0, 1.0)
_COUNTS = (np.array([2.0, 1.0, 1.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.0, 1.0, 1.0]))
_MORE = (np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))
_OPPOSITE = (np.repeat([0.0, 1.0], 5), np.repeat([1.0, 0.0], 5))
_LATE = (np.array([0.0] * 9 + [2.0]), np.array([1.0] * 10))
_SWAPPED = (np.array([1.0, 0.0, 0.0, 0.0, 0.0]), np.array([0.0, 1.0, 1.0, 1.0, 1.0]))
_LIFTED = (np.zeros(5), np.ones(5))
_HASHED = (np.array([1, 1, 0, 0, 0, 0, 0, 0]), np.array([0, 0, 1, 1, 0, 0, 0, 0]))
"""Two values whose hashes set different bits: 2h bits differ."""
_BY_LAW: dict[str, Any] = {"density": Gaussian(scale=_SIGMA), "falsifiers": ("noise law", "white box")}
_BY_FLOATS: dict[str, Any] = {"falsifiers": ("floating point",), "floating_point": True}
_TWENTY = "twenty answers about one value, at a twentieth of epsilon each (BSBV21's LaplaceParallel)"
_LEE = "the answers' noise does not count the limit (Lee and Clifton): (1+6c)/4 epsilon"

# fmt: off
ENTRIES: tuple[ZooEntry, ...] = (
    _entry("laplace half", _additive("laplace", 0.5), _ONE, _STEP, "broken", "half of the scale"),
    _entry("laplace 10%", _additive("laplace", 0.9), _ONE, _STEP, "broken", "nine tenths of it"),
    _entry("gaussian half, black box", _additive("normal", _SIGMA / 2.0), _TINY, _STEP, "broken",
           "half of sigma at delta = 1e-5, from samples alone"),
    _entry("gaussian half, noise law", _additive("normal", _SIGMA / 2.0), _TINY, _STEP, "broken",
           "half of sigma at delta = 1e-5, where the law is declared", **_BY_LAW),
    _entry("mean that leaks N", leaking_mean, _ONE, _MORE, "broken", "noise of scale 1/N with the true N, under add-remove"),
    _entry("noisy histogram 2", _additive("laplace", 0.5), PureDP(epsilon=0.5), _COUNTS, "broken",
           "the scale is epsilon and not 1/epsilon (DWWZK18)"),
    _entry("numpy laplace", _additive("laplace", 1.0), _ONE, _STEP, "broken",
           "right in real arithmetic; its floats tell the value (Mir12)", **_BY_FLOATS),
    _entry("numpy gaussian", _additive("normal", 1.0), GDP(mu=1.0), _STEP, "broken",
           "right in real arithmetic; its floats tell the value", **_BY_FLOATS),
    _entry("laplace", _released(Laplace(scale=1.0)), _ONE, _STEP, "right", "at its boundary"),
    _entry("gaussian", _released(Gaussian(scale=1.0)), GDP(mu=1.0), _STEP, "right",
           "at its boundary, at several points of its profile"),
    _entry("noisy histogram 1", _additive("laplace", 1.0), _ONE, _COUNTS, "right", "one count moves by one"),
    _entry("parallel laplace", parallel_laplace, _ONE, _STEP, "right", _TWENTY),
    _entry("prefix sums", prefix_sums, _ONE, (np.zeros(10), np.eye(10)[0]), "right",
           "running sums of noisy counts, of which one moves (WDWKZ19)"),
    _entry("truncated geometric", truncated_geometric, _ONE, (2, 3), "right", "two-sided geometric noise, clamped"),
    _entry("sparse vector 1", svt(threshold_noise=2.0, query_noise=4.0, limit=1), _ONE, _OPPOSITE, "right", "LSL17's own"),
    _entry("sparse vector 2", svt_two, _ONE, _OPPOSITE, "right", "DR14"),
    _entry("sparse vector 3", svt_three, _ONE, _LATE, "broken", "gives the noisy answer that was compared"),
    _entry("sparse vector 4", svt(threshold_noise=4.0, query_noise=4.0 / 3.0, limit=1), _ONE, _LATE, "broken", _LEE),
    _entry("sparse vector 5", svt(threshold_noise=2.0, query_noise=0.0, limit=None), _ONE, _OPPOSITE, "broken",
           "no noise on the answers (Stoddard et al.)"),
    _entry("sparse vector 6", svt(threshold_noise=2.0, query_noise=2.0, limit=None), _ONE, _OPPOSITE, "broken",
           "no limit on answers above (Chen et al.)"),
    _entry("noisy max 1", noisy_max("laplace", "index"), _ONE, _SWAPPED, "right", "the index, with Laplace noise"),
    _entry("noisy max 2", noisy_max("exponential", "index"), _ONE, _SWAPPED, "right", "the index, with exponential noise"),
    _entry("noisy max 3", noisy_max("laplace", "value"), _ONE, _LIFTED, "broken", "the value, with Laplace noise"),
    _entry("noisy max 4", noisy_max("exponential", "value"), _ONE, _LIFTED, "broken", "the value, with exponential noise"),
    _entry("one-time RAPPOR", rappor(once=True), _PERMANENT, _HASHED, "right", "the permanent answer alone"),
    _entry("RAPPOR", rappor(once=False), _INSTANT, _HASHED, "right", "one instant answer"),
    _entry("randomised response", _respond, _ONE, (0, 1), "right", "its loss is at its boundary in every sample"),
)
# fmt: on
