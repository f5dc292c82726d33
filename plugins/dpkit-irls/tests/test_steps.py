"""What a step of `irls` releases and what is read from it."""

import math
from dataclasses import replace

import numpy as np
import pytest
from dpkit_irls.bounded.histograms import UnitPrior, likely_exponents, octave_median
from dpkit_irls.bounded.influence_query import Octaves
from dpkit_irls.bounded.step_query import CHEAP, FREE, Carried, Mix, step, taken_apart
from dpkit_irls.bounded.tuning import SHARES
from dpkit_irls.loss import logistic, ratio_of_share, share_near
from dpkit_irls.queries import frame_of
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

import dpkit
from dpkit import Neighbours
from dpkit.testing import examples

MIXES = [mixes[kind] for mixes in (FREE, CHEAP) for kind in Carried]


@pytest.mark.parametrize("mix", [mix for mix in MIXES if mix.carried is not Carried.WEIGHTED])
def test_a_step_taken_apart_is_the_gradient_a_matrix_and_nearness(mix):
    rng = np.random.default_rng(0)
    block = rng.normal(size=(200, 4))
    near, far = 1.0, 2.5
    frame, position, threshold = replace(frame_of(3, near=near, far=far), origin=0.2), np.array([0.2, -0.1, 0.4]), 0.7
    released = step(frame, position, threshold, mix).total(block)
    z = block[:, :3] @ frame.preconditioner
    length = np.linalg.norm(z, axis=1)
    weight = np.minimum(1.0, length / near) * np.minimum(1.0, far / length)
    w = z * (weight / length)[:, None]
    score = np.clip((block[:, 3] - 0.2 - z @ position) / threshold, -1.0, 1.0)
    nearness = np.sqrt(1.0 - score**2)
    matrix = {
        Carried.SCATTER: w.T @ w,
        Carried.CURVATURE: (w * nearness[:, None]).T @ z / far,
        Carried.MIDDLE: (w * score[:, None] ** 2).T @ w,
    }[mix.carried]
    sums = taken_apart(released, 3, mix)
    assert sums.gradient == pytest.approx(w.T @ score, abs=1e-3)
    assert sums.matrix == pytest.approx(matrix, abs=2e-3)
    assert sums.near == pytest.approx(np.sum(nearness), abs=1e-3)


@pytest.mark.parametrize("mix", MIXES)
def test_a_step_of_a_link_taken_apart_is_the_gradient_and_a_matrix(mix):
    if mix.carried is Carried.CURVATURE:
        return  # for residuals alone
    rng = np.random.default_rng(1)
    block = rng.normal(size=(200, 4))
    block[:, 3] = rng.random(200) < 0.4
    near, far = 1.0, 2.5
    frame, position = frame_of(3, near=near, far=far), np.array([0.8, -0.5, 0.4])
    released = step(frame, position, 1.0, mix, logistic()).total(block)
    z = block[:, :3] @ frame.preconditioner
    length = np.linalg.norm(z, axis=1)
    w = z * (np.minimum(1.0, length / near) * np.minimum(1.0, far / length) / length)[:, None]
    yes = 1.0 / (1.0 + np.exp(-z @ position))
    score = (block[:, 3] - yes) / np.maximum(yes, 1.0 - yes)
    matrix = {
        Carried.SCATTER: w.T @ w,
        Carried.MIDDLE: (w * score[:, None] ** 2).T @ w,
        Carried.WEIGHTED: (w * 2.0 * np.minimum(yes, 1.0 - yes)[:, None]).T @ z / far,
    }[mix.carried]
    sums = taken_apart(released, 3, mix)
    assert sums.gradient == pytest.approx(w.T @ score, abs=2e-3)
    assert sums.matrix == pytest.approx(matrix, abs=4e-3)


@pytest.mark.parametrize("kind", [Carried.SCATTER, Carried.CURVATURE, Carried.MIDDLE])
def test_many_rows_are_summed_a_part_at_a_time_to_the_bit(kind, monkeypatch):
    """Two parts and a rest, by numpy: the same as of single rows."""
    monkeypatch.setattr("dpkit_irls.rows.kernels.step", lambda *_, **__: None)
    block = np.random.default_rng(2).normal(size=(36_000, 4))
    query = step(replace(frame_of(3, near=1.0, far=2.5), origin=0.2), np.array([0.2, -0.1, 0.4]), 0.7, FREE[kind])
    parts = query.prepared_steps(query.preparation.rows(block))
    assert np.sum(parts, axis=0).tolist() == np.sum((query.rows(block) / query.grid).astype(np.int64), axis=0).tolist()


def contribution(kind, vector, extra, score, near, *, matrix, nearness):
    """A row of Theorems 3 to 6 in real numbers; `matrix` and `nearness` are coefficients in the Frobenius norm."""
    u = np.array(vector) / max(1.0, np.linalg.norm(vector))
    p = np.array(extra) / max(1.0, np.linalg.norm(extra))
    most = math.sqrt(max(0.0, 1.0 - score**2))
    carried = {
        Carried.SCATTER: np.outer(u, u),
        Carried.CURVATURE: near * most * np.outer(p, p),
        Carried.MIDDLE: score**2 * np.outer(u, u),
        Carried.WEIGHTED: near * np.outer(u, u) / max(float(u @ u), 1e-12),
    }[kind]
    if kind is Carried.WEIGHTED:
        return np.array([*(math.sqrt(0.875) * score * u), *(matrix * carried.ravel())])
    return np.array([*(score * u), *(matrix * carried.ravel()), nearness * near * most])


