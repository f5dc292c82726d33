"""How fast exact noise is, beside numpy's inexact samplers, OpenDP's and diffprivlib's, all measured in one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import ModuleType

import numpy as np

from dpkit import NoiseLaw, exactly_rounded, secure_generator
from dpkit.numerics.noise.discrete_noise import add_saturating, discrete_gaussian, discrete_laplace
from dpkit.numerics.noise.exact_rounding import GAUSSIAN, LAPLACE
from dpkit.numerics.noise.noise_inputs import IntArray
from dpkit_bench import peers
from dpkit_bench.progress import measured
from dpkit_bench.timing import versus

Release = Callable[[], object]
Values = list[float] | list[int]
Make = Callable[[str, float, Values], Release]
_DELTA_OF_ONE = 0.126936737507
"""delta at epsilon = 1 of Gaussian noise whose scale is its sensitivity."""
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


def measure_noise(
    *, draws: int = 1_000_000, peer_draws: int = 10_000, repeats: int = 7
) -> tuple[list[NoiseRow], tuple[str, ...]]:
    """Time every sampler on vectors, ours from secure bits; notes on peers that are left out."""
    rows = list(_against_numpy(draws, repeats))
    notes: tuple[str, ...] = ()
    for module, package, make in (
        ("opendp.prelude", "opendp", _opendp),
        ("diffprivlib.mechanisms", "diffprivlib", _diffprivlib),
    ):
        found, missing = peers.peer(module, of=package)
        notes += missing
        if found is not None:
            rows.extend(_against(package, partial(make, found), draws, peer_draws, repeats))
    return rows, notes


def _against_numpy(draws: int, repeats: int) -> Iterator[NoiseRow]:
    value = np.linspace(-100.0, 100.0, draws)
    rng = np.random.default_rng(1)
    yield _compare("laplace", _ours(LAPLACE, value), draws, "numpy", lambda: value + rng.laplace(size=draws), draws, repeats)
    yield _compare("gaussian", _ours(GAUSSIAN, value), draws, "numpy", lambda: value + rng.normal(size=draws), draws, repeats)


def _against(peer_name: str, make: Make, draws: int, peer_draws: int, repeats: int) -> Iterator[NoiseRow]:
    value = np.linspace(-100.0, 100.0, draws)
    for name, law in (("laplace", LAPLACE), ("gaussian", GAUSSIAN)):
        theirs = make(name, 1.0, [0.5] * peer_draws)
        yield _compare(name, _ours(law, value), draws, peer_name, theirs, peer_draws, repeats)
    counts = np.arange(draws)
    rng = secure_generator()
    for name, sampler in (("laplace", discrete_laplace), ("gaussian", discrete_gaussian)):
        for scale in DISCRETE_SCALES:

            def ours(sampler: Callable[..., IntArray] = sampler, scale: float = scale) -> object:
                return add_saturating(counts, sampler(scale=scale, size=draws, rng=rng))

            theirs = make(name, scale, [5] * peer_draws)
            yield _compare(f"discrete {name} {scale:g}", ours, draws, peer_name, theirs, peer_draws, repeats)


def _ours(law: NoiseLaw, value: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Release:
    rng = secure_generator()
    return lambda: exactly_rounded(value, scale=1.0, law=law, rng=rng)


def _opendp(dp: ModuleType, name: str, scale: float, value: Values) -> Release:
    dp.enable_features("contrib")
    atom = type(value[0])
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False) if atom is float else dp.atom_domain(T=int))
    if name == "laplace":
        mechanism = dp.m.make_laplace(domain, dp.l1_distance(T=atom), scale=scale)
    else:
        mechanism = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale)
    return lambda: mechanism(value)


def _diffprivlib(mechanisms: ModuleType, name: str, scale: float, value: Values) -> Release:
    """It draws one number a call. Its scales follow from epsilon; those of Gaussian noise within its own rounding."""
    is_whole = isinstance(value[0], int)
    if name == "laplace":
        kind = mechanisms.Geometric if is_whole else mechanisms.Laplace
        made = kind(epsilon=1.0, sensitivity=round(scale) if is_whole else scale)
    elif is_whole:
        made = mechanisms.GaussianDiscrete(epsilon=1.0, delta=_DELTA_OF_ONE, sensitivity=round(scale))
    else:
        made = mechanisms.GaussianAnalytic(epsilon=1.0, delta=_DELTA_OF_ONE, sensitivity=scale)
    return lambda: [made.randomise(item) for item in value]


def _compare(
    name: str, ours: Release, ours_draws: int, peer: str, peer_release: Release, peer_draws: int, repeats: int
) -> NoiseRow:
    """The first run of each warms up."""
    ours()
    peer_release()
    times = versus(ours, peer_release, repeats=repeats)
    measured(f"{name} beside {peer}")
    rates = ours_draws / times.ours, peer_draws / times.peer
    return NoiseRow(
        name=name,
        ours_per_second=rates[0],
        ours_spread=times.ours_spread,
        peer=peer,
        peer_per_second=rates[1],
        peer_spread=times.peer_spread,
        ratio=rates[0] / rates[1],
    )
