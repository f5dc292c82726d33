"""Populations on which intervals are measured: made-up features here, real ones in `real_designs`, always a made-up target.

Where the noise is independent of the features the value that a fit estimates is known: the slopes are the line's, and the
intercept moves by the location of the noise at the fit's threshold. Elsewhere (`line` is false) it is computed on many rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from functools import cache

import numpy as np
import numpy.typing as npt

from dpkit.authoring import dataclass

Array = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Array]
"""Features of a number of rows: numbers, then codes of categories."""
Noise = Callable[[np.random.Generator, Array], Array]
"""Noise of rows with this signal."""


def _normal_noise(rng: np.random.Generator, signal: Array) -> Array:
    return rng.normal(size=signal.size)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Design:
    """A population, what is declared of it, and the line that its targets follow.

    `bounds` are those of the numbers; `slopes` belong to them, `effects` to the levels of each category (0 for the first).
    `shares` of levels are declared to the plan. `line` says that every fit with bounded scores has these slopes; `symmetric`
    that its intercept is the line's too.
    """

    name: str
    draw: Draw
    bounds: tuple[tuple[float, float], ...]
    target_bounds: tuple[float, float]
    slopes: tuple[float, ...]
    effects: tuple[tuple[float, ...], ...] = ()
    constant: float = 0.0
    intercept: bool = True
    noise: Noise = field(default=_normal_noise)
    made: Callable[[Array], Array] = field(default=lambda y: y)
    line: bool = True
    symmetric: bool = True
    shares: tuple[tuple[float, ...], ...] = ()

    @property
    def truth(self) -> Array:
        """The line: slopes, effects of levels against the first, the intercept."""
        effects = [effect for levels in self.effects for effect in levels[1:]]
        return np.array([*self.slopes, *effects, *([self.constant] if self.intercept else [])])

    def rows(self, count: int, rng: np.random.Generator) -> Array:
        """A sample: features, then the target."""
        x = self.draw(rng, count)
        numbers = len(self.slopes)
        lower, upper = np.array(self.bounds).T
        x[:, :numbers] = np.clip(x[:, :numbers], lower, upper)
        signal = x[:, :numbers] @ np.array(self.slopes) + self.constant
        for place, effect in enumerate(self.effects, start=numbers):
            signal = signal + np.array(effect)[x[:, place].astype(np.int64)]
        return np.column_stack([x, np.clip(self.made(signal + self.noise(rng, signal)), *self.target_bounds)])

    def noise_location(self, threshold: float) -> float:
        """The root m of the mean of clip((e - m)/threshold, -1, 1) over the noise: by how much the intercept is moved."""
        if self.symmetric:
            return 0.0
        noise, sums = _sorted_noise(self.noise)
        low, high = float(noise[0]), float(noise[-1])
        for _ in range(50):
            middle = (low + high) / 2.0
            first, last = np.searchsorted(noise, [middle - threshold, middle + threshold])
            inside = (sums[last] - sums[first] - (last - first) * middle) / threshold
            low, high = (middle, high) if inside + (noise.size - last) - first > 0.0 else (low, middle)
        return (low + high) / 2.0


@cache
def _sorted_noise(noise: Noise) -> tuple[Array, Array]:
    """Many values in order, and the sums of the first ones."""
    found = np.sort(noise(np.random.default_rng(77_001), np.zeros(4_000_000)))
    return found, np.concatenate([[0.0], np.cumsum(found)])


def _plain(name: str, draw: Draw, *, size: int = 6, bound: float = 10.0) -> Design:
    """Numbers about 0, with slopes between -1 and 1 and an intercept."""
    slopes = tuple(np.linspace(-1.0, 1.0, size).tolist())
    bounds = ((-bound, bound),) * size
    return Design(name=name, draw=draw, bounds=bounds, target_bounds=(-50.0, 50.0), slopes=slopes, constant=2.0)


def _normal(size: int) -> Draw:
    return lambda rng, rows: rng.normal(size=(rows, size))


def paper() -> Design:
    """The paper's generator: ten normal columns, no intercept, noise of standard deviation 0.1."""
    return Design(
        name="the paper's",
        draw=lambda rng, rows: rng.normal(size=(rows, 10)) / 5.0,
        bounds=((-1.0, 1.0),) * 10,
        target_bounds=(-5.0, 5.0),
        slopes=(0.8, -1.2, 0.1, 1.7, -0.4, 0.9, -0.2, -1.5, 0.5, 1.1),
        intercept=False,
        noise=lambda rng, signal: 0.1 * rng.normal(size=signal.size),
    )


