"""Hypothesis looks for neighbours above each bound: over rows, weights, coefficients, frames and thresholds, extremes first.

It finds none; with a bound lowered by 1% it finds a pair, except where a bound is known not to be tight. And every query that a
run of `irls` really asked is tried on all pairs of a pool of hard rows, one row a block, many rows a block, in any order.
"""

import random
from dataclasses import replace

import numpy as np
import pytest
from dpkit_irls.bounded import influence_query, step_query
from dpkit_irls.bounded.class_step import class_step
from dpkit_irls.bounded.influence_query import EqualBins, Octaves
from dpkit_irls.bounded.scaled_rows import Frame
from dpkit_irls.bounded.step_query import CHEAP, FREE, Carried
from dpkit_irls.loss import BISQUARE, HUBER, logistic
from dpkit_irls.moments import moment_query
from dpkit_irls.moments.moment_query import Scaling, Weights
from dpkit_irls.regressions import prepare
from dpkit_irls.rows.kernels import compiled_passes
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

import dpkit
from dpkit import DeclaredSetting
from dpkit.testing import examples, sizes_in

ADD, REPLACE = dpkit.Neighbours.ADD_REMOVE, dpkit.Neighbours.REPLACE_ONE
MOMENTS = {
    "first-moment": moment_query.first_moment,
    "second-moment": moment_query.second_moment,
    "moments": moment_query.joint_moments,
    "moments-triangle": moment_query.joint_triangle,
}
STEPS = {
    f"{name} step, {kind.name.lower()}": mixes[kind] for name, mixes in (("free", FREE), ("cheap", CHEAP)) for kind in Carried
}
CLASS_STEPS = {name.replace("step", "class step"): mix for name, mix in STEPS.items() if mix.carried is not Carried.CURVATURE}
BISQUARE_STEPS = {
    name.replace("step", "bisquare step"): mix for name, mix in STEPS.items() if mix.carried is not Carried.WEIGHTED
}
EVERY_STEP = (*STEPS, *CLASS_STEPS, *BISQUARE_STEPS)
INFLUENCES = ("scatter", "gradient", "lengths", "targets", "magnitudes", "places", "levels", *EVERY_STEP)
NOT_TIGHT = {
    ("moments-triangle", REPLACE, "l1"),
}
"""Vectors with other signs share the diagonal of their triangles, so twice the norm of one is never reached."""

