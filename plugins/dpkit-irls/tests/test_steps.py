"""What a step of `bounded` releases and what is read from it."""

import itertools
import math

import numpy as np
import pytest
from dpkit_irls.estimates import UnitPrior, likely_exponents, octave_median, ratio_of_share, share_near
from dpkit_irls.influence_query import Octaves
from dpkit_irls.queries import frame_of
from dpkit_irls.step_query import CHEAP, FREE, Mix, step, taken_apart
from dpkit_irls.tuning import SHARES
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

import dpkit
from dpkit.core.neighbours import Neighbours


@pytest.mark.parametrize("mix", [FREE, CHEAP])
def test_a_step_taken_apart_is_the_gradient_the_scatter_and_nearness(mix):
    rng = np.random.default_rng(0)
    block = rng.normal(size=(200, 4))
    frame, position, threshold = frame_of(3), np.array([0.2, -0.1, 0.4]), 0.7
    released = step(frame, position, threshold, mix).total(block)
    z = block[:, :3] @ frame.preconditioner
    u = z / np.linalg.norm(z, axis=1)[:, None]
    score = np.clip((block[:, 3] - z @ position) / threshold, -1.0, 1.0)
    sums = taken_apart(released, 3, mix)
    assert sums.gradient == pytest.approx(u.T @ score, abs=1e-3)
    assert sums.scatter == pytest.approx(u.T @ u, abs=1e-3)
    assert sums.near == pytest.approx(np.sum(np.sqrt(1.0 - score**2)), abs=1e-3)


units = st.floats(-1, 1)


@given(
    vectors=st.lists(st.lists(units, min_size=2, max_size=4), min_size=2, max_size=2).filter(
        lambda pair: len(pair[0]) == len(pair[1])
    ),
    scores=st.tuples(units, units),
    nearness=st.tuples(st.floats(0, 1), st.floats(0, 1)),
)
@settings(max_examples=300, deadline=None)
def test_theorem_3_holds_for_any_vectors_scores_and_nearness(vectors, scores, nearness):
    def contribution(vector, score, near):
        u = np.array(vector) / max(1.0, np.linalg.norm(vector))
        pairs = itertools.combinations(range(u.size), 2)
        off = [u[i] * u[j] for i, j in pairs]
        return np.array([*(score * u), *off, *(u * u / math.sqrt(2)), math.sqrt(2) * near * math.sqrt(1 - score**2)])

    one, other = (contribution(*row) for row in zip(vectors, scores, nearness, strict=True))
    assert np.linalg.norm(one - other) <= 2.0 + 1e-12
    assert np.linalg.norm(one) <= math.sqrt(2.5) + 1e-12


def test_heavier_mixes_than_the_theorem_allows_are_refused():
    for change in ({"diagonal": 0.7109375}, {"near": 1.421875}, {"off_diagonal": 1.125}, {"near": 1.4}, {"diagonal": 0.0}):
        with pytest.raises(dpkit.InvalidValueError, match="mix"):
            Mix(**{"off_diagonal": 1.0, "diagonal": 0.703125, "near": 1.40625, **change})
    assert FREE.sensitivity(Neighbours.REPLACE_ONE)[0].value == 2.0
    assert CHEAP.sensitivity(Neighbours.ADD_REMOVE)[0].value == pytest.approx(math.sqrt(1.125))


@pytest.mark.parametrize("ratio", [0.01, 0.3, 0.6, 2.0, 9.0])
def test_the_share_near_is_that_of_quadrature_and_is_inverted(ratio):
    found, _ = quad(lambda r: math.sqrt(1 - (r / ratio) ** 2) * norm.pdf(r), -ratio, ratio, points=[0.0])
    assert share_near(ratio) == pytest.approx(found, rel=1e-7)
    assert ratio_of_share(share_near(ratio)) == pytest.approx(ratio, rel=1e-6)


def magnitudes(exponents, rows, octaves, rng):
    counts = [np.bincount(octaves.of(2.0**e * rng.normal(size=rows)), minlength=octaves.bins) for e in exponents]
    return np.array(counts, dtype=float)


OCTAVES = Octaves(low=-48, bins=17, step=3)


def test_columns_that_agree_get_one_unit_in_spite_of_the_noise():
    rng = np.random.default_rng(1)
    for _ in range(50):
        counts = magnitudes([-5] * 10, 800, OCTAVES, rng) + 90.0 * rng.normal(size=(10, 17))
        assert len(set(likely_exponents(counts, OCTAVES, spread=90.0, prior=UnitPrior()))) == 1


def test_columns_that_differ_are_told_apart():
    rng = np.random.default_rng(2)
    truth = np.arange(-14, -4)
    counts = magnitudes(truth, 3000, OCTAVES, rng) + 90.0 * rng.normal(size=(10, 17))
    found = likely_exponents(counts, OCTAVES, spread=90.0, prior=UnitPrior())
    assert np.max(np.abs(np.array(found) - truth)) <= 1


def test_noise_alone_leaves_the_declared_bounds():
    rng = np.random.default_rng(3)
    found = [likely_exponents(90.0 * rng.normal(size=(4, 17)), OCTAVES, spread=90.0, prior=UnitPrior()) for _ in range(50)]
    assert sum(any(each) for each in found) <= 2


def test_a_median_is_looked_for_where_most_are():
    octaves = Octaves(low=-10, bins=21)
    values = np.random.default_rng(4).normal(size=5000)
    counts = np.bincount(octaves.of(values), minlength=21).astype(float)
    counts[1] += 300.0  # a false peak far away
    assert octave_median(counts, octaves, 5000.0, window=4) == pytest.approx(0.6745, rel=0.1)


def test_histograms_get_more_where_few_rows_are_needed():
    assert SHARES.weight("targets", 1) > 4 * SHARES.weight("targets", 10)
    assert SHARES.weight("targets", 50) == SHARES.targets
    assert SHARES.weight("steps", 1) == SHARES.steps
