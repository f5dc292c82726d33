"""Additive noise: too small, just right, leaking a count, or right in real arithmetic and broken in floating point."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpkit.auditing.outputs import Sampler
from dpkit.auditing.zoo.entry import Entry
from dpkit.mechanisms.gaussian import Gaussian
from dpkit.mechanisms.laplace import Laplace
from dpkit.numerics.special import Array, asfloat
from dpkit.privacy.losses import GDP, ApproxDP, PureDP

_SIGMA = 3.730631634944469
"""The smallest standard deviation that is (1, 1e-5)-DP at a sensitivity of 1 (BW18)."""


def _laplace(scale: float) -> Sampler:
    def sampler(value: object, n: int, rng: np.random.Generator) -> Array:
        center = np.asarray(value, dtype=np.float64)
        return center + rng.laplace(scale=scale, size=(n, *center.shape))

    return sampler


def _gaussian(scale: float) -> Sampler:
    def sampler(value: object, n: int, rng: np.random.Generator) -> Array:
        center = np.asarray(value, dtype=np.float64)
        return center + rng.normal(scale=scale, size=(n, *center.shape))

    return sampler


def _exact(mechanism: Laplace | Gaussian) -> Sampler:
    def sampler(value: object, n: int, rng: np.random.Generator) -> Array:
        return mechanism.release_many(np.asarray(value, dtype=np.float64), n, rng)

    return sampler


def leaking_mean(data: object, n: int, rng: np.random.Generator) -> Array:
    """The mean of numbers in [0, 1] with noise 1/N, as if N were public, when a record may come or go."""
    records = np.asarray(data, dtype=np.float64)
    return asfloat(records.mean() + rng.laplace(scale=1.0 / records.size, size=n))


def prefix_sums(data: object, n: int, rng: np.random.Generator) -> Array:
    """Noisy counts, then their running sums: post-processing."""
    counts = np.asarray(data, dtype=np.float64)
    return asfloat(np.cumsum(counts + rng.laplace(scale=1.0, size=(n, counts.size)), axis=1))


def parallel_laplace(value: object, n: int, rng: np.random.Generator) -> Array:
    """Twenty answers about one value, each with a twentieth of epsilon: basic composition, and tight."""
    return asfloat(float(np.asarray(value)) + rng.laplace(scale=20.0, size=(n, 20)))


def truncated_geometric(value: object, n: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Two-sided geometric noise on a count, clamped to 0..5 (GRS09)."""
    half = 1.0 - np.exp(-1.0)
    noise = rng.geometric(half, size=n) - rng.geometric(half, size=n)
    return np.asarray(np.clip(np.int64(np.asarray(value)) + noise, 0, 5), dtype=np.int64)


_ONE = PureDP(epsilon=1.0)
_HISTOGRAMS = (np.array([2.0, 1.0, 1.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.0, 1.0, 1.0]))

ADDITIVE: tuple[Entry, ...] = (
    Entry(name="laplace half", sampler=_laplace(0.5), claim=_ONE, pair=(0.0, 1.0), truth="broken", about="half of the scale"),
    Entry(name="laplace 10%", sampler=_laplace(0.9), claim=_ONE, pair=(0.0, 1.0), truth="broken", about="nine tenths of it"),
    Entry(
        name="gaussian half, black box",
        sampler=_gaussian(_SIGMA / 2.0),
        claim=ApproxDP(epsilon=1.0, delta=1e-5),
        pair=(0.0, 1.0),
        truth="broken",
        about="half of sigma at delta = 1e-5, from samples alone",
    ),
    Entry(
        name="gaussian half, noise law",
        sampler=_gaussian(_SIGMA / 2.0),
        claim=ApproxDP(epsilon=1.0, delta=1e-5),
        pair=(0.0, 1.0),
        truth="broken",
        density=Gaussian(scale=_SIGMA),
        falsifiers=("noise law", "white box"),
        about="half of sigma at delta = 1e-5, where the law is declared",
    ),
    Entry(
        name="mean that leaks N",
        sampler=leaking_mean,
        claim=_ONE,
        pair=(np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])),
        truth="broken",
        about="noise of scale 1/N with the true N, under add-remove",
    ),
    Entry(
        name="noisy histogram 2",
        sampler=_laplace(0.5),
        claim=PureDP(epsilon=0.5),
        pair=_HISTOGRAMS,
        truth="broken",
        about="the scale is epsilon and not 1/epsilon (DWWZK18)",
    ),
    Entry(
        name="numpy laplace",
        sampler=_laplace(1.0),
        claim=_ONE,
        pair=(0.0, 1.0),
        truth="broken",
        falsifiers=("floating point",),
        floating_point=True,
        about="right in real arithmetic; its floats tell the value (Mir12)",
    ),
    Entry(
        name="numpy gaussian",
        sampler=_gaussian(1.0),
        claim=GDP(mu=1.0),
        pair=(0.0, 1.0),
        truth="broken",
        falsifiers=("floating point",),
        floating_point=True,
        about="right in real arithmetic; its floats tell the value",
    ),
    Entry(
        name="laplace", sampler=_exact(Laplace(scale=1.0)), claim=_ONE, pair=(0.0, 1.0), truth="right", about="at its boundary"
    ),
    Entry(
        name="gaussian",
        sampler=_exact(Gaussian(scale=1.0)),
        claim=GDP(mu=1.0),
        pair=(0.0, 1.0),
        truth="right",
        about="at its boundary, at several points of its profile",
    ),
    Entry(
        name="noisy histogram 1",
        sampler=_laplace(1.0),
        claim=_ONE,
        pair=_HISTOGRAMS,
        truth="right",
        about="one count moves by one",
    ),
    Entry(
        name="parallel laplace",
        sampler=parallel_laplace,
        claim=_ONE,
        pair=(0.0, 1.0),
        truth="right",
        about="twenty answers about one value, at a twentieth of epsilon each (BSBV21's LaplaceParallel)",
    ),
    Entry(
        name="prefix sums",
        sampler=prefix_sums,
        claim=_ONE,
        pair=(np.zeros(10), np.eye(10)[0]),
        truth="right",
        about="running sums of noisy counts, of which one moves (WDWKZ19)",
    ),
    Entry(
        name="truncated geometric",
        sampler=truncated_geometric,
        claim=_ONE,
        pair=(2, 3),
        truth="right",
        about="two-sided geometric noise, clamped",
    ),
)