def off_centre() -> Design:
    """Columns far from zero and from the middle of their bounds."""

    def draw(rng: np.random.Generator, rows: int) -> Array:
        places, scales = np.array([38.7, 28.0, 1_990.0, 0.0]), np.array([2.5, 6.0, 3.0, 1.0])
        return np.asarray(places + scales * rng.normal(size=(rows, 4)))

    return Design(
        name="off-centre",
        draw=draw,
        bounds=((20.0, 45.0), (10.0, 60.0), (1_900.0, 2_030.0), (-5.0, 5.0)),
        target_bounds=(-20.0, 40.0),
        slopes=(0.27, 0.02, -0.05, 0.3),
        constant=96.0,
    )


def weeks_alone() -> Design:
    """One column, far from zero."""
    return Design(
        name="weeks alone",
        draw=lambda rng, rows: 38.7 + 2.5 * rng.normal(size=(rows, 1)),
        bounds=((20.0, 45.0),),
        target_bounds=(0.0, 15.0),
        slopes=(0.27,),
        constant=-3.2,
    )


def correlated() -> Design:
    """Ten columns with correlations 0.9^|i - j|."""
    places = np.arange(10)
    root = np.linalg.cholesky(0.9 ** np.abs(places[:, None] - places))
    return _plain("AR(0.9)", lambda rng, rows: np.asarray(rng.normal(size=(rows, 10)) @ root.T), size=10)


def scaled() -> Design:
    """Standard deviations over a factor of 1,000, one bound for all."""
    units = 10.0 ** np.linspace(-1.5, 1.5, 6)
    found = _plain("sds over a factor of 1,000", lambda rng, rows: np.asarray(rng.normal(size=(rows, 6)) * units), bound=200.0)
    return replace(found, slopes=tuple((np.array(found.slopes) / units).tolist()))


def heavy() -> Design:
    """Features of Student's t with 3 degrees of freedom."""
    found = _plain("t3 features", lambda rng, rows: rng.standard_t(3, size=(rows, 6)), bound=100.0)
    return replace(found, target_bounds=(-200.0, 200.0))


def binary() -> Design:
    """Six 0/1 columns, 30% ones."""
    return _plain("binary", lambda rng, rows: (rng.random((rows, 6)) < 0.3).astype(np.float64), bound=1.0)


def uniform() -> Design:
    """Six uniform columns."""
    return _plain("uniform", lambda rng, rows: rng.uniform(-1.0, 1.0, size=(rows, 6)), bound=1.0)


def rare_levels() -> Design:
    """A category with levels of 50% down to 0.3%, and three numbers."""
    shares = (0.5, 0.25, 0.1, 0.08, 0.04, 0.02, 0.007, 0.003)

    def draw(rng: np.random.Generator, rows: int) -> Array:
        codes = rng.choice(len(shares), size=rows, p=shares)
        return np.column_stack([rng.normal(size=(rows, 3)) * [1.0, 2.0, 5.0] + [0.0, 5.0, -20.0], codes])

    return Design(
        name="rare levels",
        draw=draw,
        bounds=((-50.0, 50.0),) * 3,
        target_bounds=(-50.0, 50.0),
        slopes=(0.5, -0.3, 0.1),
        constant=1.0,
        effects=((0.0, 0.5, -1.0, 1.0, 0.3, -0.7, 1.5, -1.5),),
    )


def rare_columns() -> Design:
    """0/1 columns with 30% down to 0.3% ones, declared as numbers within [0, 1], and two numbers."""
    shares = np.array([0.3, 0.1, 0.03, 0.01, 0.003])

    def draw(rng: np.random.Generator, rows: int) -> Array:
        return np.column_stack([rng.normal(size=rows), rng.normal(10.0, 2.0, rows), rng.random((rows, shares.size)) < shares])

    return Design(
        name="rare columns",
        draw=draw,
        bounds=((-5.0, 5.0), (0.0, 20.0), *((0.0, 1.0),) * 5),
        target_bounds=(-20.0, 30.0),
        slopes=(0.5, 0.2, 0.5, -1.0, 1.0, -1.0, 1.5),
        constant=1.0,
    )


def zero_inflated() -> Design:
    """Columns of which 10% and 3% are not zero (amounts of money, skewed), and two numbers."""

    def draw(rng: np.random.Generator, rows: int) -> Array:
        gifts = np.where(rng.random(rows) < 0.1, rng.gamma(2.0, 500.0, rows), 0.0)
        grants = np.where(rng.random(rows) < 0.03, rng.gamma(2.0, 500.0, rows), 0.0)
        return np.column_stack([rng.normal(size=rows), rng.normal(40.0, 10.0, rows), gifts, grants])

    return Design(
        name="zero-inflated",
        draw=draw,
        bounds=((-5.0, 5.0), (0.0, 100.0), (0.0, 10_000.0), (0.0, 10_000.0)),
        target_bounds=(-30.0, 50.0),
        slopes=(0.5, 0.05, 0.001, -0.001),
        constant=1.0,
    )


