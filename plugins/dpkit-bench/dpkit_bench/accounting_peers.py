"""The workloads of the accounting benchmark in the words of each peer; a peer has those that it has an equivalent of."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import ModuleType

import numpy as np

from dpkit_bench.peers import peer

LAPLACE, PURE, GAUSSIAN, SUBSAMPLED, SELDOM, OFTEN, EPOCH, NOISY_EPOCH, MIXTURE = (
    "40 Laplace",
    "40 pure",
    "1,000 Gaussian",
    "10,000 subsampled Gaussian",
    "10,000 at a rate of 0.001",
    "10,000 at a rate of 0.1",
    "an epoch of 1,000, sigma 1",
    "an epoch of 1,000, sigma 0.6",
    "500 Laplace and 500 Gaussian, all different",
)
DELTA = 1e-6
GRIDS = (1e-4, 1e-5)
"""dp-accounting's default discretisation interval, and one that is ten times as fine."""
ERRORS = (1e-1, 1e-3)
"""prv-accountant's error in epsilon: what its authors call typical, and a hundredth of that."""

TRAINING: dict[str, tuple[float, float, int]] = {
    SUBSAMPLED: (0.01, 1.0, 10_000),
    SELDOM: (0.001, 1.0, 10_000),
    OFTEN: (0.1, 1.0, 10_000),
    EPOCH: (0.001, 1.0, 1000),
    NOISY_EPOCH: (0.001, 0.6, 1000),
}
"""Rate, sigma and steps of Gaussian noise on Poisson samples."""

Asked = Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerRun:
    """One workload by one peer; `accountant` is ours that does the same, by name."""

    workload: str
    peer: str
    epsilon: Asked
    accountant: str = "pld"
    is_slow: bool = False


def mixture_scales() -> tuple[list[float], list[float]]:
    """The scales of the mixture: 500 of Laplace and 500 of Gaussian noise."""
    rng = np.random.default_rng(0)
    return rng.uniform(5, 50, 500).tolist(), rng.uniform(10, 100, 500).tolist()


def peer_runs() -> tuple[list[PeerRun], tuple[str, ...]]:
    """Every workload by every peer that is here, and what is said of the others."""
    runs: list[PeerRun] = []
    notes: tuple[str, ...] = ()
    for module, package, words in (
        ("dp_accounting.pld.privacy_loss_distribution", "dp_accounting", _dp_accounting),
        ("prv_accountant", "prv_accountant", _prv_accountant),
        ("opendp.prelude", "opendp", _opendp),
    ):
        found, missing = peer(module, of=package)
        notes += missing
        runs += [] if found is None else words(found)
    return runs, notes


def _dp_accounting(pld: ModuleType) -> list[PeerRun]:
    def repeated(make: Callable[..., object], times: int, grid: float, *scale: object, **more: object) -> float:
        one: object = make(*scale, value_discretization_interval=grid, **more)
        return float(one.self_compose(times).get_epsilon_for_delta(DELTA))  # type: ignore[attr-defined]

    def mixture(grid: float) -> float:
        total = pld.identity(value_discretization_interval=grid)
        for make, scales in zip((pld.from_laplace_mechanism, pld.from_gaussian_mechanism), mixture_scales(), strict=True):
            for scale in scales:
                total = total.compose(make(scale, value_discretization_interval=grid))
        return float(total.get_epsilon_for_delta(DELTA))

    lie = 2.0 / (1.0 + math.exp(0.15))
    runs = []
    for grid in GRIDS:
        asked: dict[str, Asked] = {
            LAPLACE: partial(repeated, pld.from_laplace_mechanism, 40, grid, 1.0 / 0.15),
            PURE: partial(repeated, pld.from_randomized_response, 40, grid, lie, 2),
            GAUSSIAN: partial(repeated, pld.from_gaussian_mechanism, 1000, grid, 20.0),
        }
        for name, (rate, sigma, steps) in TRAINING.items():
            asked[name] = partial(repeated, pld.from_gaussian_mechanism, steps, grid, sigma, sampling_prob=rate)
        if grid == GRIDS[0]:  # a finer one would take minutes
            asked[MIXTURE] = partial(mixture, grid)
        name = f"dp-accounting, grid {grid:g}"
        runs += [
            PeerRun(workload=workload, peer=name, epsilon=run, is_slow=grid < GRIDS[0] or workload in (*TRAINING, MIXTURE))
            for workload, run in asked.items()
        ]
    return runs


def _prv_accountant(prv: ModuleType) -> list[PeerRun]:
    def upper(make: Callable[[], object], times: int, error: float) -> float:
        accountant = prv.PRVAccountant(prvs=make(), max_self_compositions=times, eps_error=error, delta_error=1e-3 * DELTA)
        return float(accountant.compute_epsilon(delta=DELTA, num_self_compositions=[times])[2])

    made: dict[str, tuple[Callable[[], object], int]] = {
        LAPLACE: (partial(prv.LaplaceMechanism, mu=0.15), 40),
        PURE: (partial(prv.PureDPMechanism, eps=0.15), 40),
        GAUSSIAN: (partial(prv.GaussianMechanism, noise_multiplier=20.0), 1000),
        SUBSAMPLED: (
            partial(prv.PoissonSubsampledGaussianMechanism, sampling_probability=0.01, noise_multiplier=1.0),
            10_000,
        ),
    }
    return [
        PeerRun(
            workload=workload,
            peer=f"prv-accountant, error {error:g}",
            epsilon=partial(upper, make, times, error),
            is_slow=error < ERRORS[0] or workload == SUBSAMPLED,
        )
        for error in ERRORS
        for workload, (make, times) in made.items()
        if error == ERRORS[0] or workload != SUBSAMPLED  # a finer one would take minutes
    ]


def _opendp(dp: ModuleType) -> list[PeerRun]:
    """It composes pure losses by adding epsilon, and Gaussian noise by adding rho: so are ours asked to."""
    dp.enable_features("contrib")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)

    def laplace() -> float:
        return float(dp.c.make_composition([dp.m.make_laplace(*space, scale=1.0 / 0.15)] * 40).map(1.0))

    def gaussian() -> float:
        together = dp.c.make_composition([dp.m.make_gaussian(*space, scale=20.0)] * 1000)
        return float(dp.c.make_zCDP_to_approxDP(together).map(1.0).epsilon(delta=DELTA))

    return [
        PeerRun(workload=LAPLACE, peer="opendp, by epsilon", epsilon=laplace, accountant="pure"),
        PeerRun(workload=GAUSSIAN, peer="opendp, by rho", epsilon=gaussian, accountant="zcdp"),
    ]
