"""The laws of samplers: outputs follow the declared density, which integrates to one; draws are independent and on a grid."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from dpkit.auditing.falsifiers.floating_point import lowest_bits
from dpkit.auditing.screening import FALSE_ALARM
from dpkit.contracts.mechanism import WhiteBox
from dpkit.testing.mechanism_cases import Array, MechanismCase, MechanismSubject, base_values, released
from dpkit.testing.run_laws import LawNotApplicable, LawUnchecked

SCALAR_DRAWS = 200_000
"""Enough to see a scale that is off by 5%, where one grid serves all draws."""
VECTOR_DRAWS = 4_000
POINTS = 401
MOST_INTEGERS = 1 << 17


def sampler_follows_its_declared_law(case: MechanismCase) -> None:
    """Each coordinate of an output, given the others, follows the declared density: its conditional rank is uniform."""
    for index, subject in enumerate(case.subjects()):
        for shape in case.factory.shapes:
            value = base_values(case, subject, shape, 1.0)[-1]
            white_box(subject)
            scalar = math.prod(shape) == 1 or case.factory.values == "scores"
            if index and not scalar:
                continue  # a density of several entries is slow to compare: once will do
            draws = SCALAR_DRAWS if scalar else VECTOR_DRAWS
            rng = case.rng(1, index)
            outputs = released(subject.mechanism, value, draws, rng)
            _one_choice(case, outputs)
            for coordinate in _coordinates(case, outputs.shape[1:]):
                ranks = _conditional_ranks(case, subject, value, outputs, coordinate, rng)
                if ranks is None:
                    continue
                gap, limit = uniformity_gap(ranks)
                assert gap <= limit, (
                    f"the outputs do not follow log_density: Kolmogorov-Smirnov distance {gap:.4f}, at most {limit:.4f} is "
                    f"chance, in coordinate {coordinate} of shape {shape} with parameters {subject.parameters}"
                )


def density_integrates_to_one(case: MechanismCase) -> None:
    """exp(log_density) is a density (or, for whole numbers, a probability): its total over one coordinate is one."""
    for index, subject in enumerate(case.subjects()):
        white_box(subject)
        shape = min(case.factory.shapes, key=math.prod)
        value = base_values(case, subject, shape, 1.0)[-1]
        outputs = released(subject.mechanism, value, 2_000, case.rng(2, index))
        if math.prod(shape) != 1 and case.factory.values != "scores":
            raise LawNotApplicable("declare a shape of one entry, so that the density can be integrated")
        _one_choice(case, outputs)
        line = covering_line(case, subject, outputs.reshape(len(outputs)), value)
        if line is None:
            continue
        grid = line.reshape(-1, *outputs.shape[1:]).astype(outputs.dtype)
        total = float(np.sum(_weights(line, outputs.dtype) * np.exp(log_density_of(subject, grid, value))))
        assert abs(total - 1.0) < 2e-3, f"the density sums to {total:.6f}, with parameters {subject.parameters}"


def _one_choice(case: MechanismCase, outputs: Array) -> None:
    """Of scores, the kit knows how to sum over places, and not over a place with a number beside it."""
    if case.factory.values == "scores" and math.prod(outputs.shape[1:]) != 1:
        raise LawUnchecked("outputs hold more than a place among the scores: test that the sampler follows log_density")


def draws_are_independent(case: MechanismCase) -> None:
    """Successive draws are neither equal nor correlated, from `release` as from `release_many`."""
    for index, subject in enumerate(case.subjects(2)):
        value = base_values(case, subject, case.factory.shapes[0], 1.0)[-1]
        rng = case.rng(3, index)
        many = released(subject.mechanism, value, 4_000, rng)
        flat = many.reshape(len(many), -1).astype(np.float64)
        single = np.stack([np.asarray(subject.mechanism.release(value, rng), dtype=np.float64).ravel() for _ in range(200)])
        varied = len(np.unique(flat[:200], axis=0))
        distinct = len(np.unique(single, axis=0))
        continuous = np.issubdtype(many.dtype, np.floating)
        message = "release gives the same noise again and again: it is drawn once and reused"
        assert distinct > 1 or (varied < 10 and not continuous), message
        # 200 draws from 2**20 and more values repeat less than once in a hundred times; some 20 repeats are a small seed
        assert varied < 198 or distinct > 190, "release repeats itself: it has few seeds"
        for column in flat.T:
            if np.ptp(column) == 0.0:
                continue
            # correlation of random ranks: mean 0, deviation at most 1/sqrt(n), and beyond 8 deviations practically never
            correlations = rank_correlations(column, rng)
            lag = int(np.argmax(np.abs(correlations)))
            assert abs(correlations[lag]) < 8.0 / math.sqrt(len(column)), (
                f"draws {lag + 1} apart are correlated ({correlations[lag]:.3f})"
            )


def outputs_lie_on_a_fixed_grid(case: MechanismCase) -> None:
    """Real outputs are multiples of one spacing, whatever the value: a naive floating-point sampler's are not.

    What a floating-point number can be depends on its size, so that rounding shows the value (Mironov 2012).
    """
    at_least_one = False
    for index, subject in enumerate(case.subjects(2)):
        at = case.distance(subject)
        claims = case.claims(subject.mechanism, at)
        if claims and all(any("real" in words for words in claim.assuming) for claim in claims):
            raise LawNotApplicable("every claim says that it assumes real arithmetic")
        spacings = set()
        for start in (0.0, 1.0 / 3.0, 1.0):
            shape = case.factory.shapes[0]
            value = np.full(shape, start * at.value)
            if case.factory.values not in ("reals", "symmetric"):
                raise LawNotApplicable("the outputs are whole numbers")
            outputs = released(subject.mechanism, value, 4_000, case.rng(4, index)).ravel()
            if not np.issubdtype(outputs.dtype, np.floating):
                raise LawNotApplicable("the outputs are whole numbers")
            values, counts = np.unique(outputs.astype(np.float64), return_counts=True)
            rare = values[counts <= 2]  # a mechanism that clamps has atoms at its limits, which say nothing of the grid
            if len(rare) < 200:
                raise LawNotApplicable("most outputs are equal to others")
            exponents = lowest_bits(rare[rare != 0.0])
            finest = int(exponents.min())
            share = float(np.mean(exponents == finest))
            # of the multiples of a spacing every second one is odd; 0.2 is 38 deviations below that
            assert share > 0.2, "outputs lie on no common grid: the noise is a naive floating-point sample"
            spacings.add(finest)
            at_least_one = True
        assert len(spacings) == 1, "the grid of the outputs depends on the value"
    assert at_least_one


def white_box(subject: MechanismSubject) -> None:
    """Skip the law where no density is declared."""
    if not isinstance(subject.mechanism, WhiteBox):
        raise LawNotApplicable("the mechanism declares no log_density")


def log_density_of(subject: MechanismSubject, outputs: Array, value: Array) -> npt.NDArray[np.float64]:
    """The declared log density, as floats."""
    mechanism: Any = subject.mechanism
    with np.errstate(all="ignore"):
        return np.asarray(mechanism.log_density(outputs, value), dtype=np.float64)


def _coordinates(case: MechanismCase, shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    indices = list(np.ndindex(*shape))
    return [index for index in indices if index[0] <= index[1]] if case.factory.values == "symmetric" else indices


def covering_line(case: MechanismCase, subject: MechanismSubject, sample: Array, value: Array) -> Array | None:
    """Points that cover the law of one coordinate, as seen in a sample; None where there are too many whole numbers."""
    if np.issubdtype(sample.dtype, np.integer):
        if case.factory.values == "categories":
            return np.arange(int(getattr(subject.mechanism, "categories", 2)))
        if case.factory.values == "scores":
            return np.arange(max(value.size, int(np.max(sample)) + 1))  # a place after the last says that none was taken
        spread = int(8 * (np.max(sample) - np.min(sample))) + 8
        low, high = int(np.min(sample)) - spread, int(np.max(sample)) + spread
        return np.arange(low, high + 1) if high - low <= MOST_INTEGERS else None
    low, high = np.quantile(sample, [0.25, 0.75])
    scale = float(high - low)
    if scale == 0.0:
        return None
    # fine near the middle, where most of the mass and any kink is, and out to 40 quartile ranges
    arm = np.sinh(np.linspace(0.0, math.asinh(40.0 * 50.0), 40 * POINTS)) / 50.0 * scale
    middle = float(np.median(value)) if value.size and np.ptp(value) == 0 else float(np.median(sample))
    return np.concatenate([middle - arm[:0:-1], middle + arm])


def _weights(line: Array, dtype: np.dtype[Any]) -> npt.NDArray[np.float64]:
    if np.issubdtype(dtype, np.integer):
        return np.ones(len(line))
    return np.gradient(line.astype(np.float64))


def _conditional_ranks(
    case: MechanismCase,
    subject: MechanismSubject,
    value: Array,
    outputs: Array,
    coordinate: tuple[int, ...],
    rng: np.random.Generator,
) -> npt.NDArray[np.float64] | None:
    """The distribution function of one coordinate given the others, at the outputs; randomised within atoms."""
    at_coordinate: tuple[Any, ...] = (..., *coordinate)
    sample = outputs[at_coordinate]
    line = covering_line(case, subject, sample, value)
    if line is None:
        assert np.issubdtype(sample.dtype, np.integer), "half of the outputs are equal: there is no noise"
        return None
    alone = outputs.shape[1:] == () or math.prod(outputs.shape[1:]) == 1
    if not alone and len(line) > POINTS:
        line = line[:: max(1, len(line) // POINTS)] if not np.issubdtype(sample.dtype, np.integer) else None
        if line is None:
            return None
    weights = _weights(line, sample.dtype)
    if alone:
        grid = line.reshape(-1, *outputs.shape[1:]).astype(outputs.dtype)
        masses = weights * np.exp(log_density_of(subject, grid, value))
        return _row_ranks(sample, line, masses[None], rng)
    ranks = np.empty(len(outputs))
    step = max(1, 200_000 // len(line))
    for start in range(0, len(outputs), step):
        block = outputs[start : start + step]
        moved = np.repeat(block[:, None], len(line), axis=1)
        moved[at_coordinate] = line
        if case.factory.values == "symmetric":
            mirrored: tuple[Any, ...] = (..., *coordinate[::-1])
            moved[mirrored] = line
        logs = log_density_of(subject, moved, value)
        masses = weights * np.exp(logs - np.max(logs, axis=1, keepdims=True))
        ranks[start : start + len(block)] = _row_ranks(sample[start : start + step], line, masses, rng)
    return ranks


def _row_ranks(sample: Array, line: Array, masses: Array, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Where each output stands among its own conditional masses, one row each; or all among the one row that there is."""
    totals = np.sum(masses, axis=1, keepdims=True)
    assert (totals > 0.0).all(), "the density is zero wherever outputs are"
    below = np.concatenate([np.zeros_like(totals), np.cumsum(masses, axis=1)], axis=1) / totals
    rows = np.arange(len(sample)) if len(masses) > 1 else np.zeros(len(sample), dtype=np.intp)
    if np.issubdtype(sample.dtype, np.integer):
        place = np.clip(np.searchsorted(line, sample), 0, len(line) - 1)
        low, high = below[rows, place], below[rows, place + 1]
        return np.asarray(low + rng.random(len(sample)) * (high - low))
    centred = (below[:, 1:] + below[:, :-1]) / 2.0  # half of a point's own mass lies below it
    place = np.clip(np.searchsorted(line, sample), 1, len(line) - 1)
    share = np.clip((sample - line[place - 1]) / (line[place] - line[place - 1]), 0.0, 1.0)
    return np.asarray((1.0 - share) * centred[rows, place - 1] + share * centred[rows, place])


