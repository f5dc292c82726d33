"""Measuring the accuracy of the forms on synthetic data: gaps to non-private IRLS, and the N at which they are small."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import field
from pathlib import Path

import numpy as np

from dpkit import ApproxDP, DeclaredSetting, Neighbours, Number, Registry, Schema, solve_noise
from dpkit.authoring import dataclass
from dpkit_irls.fit import Fit
from dpkit_irls.measuring.generator import Array, Sample, error, non_private, sample
from dpkit_irls.paper.paper_irls import PaperIRLS
from dpkit_irls.regressions import prepare
from dpkit_irls.simulated_run import last_state

BUDGET = ApproxDP(epsilon=0.9, delta=1e-6)
SMALL_GAP = 0.05
SEED = 20_261_116
"""Of the measurements; tuning used others."""
ACCEPTED = ("wishart", "gaussian", "taylor")

METHODS: dict[str, tuple[str, dict[str, object]]] = {
    "bounded": ("irls", {}),
    "moments": ("irls-moments", {}),
    "moments-iterates": ("irls-moments", {"average": "iterates"}),
    "moments-last": ("irls-moments", {"average": "none"}),
    "CDP-gau": ("irls-paper", {"noise": "gaussian", "calibration": "cdp", "accept_refuted": ACCEPTED}),
    "CDP-gau, 1e-4": (
        "irls-paper",
        {"noise": "gaussian", "calibration": "cdp", "failure": 1e-4, "accept_refuted": ACCEPTED},
    ),
    "CDP-lap": ("irls-paper", {"noise": "laplace", "calibration": "cdp", "accept_refuted": ACCEPTED}),
    "DP-basic": ("irls-paper", {"noise": "laplace", "calibration": "conventional", "accept_refuted": ACCEPTED}),
    "DP-advanced": ("irls-paper", {"noise": "laplace", "calibration": "advanced", "accept_refuted": ACCEPTED}),
}
"""The algorithm and its parameters, by a name of ours. Sound ones meet (0.9, 1e-6);
those of the paper have its own epsilon = 0.9, whose guarantee does not hold."""


def registry() -> Registry:
    """The built-ins and this plugin, installed or not."""
    import dpkit_irls
    from dpkit import load_plugins

    return load_plugins(discover=False, extra={"irls": dpkit_irls}).registry


def fitted(data: Sample, method: str, rng: np.random.Generator, *, known: Registry, noise: dict[object, float]) -> Array:
    """Coefficients of one private fit (a simulation); `noise` remembers what was solved."""
    width = data.x.shape[1]
    names = [f"x{place}" for place in range(width)]
    features = tuple(Number(name=name, lower=-data.x_bound, upper=data.x_bound, missing=0.0) for name in names)
    target = Number(name="y", lower=-data.y_bound, upper=data.y_bound, missing=0.0)
    schema = Schema(columns=(*features, target))
    setting = DeclaredSetting(schema=schema, neighbours=Neighbours.REPLACE_ONE, rows=len(data.y))
    name, chosen = METHODS[method]
    bounds = {} if name == "irls" else {"x_bound": data.x_bound}
    algorithm = prepare(name, setting, features=names, target="y", intercept=data.intercept, **chosen, **bounds)
    key = (method, width, data.intercept)
    if key not in noise:
        if isinstance(algorithm, PaperIRLS):
            noise[key] = algorithm.published_noise(BUDGET.epsilon, BUDGET.delta)
        else:
            noise[key] = solve_noise([algorithm], BUDGET, accountant="gdp", neighbours=setting.neighbours, registry=known)[0][0]
    fit = algorithm.result(last_state(algorithm, noise[key], np.column_stack([data.x, data.y]), rng))
    assert isinstance(fit, Fit)
    return np.array([*fit.coefficients, fit.intercept]) if data.intercept else np.array(fit.coefficients)


@dataclass(slots=True, kw_only=True)
class Measurements:
    """Gaps by what was measured, kept in a JSON file, so that an interrupted run goes on where it was."""

    path: Path | None = None
    progress: Callable[[str], None] = lambda text: None
    gaps: dict[str, list[float]] = field(default_factory=dict)
    _known: Registry = field(default_factory=registry)
    _noise: dict[object, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is not None and self.path.exists():
            self.gaps = json.loads(self.path.read_text(encoding="utf-8"))

    def measured(
        self, method: str, rows: int, datasets: int, *, design: str = "paper", loose: float = 1.0, outliers: bool = False
    ) -> list[float]:
        """One gap a dataset. With outliers, and for `non-private`, it is the excess over the true coefficients instead."""
        return self.compared((method,), rows, datasets, design=design, loose=loose, outliers=outliers)[method]

    def compared(
        self,
        methods: Sequence[str],
        rows: int,
        datasets: int,
        *,
        design: str = "paper",
        loose: float = 1.0,
        outliers: bool = False,
    ) -> dict[str, list[float]]:
        """The same for several methods on the same datasets. What is kept is not measured again."""
        kept = {
            method: self.gaps.setdefault(f"{method} {design} N={rows} loose={loose:g} outliers={outliers}", [])
            for method in methods
        }
        for number in range(datasets):
            missing = [method for method in methods if len(kept[method]) == number]
            if not missing:
                continue
            # seeds depend on the dataset's number, on N and on the design alone
            entropy = [SEED, number, rows, *design.encode()]
            data = sample(design, rows, np.random.default_rng(entropy), outliers=outliers)
            best = error(data, non_private(data))
            for method in missing:
                kept[method].append(self._gap(data.loosened(loose), method, best, entropy, outliers=outliers))
                self.progress(f"{method}, {design}, N = {rows:,}, dataset {number + 1}: {kept[method][-1]:.4g}")
            if self.path is not None:
                self.path.write_text(json.dumps(self.gaps), encoding="utf-8")
        return {method: found[:datasets] for method, found in kept.items()}

    def _gap(self, data: Sample, method: str, best: float, entropy: list[int], *, outliers: bool) -> float:
        if method == "non-private":
            return best - data.truth
        rng = np.random.default_rng([*entropy, 1])
        private = error(data, fitted(data, method, rng, known=self._known, noise=self._noise))
        return private - (data.truth if outliers else best)

    def need(self, method: str, sizes: Sequence[int], datasets: int, *, design: str = "paper", loose: float = 1.0) -> float:
        """The N at which the mean gap falls to 0.05, interpolated on logarithms between the sizes around it.

        The last crossing counts: from there on the gap stays small at every size that was tried. Infinite where it never does.
        """
        means = [float(np.mean(self.measured(method, size, datasets, design=design, loose=loose))) for size in sizes]
        large = [index for index, mean in enumerate(means) if mean > SMALL_GAP]
        if not large:
            return float(sizes[0])
        place = large[-1]
        if place + 1 == len(sizes):
            return float("inf")
        above, below = np.log(means[place] / SMALL_GAP), np.log(SMALL_GAP / max(means[place + 1], 1e-9))
        share = above / (above + below)
        return float(np.exp((1.0 - share) * np.log(sizes[place]) + share * np.log(sizes[place + 1])))
