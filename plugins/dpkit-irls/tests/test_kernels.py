"""The compiled passes give the bits of the numpy ones, whatever the rows hold."""

import sys

import numpy as np
import pytest
from dpkit_irls.bounded import step_query
from dpkit_irls.bounded.influence_query import (
    EqualBins,
    Octaves,
    answer_counts,
    column_histograms,
    gradient,
    length_histogram,
    place_histograms,
    scatter,
)
from dpkit_irls.bounded.scaled_rows import Frame
from dpkit_irls.loss import HUBER, LinkScore, ResidualScore, logistic
from dpkit_irls.moments import moment_query
from dpkit_irls.moments.moment_query import Scaling, Weights
from dpkit_irls.queries import columns_of
from dpkit_irls.rows import kernels

import dpkit
from dpkit import DeclaredSetting, Neighbours, default_registry, run_algorithms
from dpkit.authoring.engines import plan_sums

COUNTS = [0, 1, 7, 511, 512, 513, 8191, 8193, 20_011]


@pytest.fixture
def both():
    """What a function gives compiled, and what it gives by numpy."""
    pytest.importorskip("numba")
    assert kernels.can_compile()

    def run(function):
        with kernels.compiled_passes(wanted=True):
            fast = function()
        with kernels.compiled_passes(wanted=False):
            return fast, function()

    return run


