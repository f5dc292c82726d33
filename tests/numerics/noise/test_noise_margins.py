"""The margins that the fast path rests on, against arbitrary precision over their whole range."""

import mpmath
import numpy as np
import pytest
from scipy import stats

from dpkit.numerics.noise.exact_rounding import GAUSSIAN, HALF_VARIANCE_GAUSSIAN, LAPLACE, _margin
from dpkit.numerics.noise.lazy_uniform import GUARD_BITS

LAWS = [LAPLACE, GAUSSIAN, HALF_VARIANCE_GAUSSIAN]
each_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
GENEROSITY = 8

oracle = mpmath.MPContext()
oracle.prec = 120


def tail_probabilities(smallest: float) -> np.ndarray:
    """Both ends, powers of two and their neighbours, the branch points of usual implementations, and random floats."""
    rng = np.random.default_rng(1)
    powers = 2.0 ** np.arange(-21, 0)
    branches = np.array([0.02425, np.exp(-2), np.exp(-32), 0.075, 0.425, 0.25, 1 / np.sqrt(2) / 2, 0.5 - 2.0**-30])
    special = np.concatenate([powers, branches])
    special = np.concatenate([special, np.nextafter(special, 0), np.nextafter(special, 1)])
    octaves = 2.0 ** rng.uniform(np.log2(smallest), -1, 1_500)
    middle = 0.5 - 2.0 ** rng.uniform(-40, -3, 300)
    every = np.concatenate([special, octaves, middle, rng.uniform(0, 0.5, 500)])
    return every[(every >= smallest) & (every <= 0.5)]


@each_law
def test_the_float_inverse_is_well_within_its_declared_error(law):
    """By enclosure: the distribution function is monotone, so no arbitrary-precision inverse is needed."""
    tail = law.upper
    p = tail_probabilities(tail.smallest)
    margin = tail.error / GENEROSITY
    for probability, z in zip(p.tolist(), tail.quantile(p.copy()).tolist(), strict=True):
        z = oracle.mpf(z)
        assert exact_survival(law, z + margin) < probability < exact_survival(law, z - margin)


def exact_survival(law, z):
    """The textbook formula on both sides of the median."""
    if law is LAPLACE:
        return oracle.exp(-z) / 2 if z >= 0 else 1 - oracle.exp(z) / 2
    return oracle.erfc(z if law is HALF_VARIANCE_GAUSSIAN else z / oracle.sqrt(2)) / 2


@each_law
def test_the_slope_bounds_what_a_relative_change_of_the_tail_can_move(law):
    truth = {LAPLACE.name: stats.laplace(), GAUSSIAN.name: stats.norm()}.get(law.name, stats.norm(scale=np.sqrt(0.5)))
    p = np.concatenate([[0.5], 2.0 ** np.linspace(-22, -1, 10_001)])
    steepness = p / truth.pdf(truth.isf(p))
    assert steepness.max() <= law.upper.slope * (1 + 1e-12)
    assert steepness.max() > 0.99 * law.upper.slope


@each_law
@pytest.mark.parametrize("z", ["1e-30", "0.001", "1", "4.9", "37.5", "1e3", "1e6", "1.1e9", "1e12"])
def test_the_exact_survival_function_keeps_its_relative_precision(law, z):
    context = mpmath.MPContext()
    for precision in (160, 400):
        context.prec = precision
        point = context.mpf(z)
        found = law.upper.survival(context, point)
        assert context.prec == precision
        oracle.prec = 4 * precision
        truth = exact_survival(law, oracle.mpf(point))
        assert abs(oracle.mpf(found) / truth - 1) < oracle.ldexp(1, GUARD_BITS - precision)
    oracle.prec = 120


@each_law
def test_the_survival_function_is_at_least_a_half_below_the_median(law):
    context = mpmath.MPContext()
    for z in (0, -1, -1000):
        assert law.upper.survival(context, context.mpf(z)) >= 0.5


@each_law
def test_the_margin_leaves_nearly_everything_to_the_fast_path_and_covers_its_parts(law):
    """An independent sum of the parts of theorem 2, without its safety factor."""
    steps = 2.0**21
    tail = law.upper
    largest = float(tail.quantile(np.array([tail.smallest]))[0])
    parts = steps * (tail.error + tail.slope * (2.0**-53 + 2.0**-64 / tail.smallest)) + 2 * steps * largest * 2.0**-53
    assert parts < _margin(tail, steps) < 4 * parts
    assert _margin(tail, steps) < 2e-6


def test_numpy_s_exponential_is_well_within_its_assumed_relative_error():
    """Assumption A5: 2**-50 relative where the result is a normal number, 2**-1022 absolute below."""
    rng = np.random.default_rng(2)
    special = np.concatenate([np.arange(0.0, 750.0), np.log(2.0) * np.arange(0.5, 1070.0), 2.0 ** np.arange(-60.0, 10.0)])
    exponents = np.concatenate(
        [special, np.nextafter(special, 0.0), rng.uniform(0, 750, 3_000), 2.0 ** rng.uniform(-60, 10, 2_000)]
    )
    with np.errstate(under="ignore"):
        found = np.exp(-exponents)
        assert np.exp(-np.array([750.0, 1e300, np.inf])).tolist() == [0.0] * 3
    for exponent, value in zip(exponents.tolist(), found.tolist(), strict=True):
        truth = oracle.exp(-oracle.mpf(exponent))
        allowed = max(truth * oracle.ldexp(1, -51), oracle.ldexp(1, -1022))  # half of what is assumed
        assert abs(oracle.mpf(value) - truth) <= allowed