corners = st.sampled_from([0.0, 1.0, -1.0])
cells = st.one_of(
    st.sampled_from([1.0, -1.0, 0.0, 100.0, 1e-3, 2.0**-0.5]),
    st.sampled_from([1e308, -1e308, 5e-324, 1e-162, float("inf"), float("nan")]),
    st.floats(-3.0, 3.0),
)
SEARCH = settings(deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
parameters = st.one_of(st.sampled_from([0.0, 0.5, -1.0, 1e4, -1e8]), st.floats(-5.0, 5.0))


@st.composite
def situations(draw, name):
    """A query with public or released parameters of any kind, and two rows."""
    features = draw(st.sampled_from([2, 1, 3]))
    columns = (*(f"x{place}" for place in range(features)), "y")
    intercept = draw(st.booleans())
    width = features + intercept
    entries = draw(st.sampled_from([corners, cells]))
    rows = np.array([[draw(entries) for _ in columns] for _ in range(2)])
    coefficients = draw(st.one_of(st.just([0.0] * width), st.lists(parameters, min_size=width, max_size=width)))
    if name in MOMENTS:
        bound = draw(st.sampled_from([1.0, 0.25, 1e3]))
        scaling = Scaling(columns=columns, x_bound=bound, y_bound=draw(st.sampled_from([1.0, 50.0])), intercept=intercept)
        cap, p = draw(st.sampled_from([1.0, 0.5, 10.0, 1e4])), draw(st.sampled_from([1.0, 2.0, 1.5, 1.9999999]))
        return MOMENTS[name](scaling, Weights(theta=tuple(coefficients), cap=cap, p=p)), rows
    units = tuple(draw(st.sampled_from([1.0, 2.0**-40, 2.0**30])) for _ in range(features))
    mixed = draw(st.lists(parameters, min_size=width * width, max_size=width * width))
    matrix = np.eye(width) + draw(st.sampled_from([0.0, 0.3])) * np.array(mixed).reshape(width, width)
    levels = tuple(draw(st.sampled_from([2, 3])) for _ in range(features)) if name == "levels" else ()
    if levels:
        units, matrix = (1.0,) * (sum(levels) - features), np.eye(sum(levels) - features + intercept)
    moved = not levels and draw(st.booleans())
    near, far = (
        draw(st.sampled_from([(0.0, np.inf), (0.5, 2.0), (1e-3, 1e-2), (1e6, 1e6)])) if name in EVERY_STEP else (0.0, np.inf)
    )
    frame = Frame(
        columns=columns,
        units=units,
        intercept=intercept,
        preconditioner=matrix,
        levels=levels,
        centres=tuple(draw(parameters) for _ in range(features)) if moved else (),
        origin=draw(parameters) if moved else 0.0,
        start=tuple(draw(parameters) for _ in range(features)) if moved and draw(st.booleans()) else (),
        near=near,
        far=far,
    )
    octaves = Octaves(low=draw(st.sampled_from([-4, -24])), bins=draw(st.sampled_from([9, 49])))
    equal = EqualBins(
        lows=(-1.0,) * (features + 1), widths=(draw(st.sampled_from([0.25, 0.0, 1e-9])),) * (features + 1), bins=9
    )
    threshold = draw(st.sampled_from([0.5, 1e-6, 1e6]))
    position = np.array(coefficients)
    queries = {
        "scatter": lambda: influence_query.scatter(frame),
        "gradient": lambda: influence_query.gradient(frame, position, threshold),
        "lengths": lambda: influence_query.length_histogram(frame, octaves),
        "targets": lambda: influence_query.target_histogram(frame, octaves),
        "magnitudes": lambda: influence_query.column_histograms(frame, octaves, range(features)),
        "places": lambda: influence_query.place_histograms(frame, equal, range(features)),
        "levels": lambda: influence_query.level_counts(frame),
    } | {each: lambda mix=mix: _step(frame, position, threshold, mix) for each, mix in STEPS.items()}
    queries |= {
        each: lambda mix=mix: step_query.step(frame, position, threshold, mix, BISQUARE) for each, mix in BISQUARE_STEPS.items()
    }
    if name in CLASS_STEPS:
        rows[:, -1] = np.where(
            draw(st.booleans()), rows[:, -1], np.array([draw(st.sampled_from([0.0, 1.0, 2.0])) for _ in rows])
        )
        classes = np.array([position * draw(st.sampled_from([1.0, -1.0, 0.0])) for _ in range(3)])
        return class_step(replace(frame, origin=0.0, start=()), classes, CLASS_STEPS[name]), rows
    return queries[name](), rows


def _step(frame, position, threshold, mix):
    score = logistic() if mix.carried is Carried.WEIGHTED else HUBER
    return step_query.step(frame, position, threshold, mix, score)


@pytest.mark.parametrize("mixes", [FREE, CHEAP])
def test_a_weighted_step_is_as_far_as_its_bound_for_one_long_row(mixes):
    frame = Frame(columns=("x", "y"), units=(1.0,), intercept=False, preconditioner=np.eye(1), near=1e-3, far=1.0)
    query = _step(frame, np.zeros(1), 1.0, mixes[Carried.WEIGHTED])
    bound = next(distance.value for distance in query.sensitivity(ADD) if distance.metric == "l2")
    assert 0.99 * bound < np.linalg.norm(query.rows(np.array([[1.0, 1.0]]))[0]) <= bound


def test_a_weighted_step_is_as_far_as_its_bound_between_a_long_row_and_a_short_one():
    frame = Frame(columns=("x", "y"), units=(1.0,), intercept=False, preconditioner=np.eye(1), near=1e-3, far=1.0)
    query = _step(frame, np.zeros(1), 1.0, FREE[Carried.WEIGHTED])
    one, other = query.rows(np.array([[1.0, 1.0], [1e-3, 0.0]]))
    assert 1.99 < np.linalg.norm(one - other) <= 2.0


@pytest.mark.parametrize("mixes", [FREE, CHEAP])
@pytest.mark.parametrize("kind", [Carried.SCATTER, Carried.CURVATURE, Carried.MIDDLE])
def test_a_step_of_the_bisquare_is_as_far_as_its_bound_at_the_peak(kind, mixes):
    frame = Frame(columns=("x", "y"), units=(1.0,), intercept=False, preconditioner=np.eye(1), near=1e-3, far=1.0)
    query = step_query.step(frame, np.zeros(1), 1.0, mixes[kind], BISQUARE)
    one, other = query.rows(np.array([[1.0, 0.2**0.5], [1.0, -(0.2**0.5)]]))
    assert 1.99 < np.linalg.norm(one - other) <= 2.0


@pytest.mark.parametrize("kind", [Carried.SCATTER, Carried.WEIGHTED, Carried.MIDDLE])
def test_a_step_of_classes_is_as_far_as_its_bound_for_opposite_answers(kind):
    frame = Frame(columns=("x", "y"), units=(1.0,), intercept=False, preconditioner=np.eye(1), near=1e-3, far=1.0)
    query = class_step(frame, np.zeros((3, 1)), FREE[kind])
    one, other = query.rows(np.array([[1.0, 2.0], [-1.0, 2.0]]))
    assert 1.8 < np.linalg.norm(one - other) <= 2.0


def ratios(situation, relation):
    """The change that two rows make, over each declared distance, by metric."""
    query, rows = situation
    with np.errstate(all="ignore"):
        one, other = np.asarray(query.rows(rows))
    change = one if relation is ADD else one - other
    return {
        distance.metric: float(sizes_in(distance.metric, change[None])[0]) / distance.value
        for distance in query.sensitivity(relation)
        if distance.metric != "swap"
    }


@pytest.mark.parametrize("name", [*MOMENTS, *INFLUENCES])
def test_nothing_is_above_a_bound(name):
    @given(situation=situations(name))
    @examples(150)
    def search(situation):
        for relation in (ADD, REPLACE):
            for metric, ratio in ratios(situation, relation).items():
                assert ratio <= 1.0 + 1e-12, (name, relation, metric)

    search()


METRICS = {
    "first-moment": ("l1", "l2"),
    "second-moment": ("trace", "frobenius"),
    "moments": ("frobenius", "trace"),
    "moments-triangle": ("l1",),
    "scatter": ("frobenius",),
    "gradient": ("l2",),
    "lengths": ("l1", "l2"),
    "targets": ("l1", "l2"),
    "magnitudes": ("l1", "l2"),
    "places": ("l1", "l2"),
    "levels": ("l1", "l2"),
} | {name: ("l2",) for name in STEPS if "weighted" not in name}  # a weighted step is furthest at few places: tests of their own


@pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
@pytest.mark.parametrize(("name", "metric"), [(name, metric) for name, metrics in METRICS.items() for metric in metrics])
def test_one_percent_below_a_bound_there_is_a_pair(name, metric, relation):
    def above(situation):
        return ratios(situation, relation)[metric] > 0.99

    def search(most):
        return find(situations(name), above, settings=settings(SEARCH, max_examples=most), random=random.Random(1))

    if (name, relation, metric) in NOT_TIGHT:
        with pytest.raises(NoSuchExample):
            search(300)
    else:
        assert above(search(5000))


TARGETS = {
    "logistic": dpkit.Boolean(name="y", missing=False),
    "multinomial": dpkit.Category(name="y", levels=("a", "b", "c"), missing="a"),
    "poisson": dpkit.Number(name="y", lower=0, upper=9, missing=0.0),
}


def setting(relation, features, run="irls"):
    numbers = [dpkit.Number(name=f"x{place}", lower=-4, upper=4, missing=0.0) for place in range(features)]
    target = TARGETS.get(run, dpkit.Number(name="y", lower=-4, upper=4, missing=0.0))
    schema = dpkit.Schema(columns=(*numbers, target))
    return DeclaredSetting(schema=schema, neighbours=relation, rows=200 if relation is REPLACE else None)


class Asking:
    """A curator that keeps what it is asked."""

    def __init__(self, engine, rng):
        self.engine, self.rng, self.asked = engine, rng, []

    def release_all(self, pairs):
        totals = self.engine.evaluate([query for query, _ in pairs])
        self.asked += [query for query, _ in pairs]
        return tuple(mechanism.release(total.nearest(), self.rng) for (_, mechanism), total in zip(pairs, totals, strict=True))


def asked_by_a_run(relation, features, *, noise, run="irls", **chosen):
    """Every query of one run, with the frames, positions and thresholds that the run came to."""
    where = setting(relation, features, run)
    rows = np.random.default_rng(features).normal(size=(200, features + 1)).clip(-4, 4)
    cells = dict(zip(where.columns, rows.T, strict=True))
    if run in TARGETS:
        answers = np.abs(rows[:, -1]).astype(int)
        cells["y"] = {"logistic": answers > 0, "multinomial": np.array(["a", "b", "c"])[answers.clip(0, 2)]}.get(run, answers)
    engine = dpkit.BlockEngine(dpkit.open_source(cells, where.schema, neighbours=relation))
    algorithm = prepare(run, where, features=where.columns[:-1], target="y", **chosen)
    curator = Asking(engine, np.random.default_rng(2))
    dpkit.drive(algorithm, curator, noise=noise)
    return curator.asked


def hard_rows(features, count, seed):
    """Corners, axes, tiny and huge rows, zeros, and what is no number: most of what an adversary would try."""
    rng = np.random.default_rng(seed)
    scales = 10.0 ** rng.uniform(-12, 3, size=(count, 1))
    plain = rng.normal(size=(count, features + 1)) * scales
    corners = rng.choice([-4.0, 0.0, 4.0, 1.0], size=(count, features + 1))
    axes = np.vstack([np.eye(features + 1), -np.eye(features + 1)]) * 4.0
    odd = [[np.nan] * (features + 1), [np.inf] * (features + 1), [-1e308] * (features + 1), [5e-324] * (features + 1)]
    return np.vstack([plain, corners, axes, np.array(odd), np.zeros((1, features + 1))])


RUNS = [
    (REPLACE, 2, 0.01, {}),
    (REPLACE, 10, 5.0, {}),
    (ADD, 3, 100.0, {"units": "bounds", "intercept": False}),
    (REPLACE, 2, 0.01, {"run": "logistic"}),
    (ADD, 2, 1.0, {"run": "multinomial", "iterations": 8}),
    (REPLACE, 2, 0.01, {"run": "multinomial", "iterations": 8, "ridge": 0.5}),
    (REPLACE, 2, 0.1, {"run": "poisson"}),
    (ADD, 2, 0.1, {"run": "quantile-regression", "quantile": 0.8, "iterations": 8}),
    (REPLACE, 2, 0.01, {"score": "bisquare", "iterations": 8}),
]


@pytest.mark.parametrize(("relation", "features", "noise", "chosen"), RUNS, ids=lambda item: str(item))
def test_every_query_of_a_run_keeps_to_its_distances_on_all_pairs_of_hard_rows(relation, features, noise, chosen):
    pool = hard_rows(features, 60, seed=7)
    for query in asked_by_a_run(relation, features, noise=noise, **chosen):
        with np.errstate(all="ignore"):
            given_by = np.asarray(query.rows(pool)).reshape(len(pool), *query.shape)
        for neighbours, changes in ((ADD, given_by), (REPLACE, (given_by[:, None] - given_by[None]).reshape(-1, *query.shape))):
            for distance in query.sensitivity(neighbours):
                if distance.metric != "swap":
                    assert np.max(sizes_in(distance.metric, changes)) <= distance.value * (1.0 + 1e-13), query.name


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("relation", "features", "noise", "chosen"), RUNS, ids=lambda item: str(item))
def test_a_row_contributes_the_same_bits_alone_in_a_crowd_in_any_order_and_layout(relation, features, noise, chosen, compiled):
    pool = hard_rows(features, 480, seed=8)
    order = np.random.default_rng(9).permutation(len(pool))
    for query in asked_by_a_run(relation, features, noise=noise, **chosen):
        with np.errstate(all="ignore"), compiled_passes(wanted=compiled):
            crowd = np.asarray(query.rows(pool))
            assert np.array_equal(bits(query.rows(pool[order])), bits(crowd[order]))
            assert np.array_equal(bits(query.rows(np.asfortranarray(pool))), bits(crowd))
            for start in range(0, len(pool), 37):
                assert np.array_equal(bits(query.rows(pool[start : start + 1])), bits(crowd[start : start + 1]))
                assert np.array_equal(bits(query.rows(pool[start : start + 37])), bits(crowd[start : start + 37]))
            whole = exact_steps(query, pool)
            assert np.array_equal(whole, np.sum(whole_numbers(crowd / query.grid), axis=0))
            assert np.array_equal(whole, exact_steps(query, pool[order]))
            for left_out in (0, 500, len(pool) - 1):
                rest = np.delete(pool, left_out, axis=0)
                assert np.array_equal(whole - exact_steps(query, rest), whole_numbers(crowd[left_out] / query.grid))


def exact_steps(query, block):
    if query.preparation is None:
        return whole_numbers(np.asarray(query.block_sum(block)) / query.grid)
    return query.steps_of_prepared(block).steps()


def whole_numbers(steps):
    return np.array([int(step) for step in np.ravel(steps)], dtype=object).reshape(np.shape(steps))


def bits(values):
    """Zeros of either sign are one: they are the same whole number of steps, and compiled passes have no other."""
    return np.ascontiguousarray(values + 0.0, dtype=np.float64).view(np.int64)