COEFFICIENTS = {
    Carried.SCATTER: (math.sqrt(0.5), math.sqrt(2.0), math.sqrt(2.5)),
    Carried.CURVATURE: (1.0, 1.0, math.sqrt(2.0)),
    Carried.MIDDLE: (math.sqrt(0.5), 1.0, math.sqrt(1.5)),
    Carried.WEIGHTED: (math.sqrt(0.5), 1.0, math.sqrt(1.375)),
}
"""Of the matrix and of nearness, as large as the theorems allow; and the longest contribution."""
units = st.floats(-1, 1)
vectors = st.lists(units, min_size=3, max_size=3)
row = st.tuples(vectors, vectors, units, st.floats(0, 1))


@pytest.mark.parametrize("kind", Carried)
def test_theorems_3_to_6_hold_for_any_vectors_scores_and_nearness(kind):
    matrix, nearness, longest = COEFFICIENTS[kind]

    @given(rows=st.tuples(row, row))
    @examples(200)
    def search(rows):
        one, other = (contribution(kind, *each, matrix=matrix, nearness=nearness) for each in rows)
        assert np.linalg.norm(one - other) <= 2.0 + 1e-12
        assert np.linalg.norm(one) <= longest + 1e-12

    search()


def furthest(kind, matrix, nearness):
    """The largest squared distance over a grid of scores and nearness, for directions at several angles."""
    found, scores = 0.0, np.linspace(0.0, 1.0, 41)
    for angle in (np.pi, 0.0, np.pi / 2, 2.5, 2 * np.pi / 3):
        turned = [math.cos(angle), math.sin(angle), 0.0]
        for near, other in ((1.0, 1.0), (1.0, 0.0), (0.0, 0.0)):
            plain = [contribution(kind, [1, 0, 0], [1, 0, 0], s, near, matrix=matrix, nearness=nearness) for s in scores]
            moved = [contribution(kind, turned, [0, 1, 0], s, other, matrix=matrix, nearness=nearness) for s in scores]
            apart = np.array(plain)[:, None] - np.array(moved)[None]
            found = max(found, float(np.max(np.sum(apart * apart, axis=2))))
    return found


@pytest.mark.parametrize("kind", Carried)
def test_a_grid_finds_no_pair_beyond_2_and_reaches_it(kind):
    assert furthest(kind, *COEFFICIENTS[kind][:2]) == pytest.approx(4.0, abs=1e-9)


@pytest.mark.parametrize(
    ("kind", "matrix", "nearness", "least"),
    [
        (Carried.MIDDLE, 1.0, 1.0, 4.49),
        (Carried.MIDDLE, math.sqrt(0.5), math.sqrt(2.0), 4.04),
        (Carried.SCATTER, 0.75, math.sqrt(2.0), 4.01),
        (Carried.SCATTER, math.sqrt(0.5), 1.5, 4.01),
        (Carried.CURVATURE, 1.1, 1.0, 4.01),
        (Carried.CURVATURE, 1.0, 1.1, 4.01),
        (Carried.WEIGHTED, 0.75, 1.0, 4.01),
    ],
)
def test_a_grid_finds_pairs_of_heavier_coefficients_and_a_mix_refuses_them(kind, matrix, nearness, least):
    assert furthest(kind, matrix, nearness) > least
    parts = [math.ceil(each * 512) / 512 for each in (math.sqrt(2.0) * matrix, matrix, nearness)]
    with pytest.raises(dpkit.InvalidValueError, match="mix"):
        Mix(carried=kind, off_diagonal=parts[0], diagonal=parts[1], near=parts[2], gradient=FREE[kind].gradient)


def test_a_weighted_curvature_beside_a_whole_gradient_is_refused():
    free = FREE[Carried.WEIGHTED]
    with pytest.raises(dpkit.InvalidValueError, match="mix"):
        replace(free, gradient=1.0)
    with pytest.raises(dpkit.InvalidValueError, match="mix"):
        replace(free, gradient=free.gradient + 1 / 256)


@pytest.mark.parametrize("change", [{"diagonal": 0.7109375}, {"near": 1.421875}, {"near": 1.4}, {"diagonal": 0.0}])
def test_mixes_that_no_theorem_covers_are_refused(change):
    with pytest.raises(dpkit.InvalidValueError, match="mix"):
        Mix(carried=Carried.SCATTER, **{"off_diagonal": 1.0, "diagonal": 0.703125, "near": 1.40625, **change})


def test_the_price_under_add_remove():
    priced = {kind: CHEAP[kind].sensitivity(Neighbours.ADD_REMOVE)[0].value for kind in Carried}
    assert len(set(priced.values())) == 1  # so that which one a step carries may depend on what was released
    assert priced[Carried.SCATTER] == pytest.approx(math.sqrt(1.125))
    dear = {kind: FREE[kind].sensitivity(Neighbours.ADD_REMOVE)[0].value for kind in Carried}
    for kind, (_, _, longest) in COEFFICIENTS.items():
        assert dear[kind] == pytest.approx(longest, rel=2e-3)
        assert FREE[kind].sensitivity(Neighbours.REPLACE_ONE)[0].value == 2.0


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