def rows_of(kind, count, columns):
    rng = np.random.default_rng([count, columns])
    block = rng.normal(size=(count, columns))
    if kind == "hard" and count:
        some = rng.integers(0, count, size=max(1, count // 3))
        block[some] *= 2.0 ** rng.integers(-1060, 300, size=(some.size, 1))
        block[rng.integers(0, count, size=max(1, count // 9))] = 0.0
        block[rng.integers(0, count, size=max(1, count // 9)), 0] = -0.0
        block[rng.integers(0, count, size=max(1, count // 9))] = 5e-324
    if kind == "bad" and count:
        for value in (np.nan, np.inf, -np.inf, 1e308):
            block[rng.integers(0, count), rng.integers(0, columns)] = value
    return block


def frame_of(features, *, intercept, seed=0, near=0.0, far=np.inf):
    rng = np.random.default_rng(seed)
    width = features + intercept
    units = tuple(2.0 ** rng.integers(-30, 30, size=features))
    return Frame(
        columns=columns_of(features),
        units=units,
        centres=tuple(rng.normal(size=features)),
        origin=0.3,
        intercept=intercept,
        preconditioner=rng.normal(size=(width, width)) * 1e3,
        near=near,
        far=far,
    )


def same_bits(one, other):
    return np.array_equal(np.asarray(one) + 0.0, np.asarray(other) + 0.0)  # zeros of either sign


def bins_of(columns):
    """Of very different widths, and one column without any."""
    widths = [0.0, *(2.0 ** np.arange(-30, 30.0))][:columns]
    return EqualBins(lows=tuple(-7.3 * width - 0.1 for width in widths), widths=tuple(widths), bins=16)


SCORES = (HUBER, ResidualScore(shift=0.4 / 0.9, low=-0.1 / 0.9), logistic())


def mixes_of(score, mixes=step_query.FREE):
    other = step_query.Carried.CURVATURE if isinstance(score, LinkScore) else step_query.Carried.WEIGHTED
    return [mix for kind, mix in mixes.items() if kind is not other]


@pytest.mark.parametrize("kind", ["plain", "hard", "bad"])
@pytest.mark.parametrize("features", [1, 2, 3, 4, 5, 9, 31])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("radii", [(0.0, np.inf), (1e3, 1e4)])
def test_prepared_rows_and_their_sums_are_the_same_bits(both, kind, features, intercept, radii):
    frame = frame_of(features, intercept=intercept, near=radii[0], far=radii[1])
    position = np.random.default_rng(5).normal(size=frame.width) * 1e-3
    for count in COUNTS if features == 3 else COUNTS[3:6]:
        block = rows_of(kind, count, features + 1)
        with np.errstate(all="ignore"):
            fast, slow = both(lambda block=block: frame.prepared(block))
            assert same_bits(fast, slow)
            for query in (
                gradient(frame, position, 0.5),
                *(step_query.step(frame, position, 0.5, mix, score) for score in SCORES for mix in mixes_of(score)),
                *(step_query.step(frame, position, 1e-150, mix) for mix in mixes_of(HUBER, step_query.CHEAP)),
                column_histograms(frame, Octaves(low=-48, bins=17, step=3), range(features)),
                scatter(frame),
                length_histogram(frame, Octaves(low=-24, bins=49)),
                answer_counts(frame),
                *(
                    place_histograms(frame, bins_of(features + target), range(features), target=target)
                    for target in (False, True)
                ),
            ):
                if query.preparation is None:
                    totals = both(lambda query=query, block=block: query.block_sum(block))
                else:
                    totals = both(lambda query=query, prepared=slow: query.prepared_steps(prepared))
                assert np.array_equal(*totals), query.name


def test_rows_that_are_kept_have_memory_of_their_own(both, monkeypatch):
    monkeypatch.setattr(kernels, "_PIECE", 100_000)
    frame, blocks = frame_of(3, intercept=True, near=1.0), [rows_of("plain", count, 4) for count in (9_000, 7_000, 30_000)]
    fast, slow = both(lambda: [frame.prepared(block) for block in blocks])
    assert all(np.array_equal(one, other) for one, other in zip(fast, slow, strict=True))
    assert np.shares_memory(fast[0].base, fast[1].base)
    assert not np.shares_memory(fast[0], fast[1])


@pytest.mark.parametrize("change", [("STEP", 2.0**-19), ("RUN", 4096)])
def test_the_comparison_sees_a_difference(both, monkeypatch, change):
    """A compiled path that were told another step or run: of prepared rows, or of where sums are cut."""
    frame, block = frame_of(3, intercept=False), rows_of("plain", 9_000, 4)
    query = gradient(frame, np.ones(3), 0.5)
    monkeypatch.setattr(kernels, *change)
    prepared = both(lambda: frame.prepared(block))
    sums = both(lambda: query.prepared_steps(prepared[1]))
    assert not (same_bits(*prepared) and np.array_equal(*sums))


@pytest.mark.parametrize("kind", ["plain", "hard", "bad"])
@pytest.mark.parametrize("features", [1, 4, 6, 31])
@pytest.mark.parametrize("balance", [1.0, 0.25])
def test_moments_are_the_same_bits(both, kind, features, balance):
    scaling = Scaling(columns=columns_of(features), x_bound=2.0, y_bound=3.0, intercept=False)
    for theta in (np.zeros(features), np.random.default_rng(6).normal(size=features)):
        query = moment_query.joint_moments(scaling, Weights(theta=tuple(theta), cap=10.0), balance=balance)
        for count in COUNTS if features == 4 else COUNTS[3:6]:
            with np.errstate(all="ignore"):
                prepared = scaling.prepared(rows_of(kind, count, features + 1))
                assert np.array_equal(*both(lambda query=query, prepared=prepared: query.prepared_steps(prepared)))


def test_a_fit_releases_the_same_bits(both):
    table = np.random.default_rng(3).uniform(-1, 1, size=(30_000, 4))
    schema = dpkit.Schema(columns=tuple(dpkit.Number(name=name, lower=-1, upper=1) for name in columns_of(3)))
    source = dpkit.open_source(table, schema, names=list(columns_of(3)), neighbours=Neighbours.REPLACE_ONE)
    setting = DeclaredSetting(schema=schema, neighbours=Neighbours.REPLACE_ONE, rows=len(table))

    def fitted(name):
        prepare = default_registry().algorithm(name).prepare
        algorithm = prepare(setting, features=list(columns_of(3))[:-1], target="y", few_rows="answer")
        engine = dpkit.BlockEngine(source)
        return run_algorithms({"fit": (algorithm, 10.0)}, engine=engine, setting=setting, rng=np.random.default_rng(1))

    for name in ("irls", "irls-moments"):
        assert len({repr(run.outcomes["fit"].result) for run in both(lambda name=name: fitted(name))}) == 1


@pytest.mark.parametrize("change", ["", "many columns", "not contiguous"])
def test_numpy_does_what_it_does_better(both, change):
    features = kernels.MOST_COLUMNS + (change == "many columns")
    block = np.zeros((1000, features + 1), order="F" if change == "not contiguous" else "C")
    fast, slow = both(
        lambda: (
            kernels.prepared(
                block, np.zeros(features), np.ones(features), np.eye(features), 1.0, 0.0, 0.0, np.inf, 1.0, intercept=False
            )
            is not None
        )
    )
    assert (fast, slow) == (not change, False)


def test_it_is_loaded_when_enough_was_done(monkeypatch):
    asked = []
    monkeypatch.setattr(kernels, "_compiled", lambda: asked.append(1))
    monkeypatch.setattr(kernels, "_done", [0])
    monkeypatch.setattr(kernels, "_worth", [2_000])
    for _ in range(3):
        assert kernels.gradient(np.zeros((5, 200)), HUBER.at(np.zeros(3), 1.0)) is None
    assert len(asked) == 1


def test_it_is_loaded_at_once_where_the_declared_rows_are_enough(monkeypatch):
    asked = []
    monkeypatch.setattr(kernels, "_compiled", lambda: asked.append(1))
    monkeypatch.setattr(kernels, "_worth", [2_000])
    for rows, is_enough in ((None, False), (199, False), (200, True)):
        monkeypatch.setattr(kernels, "_done", [0])
        kernels.expect(rows, cells_of_a_row=10)
        kernels.gradient(np.zeros((5, 200)), HUBER.at(np.zeros(3), 1.0))
        assert bool(asked) is is_enough


@pytest.mark.parametrize("name", ["prepared", "exponents", "gradient", "step", "moments", "bins", "squares"])
def test_a_numba_that_fails_when_it_compiles_costs_time_and_no_row(both, monkeypatch, name):
    """As on a full disk. Engines take what a query raises for a row that cannot be counted."""
    tries = []

    def failing(*_):
        tries.append(name)
        raise OSError("no space left")

    monkeypatch.setattr(f"dpkit_irls.rows.compiled.{name}", failing)
    monkeypatch.setattr(kernels, "_failed", [False])
    frame, block = frame_of(3, intercept=False), rows_of("plain", 900, 4)
    scaling = Scaling(columns=columns_of(3), x_bound=2.0, y_bound=3.0, intercept=False)
    plan = plan_sums(
        [
            gradient(frame, np.ones(3), 0.5),
            step_query.step(frame, np.ones(3), 0.5, step_query.FREE[step_query.Carried.MIDDLE]),
            column_histograms(frame, Octaves(low=-48, bins=17, step=3), range(3)),
            scatter(frame),
            place_histograms(frame, bins_of(4), range(3)),
            moment_query.joint_moments(scaling, Weights(theta=(1.0, 2.0, 3.0), cap=10.0)),
        ],
        columns_of(3),
    )
    fast, slow = both(lambda: [total.steps().tolist() for total in plan.partial(block)])
    assert fast == slow
    assert any(np.ravel(fast[0]))
    assert tries == [name]  # it is not asked again


def test_without_numba_nothing_is_compiled(monkeypatch):
    monkeypatch.setitem(sys.modules, "dpkit_irls.rows.compiled", None)
    monkeypatch.delattr("dpkit_irls.rows.compiled", raising=False)
    kernels._compiled.cache_clear()
    try:
        assert not kernels.can_compile()
        with kernels.compiled_passes(wanted=True):
            assert kernels.gradient(np.zeros((5, 200)), HUBER.at(np.zeros(3), 1.0)) is None
    finally:
        kernels._compiled.cache_clear()


def test_a_plan_says_what_will_do_its_passes(monkeypatch):
    assert "worth loading" in kernels.passes_by(1_000, cells_of_a_row=100)
    assert kernels.passes_by(10**9, cells_of_a_row=100) == "compiled by numba"
    assert "then compiled by numba" in kernels.passes_by(None, cells_of_a_row=1)
    monkeypatch.setattr(kernels, "find_spec", lambda name: None)
    assert "dpkit-irls[fast]" in kernels.passes_by(10**9, cells_of_a_row=100)
