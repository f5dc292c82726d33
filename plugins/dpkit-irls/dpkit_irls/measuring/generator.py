"""Synthetic regressions: the paper's generator and harder designs. Public data, to measure accuracy before spending.

The paper's choices: X of independent normals, divided by its largest row norm; theta of independent normals; y is X theta
plus noise of standard deviation 0.1. Test points are fresh (2,000 of them). A gap is in nats a test point: the excess of the
mean squared error over that of non-private IRLS, over twice the variance of the noise.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpkit.authoring import dataclass

Array = npt.NDArray[np.float64]

SIGMA = 0.1
TEST_POINTS = 2_000
DESIGNS = ("paper", "ar", "scaled", "binary", "t3", "uniform", "intercept")
DECADES = 3.0
"""How far the standard deviations of the columns of `scaled` are apart, in powers of ten."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample:
    """Training and test points, the bounds that an analyst would declare, and the error of the true coefficients."""

    x: Array
    y: Array
    test_x: Array
    test_y: Array
    x_bound: float
    y_bound: float
    intercept: bool
    truth: float

    def loosened(self, factor: float) -> Sample:
        """The same with bounds that are too loose by this factor."""
        from dataclasses import replace

        return replace(self, x_bound=self.x_bound * factor, y_bound=self.y_bound * factor)


def sample(design: str, rows: int, rng: np.random.Generator, *, features: int = 10, outliers: bool = False) -> Sample:
    """One dataset. With `outliers`, noise is Student's t with 2 degrees of freedom and 5% of the targets are 20 noises off."""
    count = rows + TEST_POINTS
    x = _features(design, count, features, rng)
    x = x / np.max(np.linalg.norm(x[:rows], axis=1))
    theta = rng.normal(size=features)
    signal = x @ theta + (0.5 if design == "intercept" else 0.0)
    noise = SIGMA * rng.normal(size=count)
    if outliers:
        noise[:rows] = SIGMA * rng.standard_t(2, size=rows) + np.where(rng.random(rows) < 0.05, 20.0 * SIGMA, 0.0)
    y = signal + noise
    bound = 1.0
    if design == "scaled":
        x = x * 10.0 ** np.linspace(-DECADES / 2, DECADES / 2, features)
        bound = 10.0 ** (DECADES / 2)  # one bound for all: the analyst does not know the units
    return Sample(
        x=x[:rows],
        y=y[:rows],
        test_x=x[rows:],
        test_y=y[rows:],
        x_bound=bound,
        y_bound=float(np.max(np.abs(y[:rows]))),
        intercept=design == "intercept",
        truth=float(np.mean(noise[rows:] ** 2) / (2.0 * SIGMA**2)),
    )


def _features(design: str, count: int, features: int, rng: np.random.Generator) -> Array:
    if design == "ar":
        return np.asarray(rng.normal(size=(count, features)) @ np.linalg.cholesky(_autoregressive(features)).T)
    if design == "binary":
        return np.asarray((rng.random((count, features)) < 0.3).astype(np.float64))
    if design == "t3":
        return np.asarray(rng.standard_t(3, size=(count, features)))
    if design == "uniform":
        return np.asarray(rng.uniform(-1.0, 1.0, size=(count, features)))
    return np.asarray(rng.normal(size=(count, features)))


def _autoregressive(features: int) -> Array:
    places = np.arange(features)
    return np.asarray(0.9 ** np.abs(places[:, None] - places))


def non_private(data: Sample, *, weight_cap: float = 10.0, iterations: int = 50) -> Array:
    """IRLS without privacy, on targets divided by their largest magnitude, until it stands still.

    Coefficients, then the intercept if there is one.
    """
    x = np.column_stack([data.x, np.ones(len(data.y))]) if data.intercept else data.x
    units = np.maximum(np.linalg.norm(x, axis=0), 1e-12)
    x, y = x / units, data.y / np.max(np.abs(data.y))
    theta, weights = np.zeros(x.shape[1]), np.ones(len(y))
    for _ in range(iterations):
        before = theta
        weighted = x.T * weights
        theta = np.linalg.solve(weighted @ x, weighted @ y)
        if np.max(np.abs(theta - before)) <= 1e-9 * np.max(np.abs(theta)):
            break
        weights = 1.0 / np.maximum(1.0 / weight_cap, np.abs(y - x @ theta))
    return np.asarray(theta / units * np.max(np.abs(data.y)))


def error(data: Sample, coefficients: Array) -> float:
    """Mean squared error on the test points, over twice the variance of the noise: nats a point, up to a constant."""
    x = np.column_stack([data.test_x, np.ones(len(data.test_y))]) if data.intercept else data.test_x
    return float(np.mean((data.test_y - x @ coefficients) ** 2) / (2.0 * SIGMA**2))