def heteroscedastic() -> Design:
    """Noise that grows with the signal."""
    found = _plain("heteroscedastic", _normal(6))
    return replace(found, noise=lambda rng, signal: rng.normal(size=signal.size) * np.exp(0.4 * (signal - 2.0)))


def skewed() -> Design:
    """Noise of a centred exponential law."""
    found = _plain("skewed noise", _normal(6))
    return replace(found, noise=lambda rng, signal: rng.exponential(size=signal.size) - 1.0, symmetric=False)


def outliers() -> Design:
    """5% of the targets are 20 noises off, to one side."""

    def noise(rng: np.random.Generator, signal: Array) -> Array:
        return rng.normal(size=signal.size) + np.where(rng.random(signal.size) < 0.05, 20.0, 0.0)

    return replace(_plain("5% outliers", _normal(6)), noise=noise, symmetric=False)


def yes_or_no() -> Design:
    """A target of 0 and 1, 32% ones, with a logistic law."""
    return replace(
        _plain("yes or no", _normal(4), size=4),
        slopes=(0.8, -0.4, 0.0, 0.4),
        constant=-0.9,
        target_bounds=(0.0, 1.0),
        noise=lambda rng, signal: rng.logistic(size=signal.size),
        made=lambda y: (y > 0.0).astype(np.float64),
        line=False,
    )


def mostly_zero() -> Design:
    """A target of which 80% are zero (spending), else grows with the features."""
    return replace(
        _plain("80% zeros", _normal(4), size=4),
        slopes=(0.6, -0.4, 0.0, 0.3),
        constant=-1.05,
        target_bounds=(0.0, 50.0),
        made=lambda y: np.maximum(y, 0.0) * 10.0,
        line=False,
    )


MADE_UP: tuple[Callable[[], Design], ...] = (
    paper, off_centre, weeks_alone, correlated, scaled, heavy, binary, uniform, rare_levels, rare_columns, zero_inflated,
    heteroscedastic, skewed, outliers, yes_or_no, mostly_zero,
)  # fmt: skip


def one_percent() -> Design:
    """A category of which ten levels have 1% of the rows each, and two numbers."""
    shares = (0.9, *(0.01,) * 10)

    def draw(rng: np.random.Generator, rows: int) -> Array:
        return np.column_stack([rng.normal(size=(rows, 2)), rng.choice(len(shares), size=rows, p=shares)])

    found = _plain("levels of 1%", draw, size=2)
    return replace(found, effects=((0.0, *np.linspace(-1.5, 1.5, 10).tolist()),), shares=(shares,))


def as_declared(name: str, *, numbers: int, shares: tuple[float, ...] = ()) -> Design:
    """What a plan makes up: numbers about the middle of their range, levels as often as declared, as much noise as signal."""
    width = numbers + max(len(shares) - 1, 0)
    signs = (-1.0) ** np.arange(width) * 7.5 / np.sqrt(width)  # 15% of half of the target's range

    def draw(rng: np.random.Generator, rows: int) -> Array:
        x = 5.0 + 1.5 * rng.normal(size=(rows, numbers))
        return np.column_stack([x, rng.choice(len(shares), size=rows, p=shares)]) if shares else x

    return Design(
        name=name,
        draw=draw,
        bounds=((0.0, 10.0),) * numbers,
        target_bounds=(-50.0, 50.0),
        slopes=tuple((signs[:numbers] / 1.5).tolist()),
        constant=float(-np.sum(signs[:numbers]) * 5.0 / 1.5),
        effects=((0.0, *(2.0 * signs[numbers:]).tolist()),) if shares else (),
        shares=(shares,) if shares else (),
        noise=lambda rng, signal: 7.5 * rng.normal(size=signal.size),
    )


def planned() -> tuple[Design, ...]:
    """Designs that are as they are declared, so that a plan can foretell their errors."""
    return (
        as_declared("three numbers", numbers=3),
        as_declared("ten numbers", numbers=10),
        as_declared("two numbers, levels of 60% to 1%", numbers=2, shares=(0.6, 0.3, 0.07, 0.02, 0.01)),
        as_declared("two numbers, levels of 50% to 0.3%", numbers=2, shares=(0.5, 0.3, 0.1, 0.06, 0.03, 0.007, 0.003)),
    )
