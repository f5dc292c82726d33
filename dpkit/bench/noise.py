"""How fast exact noise is, beside numpy's inexact samplers and OpenDP's, all measured in one run."""

from __future__ import annotations

import importlib.util
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dpkit.numerics.discrete_noise import add_saturating, discrete_gaussian, discrete_laplace
from dpkit.numerics.exact_rounding import NoiseLaw, exactly_rounded
from dpkit.numerics.gaussian_noise import GAUSSIAN
from dpkit.numerics.laplace_noise import LAPLACE
from dpkit.numerics.noise_inputs import IntArray
from dpkit.numerics.randomness import secure_generator

Release = Callable[[], object]
DISCRETE_SCALES = (1.0, 10.0, 1000.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseRow:
    """Samples a second of ours and of a peer: medians of the runs, and their spread (range over median)."""

    name: str
    ours_per_second: float
    ours_spread: float
    peer: str
    peer_per_second: float
    peer_spread: float
    ratio: float


def measure_noise(*, draws: int = 1_000_000, opendp_draws: int = 10_000, repeats: int = 7) -> list[NoiseRow]:
    """Time every sampler on vectors, ours from secure bits; OpenDP's rows are left out when it is not installed."""
    rows = list(_against_numpy(draws, repeats))
    if importlib.util.find_spec("opendp") is not None:
        rows.extend(_against_opendp(draws, opendp_draws, repeats))
    return rows


def _against_numpy(draws: int, repeats: int) -> Iterator[NoiseRow]:
    value = np.linspace(-100.0, 100.0, draws)
    rng = np.random.default_rng(1)
    yield _compare("laplace", _ours(LAPLACE, value), draws, "numpy", lambda: value + rng.laplace(size=draws), draws, repeats)
    yield _compare("gaussian", _ours(GAUSSIAN, value), draws, "numpy", lambda: value + rng.normal(size=draws), draws, repeats)


def _against_opendp(draws: int, peer_draws: int, repeats: int) -> Iterator[NoiseRow]:
    value = np.linspace(-100.0, 100.0, draws)
    for name, law in (("laplace", LAPLACE), ("gaussian", GAUSSIAN)):
        peer = _opendp(name, 1.0, [0.5] * peer_draws)
        yield _compare(name, _ours(law, value), draws, "opendp", peer, peer_draws, repeats)
    counts = np.arange(draws)
    rng = secure_generator()
    for name, sampler in (("laplace", discrete_laplace), ("gaussian", discrete_gaussian)):
        for scale in DISCRETE_SCALES:

            def ours(sampler: Callable[..., IntArray] = sampler, scale: float = scale) -> object:
                return add_saturating(counts, sampler(scale=scale, size=draws, rng=rng))

            peer = _opendp(name, scale, [5] * peer_draws)
            yield _compare(f"discrete {name} {scale:g}", ours, draws, "opendp", peer, peer_draws, repeats)


def _ours(law: NoiseLaw, value: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Release:
    rng = secure_generator()
    return lambda: exactly_rounded(value, scale=1.0, law=law, rng=rng)


def _opendp(name: str, scale: float, value: list[float] | list[int]) -> Release:
    import opendp.prelude as dp  # type: ignore[import-not-found, import-untyped, unused-ignore]

    dp.enable_features("contrib")
    atom = type(value[0])
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False) if atom is float else dp.atom_domain(T=int))
    if name == "laplace":
        mechanism = dp.m.make_laplace(domain, dp.l1_distance(T=atom), scale=scale)
    else:
        mechanism = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale)
    return lambda: mechanism(value)


def _compare(
    name: str, ours: Release, ours_draws: int, peer: str, peer_release: Release, peer_draws: int, repeats: int
) -> NoiseRow:
    """Alternate the two, so that both see the same machine."""
    ours()
    peer_release()
    times = [(_seconds(ours), _seconds(peer_release)) for _ in range(repeats)]
    ours_rate, ours_spread = _summary([ours_draws / mine for mine, _ in times])
    peer_rate, peer_spread = _summary([peer_draws / theirs for _, theirs in times])
    return NoiseRow(
        name=name,
        ours_per_second=ours_rate,
        ours_spread=ours_spread,
        peer=peer,
        peer_per_second=peer_rate,
        peer_spread=peer_spread,
        ratio=ours_rate / peer_rate,
    )


def _seconds(release: Release) -> float:
    start = time.perf_counter()
    release()
    return time.perf_counter() - start


def _summary(rates: list[float]) -> tuple[float, float]:
    median = statistics.median(rates)
    return median, (max(rates) - min(rates)) / median