def _ranks(column: npt.NDArray[np.float64], rng: np.random.Generator) -> npt.NDArray[np.float64]:
    order = np.lexsort((rng.random(len(column)), column))
    ranks = np.empty(len(column))
    ranks[order] = np.arange(len(column))
    return ranks


def rank_correlations(column: npt.NDArray[np.float64], rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """The correlation of ranks at every lag from 1 on: noise used again much later (antithetic halves, say) is seen too."""
    ranks = _ranks(column, rng)
    centred = ranks - np.mean(ranks)
    spectrum = np.abs(np.fft.rfft(centred, 2 * len(ranks))) ** 2
    return np.asarray(np.fft.irfft(spectrum)[1 : len(ranks)] / np.sum(centred**2))


# The tests below are valid at every sample size, so that the false-alarm probability is what it says.
def uniformity_gap(uniforms: Array) -> tuple[float, float]:
    """The Kolmogorov-Smirnov distance to the uniform law and its limit (Massart's constant in the DKW inequality)."""
    ordered = np.sort(uniforms)
    n = ordered.size
    ranks = np.arange(n)
    gap = max(float(np.max(ordered - ranks / n)), float(np.max((ranks + 1) / n - ordered)))
    return gap, _dkw(n, FALSE_ALARM)


def samples_gap(one: Array, other: Array) -> tuple[float, float]:
    """The largest difference of two empirical distribution functions, and its limit where both samples are of one law."""
    points = np.union1d(one, other)
    functions = [np.searchsorted(np.sort(sample), points, "right") / sample.size for sample in (one, other)]
    limit = _dkw(one.size, FALSE_ALARM / 2.0) + _dkw(other.size, FALSE_ALARM / 2.0)  # each is near the law of both
    return float(np.max(np.abs(functions[0] - functions[1]))), limit


def _dkw(n: int, alpha: float) -> float:
    return math.sqrt(math.log(2.0 / alpha) / (2.0 * n))
