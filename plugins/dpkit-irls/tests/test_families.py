"""The laws of every family's score, with scores that break each of them; and what a fit with a link says."""

from dataclasses import replace

import dpkit_irls
import numpy as np
import pytest
from dpkit_irls.bounded.estimand import estimand_of
from dpkit_irls.bounded.evidence import Step
from dpkit_irls.bounded.filter import Filter
from dpkit_irls.bounded.link_filter import Predictors, dispersion_error, lengthened, predictors_at, weighed, weighted_shape
from dpkit_irls.bounded.scaled_rows import Frame
from dpkit_irls.bounded.shapes import Pooled, Shape
from dpkit_irls.count_law import count_law
from dpkit_irls.family_laws import check_link, check_residual, scored
from dpkit_irls.loss import BISQUARE, HUBER, LinkScore, ResidualScore, logistic, poisson, quantile_score
from dpkit_irls.measuring.answer_coverage import AnswerCase, gap_to_estimand
from dpkit_irls.regressions import prepare
from dpkit_irls.rows.scores import Scores
from dpkit_irls.simulated_run import last_state
from scipy.optimize import brentq
from scipy.stats import norm

import dpkit
from dpkit import Boolean, Category, DeclaredSetting, Neighbours, Number, Schema

LINKS = {"logistic": logistic(), "poisson": poisson(), "over-dispersed": poisson(4.0, 2.0)}


@pytest.mark.parametrize("name", LINKS)
def test_a_score_with_a_link_obeys_every_law(name):
    check_link(LINKS[name])


@pytest.mark.parametrize("mean", [-1.0, 0.5, 2.0])
def test_a_wrong_dispersion_moves_the_constant_as_told(mean):
    """Against the root of the mean score under the law of the next dispersion."""
    seen = Predictors(mean=mean, variance=0.0, direction=np.zeros(1), constant=np.zeros(1))
    link = poisson(2.0**1.5, float(round(mean)))
    counts, shares = count_law(mean, 2.0**1.75)

    def score(eta):
        middle, width = (float(link.looked_up(values, np.array([eta]))[0]) for values in (link.middles, link.widths))
        return float(shares @ np.clip((counts - middle) / width, -1.0, 1.0))

    moved = brentq(score, mean - 1.0, mean + 1.0) - mean
    assert 2.0 * dispersion_error(link, seen) == pytest.approx(abs(moved), rel=0.1)
    assert dispersion_error(poisson(1.0, 0.0), seen) == 0.0
    assert dispersion_error(logistic(), seen) == 0.0


def test_the_length_that_the_start_took_is_that_of_the_best_multiple():
    rng = np.random.default_rng(3)
    for size in (1, 4):
        turned = rng.normal(size=(size, size))
        told, pulled, values = (
            turned @ turned.T + 8.0 * np.eye(size),
            np.diag(rng.uniform(0.1, 1.0, size)),
            rng.normal(size=size),
        )
        position = np.linalg.solve(told + pulled, told @ values)
        now = _filter_at(position, np.linalg.inv(told + pulled), np.linalg.inv(pulled))
        frame = Frame(columns=("x",) * size, units=(1.0,) * size, intercept=False, preconditioner=np.eye(size))
        multiples = np.linspace(0.5, 1.5, 100_001)
        off = values[:, None] - position[:, None] * multiples
        best = multiples[np.argmin(np.sum(off * (told @ off), axis=0))]
        assert position + lengthened(now, frame) == pytest.approx(best * position, abs=2e-5 * np.max(np.abs(position)))


def test_a_length_that_nothing_told_of_grows_by_half_at_most_and_that_of_nothing_not():
    frame = Frame(columns=("x",), units=(1.0,), intercept=False, preconditioner=np.eye(1))
    for variance in (1.0, 0.999, 2.0, 1e-30, 1e30):
        found = lengthened(_filter_at(np.array([0.3]), np.array([[variance]]), np.eye(1)), frame)
        assert 0.0 <= found[0] <= 0.15 + 1e-12
    assert lengthened(_filter_at(np.zeros(1), np.eye(1), np.eye(1)), frame) == 0.0


def _filter_at(position, variance, prior):
    none = Pooled.none(position.size)
    zeros = np.zeros(position.size)
    return Filter(
        position=position, last=zeros, variance=variance, prior=prior, spread=1.0, scale=1.0, threshold=1.0,
        scatter=none, curvature=none, middle=none,
    )  # fmt: skip


@pytest.mark.parametrize("effect", [-2.5, 0.0, 2.5])
def test_a_rare_level_weighs_as_its_own_rows_do(effect):
    """Against made-up rows: a level far from the others has less curvature than its share of all rows' says."""
    rng, shares = np.random.default_rng(0), np.array([0.75, 0.24, 0.01])
    codes = np.repeat(np.arange(3), np.round(shares * 200_000).astype(int))
    dummies = (codes[:, None] == [1, 2]).astype(float)
    units = np.sqrt(shares[1:] * (1.0 - shares[1:]))
    z = np.column_stack([rng.normal(size=codes.size), (dummies - shares[1:]) / units, np.ones(codes.size)])
    frame = Frame(
        columns=("x", "c", "y"),
        units=(1.0, *units),
        centres=(0.0, *shares[1:]),
        intercept=True,
        preconditioner=np.eye(4),
        levels=(0, 3),
        references=(0, 0),
    )
    position = np.array([0.7, 0.3 * units[0], effect * units[1], 0.2])
    link, moments = logistic(), z.T @ z / len(z)
    parts = link.slopes / link.steepest
    exact = (z.T * link.looked_up(parts, z @ position)) @ z / len(z)
    base = Shape(mean=moments, spread=np.zeros_like(moments))
    told = weighted_shape(base, predictors_at(position, frame, moments), link, parts).mean
    assert np.diag(told) == pytest.approx(np.diag(exact), rel=0.1)
    if effect:
        assert told[2, 2] < 0.6 * told[1, 1]  # as one weight for all rows would not have it


def test_without_noise_a_rare_level_is_found_where_rows_say():
    """Steps that trusted what predictors tell of a level beyond the released curvature went ever further out."""
    case = AnswerCase(family="logistic", design="rare levels", rows=20_000, epsilon=1_000.0)
    with np.errstate(all="ignore"):
        assert max(gap_to_estimand(case, number) for number in range(5)) < 0.5


@pytest.mark.parametrize("quantile", [0.05, 0.5, 0.9])
def test_scores_of_residuals_obey_every_law(quantile):
    check_residual(HUBER)
    check_residual(BISQUARE, monotone=0.447)
    with pytest.raises(AssertionError, match="falls"):
        check_residual(BISQUARE)
    check_residual(quantile_score(quantile), quantile=quantile)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("ratio", [0.1, 0.6, 3.0])
def test_what_a_quantile_score_tells_of_a_scale_is_that_of_samples(quantile, ratio):
    score = quantile_score(quantile)
    residuals = norm.ppf((np.arange(40_000) + 0.5) / 40_000) - norm.ppf(quantile)
    found = score.of(residuals, ratio)
    inside = (found > score.low) & (found < score.high)
    assert score.share_near(ratio) == pytest.approx(np.mean(np.sqrt(1.0 - found**2) * inside), abs=2e-4)
    assert score.inside(ratio) == pytest.approx(np.mean(inside), abs=2e-4)
    assert score.mean_square(ratio) == pytest.approx(np.mean(found**2), abs=2e-4)
    assert score.share_near(score.ratio_of_share(score.share_near(0.3))) == pytest.approx(score.share_near(0.3), rel=1e-3)


@pytest.mark.parametrize("ratio", [1.0, 3.0, 4.685, 9.0])
def test_what_the_bisquare_tells_of_a_scale_is_that_of_samples(ratio):
    residuals = norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    found, grows = BISQUARE.of(residuals, ratio), np.abs(residuals) < ratio / 5.0**0.5
    assert np.max(np.abs(found)) <= 1.0 + 1e-15
    assert BISQUARE.share_near(ratio) == pytest.approx(np.mean(np.sqrt(np.maximum(1.0 - found**2, 0.0)) * grows), abs=2e-4)
    assert BISQUARE.inside(ratio) == pytest.approx(np.mean(BISQUARE.slopes_of(residuals, ratio)) * ratio, abs=2e-4)
    assert BISQUARE.mean_square(ratio) == pytest.approx(np.mean(found**2), abs=2e-4)
    assert BISQUARE.ratio_of_share(BISQUARE.share_near(ratio)) == pytest.approx(ratio, rel=1e-3)
    apart = (BISQUARE.of(residuals + 1e-6, ratio) - BISQUARE.of(residuals - 1e-6, ratio)) / 2e-6
    assert np.max(np.abs(BISQUARE.slopes_of(residuals, ratio) - apart)) < 1e-4
    assert scored(BISQUARE, np.zeros(9), np.linspace(-1.2, 1.2, 9)) == pytest.approx(
        BISQUARE.of(np.linspace(-1.2, 1.2, 9), 1.0), abs=2e-6
    )


@pytest.mark.parametrize(
    ("run", "chosen"),
    [("irls", {}), ("irls", {"score": "bisquare"}), ("irls", {"score": "l1"}), ("quantile-regression", {"quantile": 0.3})],
)
@pytest.mark.parametrize("count", [1_500, 8_000])
def test_a_ridge_is_in_the_estimand_of_every_score(run, chosen, count):
    block = line_rows("normal", count)
    target = Number(name="y", lower=-50.0, upper=50.0, missing=0.0)
    setting = DeclaredSetting(schema=schema(target), neighbours=Neighbours.REPLACE_ONE, rows=len(block))
    algorithm = prepare(run, setting, features=NAMES, target="y", ridge=1.0, **chosen)
    fit = algorithm.result(last_state(algorithm, 0.001, block, np.random.default_rng(1)))
    exact = estimand_of(fit, block[:, :-1], block[:, -1])
    found, errors = np.array([*fit.coefficients, fit.intercept]), np.array([*exact.standard_errors, exact.intercept_error])
    assert np.max(np.abs(found - [*exact.coefficients, exact.intercept]) / errors) < 0.5
    assert 0.2 < np.linalg.norm(fit.coefficients) / np.linalg.norm([0.4, -0.1, 0.3]) < 0.85
    assert np.array([*fit.standard_errors, fit.intercept_error]) == pytest.approx(errors, rel=0.5)
    assert "ridge of 1" in fit.estimand


@pytest.mark.parametrize("run", ["logistic", "poisson"])
def test_a_ridge_is_in_the_estimand_of_every_link(run):
    block = logistic_rows(8_000) if run == "logistic" else line_rows("poisson", 8_000)
    target = None if run == "logistic" else Number(name="y", lower=0.0, upper=500.0, missing=0.0)
    setting = DeclaredSetting(schema=schema(target), neighbours=Neighbours.REPLACE_ONE, rows=len(block))
    algorithm = prepare(run, setting, features=NAMES, target="y", ridge=0.5)
    fit = algorithm.result(last_state(algorithm, 0.001, block, np.random.default_rng(1)))
    exact = estimand_of(fit, block[:, :-1], block[:, -1])
    assert np.array(fit.coefficients) == pytest.approx(np.array(exact.coefficients), abs=2e-3)
    assert fit.estimand.count("ridge of 0.5") == 1


def test_the_bisquare_drops_wild_rows_and_is_its_estimand():
    block = line_rows("normal", 8_000)
    block[:800, -1] += 30.0
    target = Number(name="y", lower=-50.0, upper=50.0, missing=0.0)
    setting = DeclaredSetting(schema=schema(target), neighbours=Neighbours.REPLACE_ONE, rows=len(block))
    fits = {}
    for score in ("huber", "bisquare"):
        algorithm = prepare("irls", setting, features=NAMES, target="y", score=score)
        fits[score] = algorithm.result(last_state(algorithm, 0.01, block, np.random.default_rng(1)))
    fit = fits["bisquare"]
    exact = estimand_of(fit, block[:, :-1], block[:, -1])
    errors = np.array([*exact.standard_errors, exact.intercept_error])
    apart = np.array([*fit.coefficients, fit.intercept]) - [*exact.coefficients, exact.intercept]
    assert np.max(np.abs(apart) / errors) < 0.5
    assert np.max(np.abs(np.array([*fit.coefficients, fit.intercept]) - [0.4, -0.1, 0.3, 2.4]) / errors) < 4.5
    residual = np.mean(block[800:, -1] - block[800:, :-1] @ fits["huber"].coefficients - fits["huber"].intercept)
    assert abs(np.mean(block[800:, -1] - block[800:, :-1] @ fit.coefficients - fit.intercept)) < 0.2 * abs(residual)
    assert "bisquare" in fit.estimand


def grown(score, **factors):
    return replace(score, **{name: getattr(score, name) * factor for name, factor in factors.items()})


MUTANTS = {
    "not 0 at the truth": (lambda s: replace(s, middles=s.middles * 0.95), "mean score"),
    "a square of another law": (lambda s: grown(s, squares=1.1), "mean square"),
    "a slope of another law": (lambda s: grown(s, slopes=np.linspace(1.0, 1.3, s.slopes.size)), "slope"),
    "a law of another score": (lambda s: replace(s, law=lambda eta: s.law(eta + 0.05)), "mean"),
    "a width of nothing": (lambda s: grown(s, widths=0.0), "width|finite"),
    "a score that grows": (lambda s: replace(s, middles=s.middles[::-1], law=lambda eta: s.law(-eta)), "grows|slope"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_score_is_found(name):
    broken, why = MUTANTS[name]
    with pytest.raises(AssertionError, match=why), np.errstate(all="ignore"):
        check_link(broken(logistic()))


def test_a_score_that_is_not_cut_to_1_is_found(monkeypatch):
    monkeypatch.setattr(Scores, "__call__", lambda self, rows: np.nan_to_num(self._tabled(rows)[0]) * 1.5)
    with pytest.raises(AssertionError, match="above 1"):
        check_link(logistic())


def test_a_residual_score_off_its_centre_is_found():
    with pytest.raises(AssertionError, match="mean score"):
        check_residual(ResidualScore(shift=0.1))


def test_the_logistic_score_is_what_the_formula_says():
    rng = np.random.default_rng(0)
    predictors, targets = rng.normal(size=500) * 3.0, (rng.random(500) < 0.5) * 1.0
    yes = 1.0 / (1.0 + np.exp(-predictors))
    formula = (targets - yes) / np.maximum(yes, 1.0 - yes)
    assert scored(logistic(), predictors, targets) == pytest.approx(formula, abs=2e-5)


NAMES = ("x0", "x1", "x2")


def schema(target=None):
    numbers = [Number(name=name, lower=-20.0, upper=20.0, missing=0.0) for name in NAMES]
    return Schema(columns=(*numbers, target or Boolean(name="y", missing=False)))


def logistic_rows(count, seed=0, constant=-1.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 3)) * [1.0, 2.0, 0.5] + [0.0, 5.0, -3.0]
    line = constant + x @ [0.8, -0.4, 1.0] + 5.0
    return np.column_stack([x, rng.random(count) < 1.0 / (1.0 + np.exp(-line))])


def fitted(block, noise, *, target=None, relation=Neighbours.REPLACE_ONE, **chosen):
    setting = DeclaredSetting(schema=schema(target), neighbours=relation, rows=len(block))
    algorithm = prepare("logistic", setting, features=NAMES, target="y", few_rows="answer", **chosen)
    return algorithm.result(last_state(algorithm, noise, block, np.random.default_rng(1)))


def test_without_noise_a_fit_is_its_estimand_and_near_the_truth():
    block = logistic_rows(20_000)
    fit = fitted(block, 1e-3)
    exact = estimand_of(fit, block[:, :-1], block[:, -1])
    apart = np.array([*fit.coefficients, fit.intercept]) - [*exact.coefficients, exact.intercept]
    errors = np.array([*exact.standard_errors, exact.intercept_error])
    assert np.max(np.abs(apart) / errors) < 0.1
    assert np.max(np.abs(np.array(fit.coefficients) - [0.8, -0.4, 1.0]) / fit.standard_errors) < 4.0
    assert np.array([*fit.standard_errors, fit.intercept_error]) == pytest.approx(errors, rel=0.25)


def test_public_coefficients_are_where_steps_start():
    block = logistic_rows(20_000)
    fit = fitted(block, 1e-3, start=[0.8, -0.4, 1.0, 4.0])
    assert fit.coefficients == pytest.approx(fitted(block, 1e-3).coefficients, abs=1e-3)


@pytest.mark.parametrize("relation", list(Neighbours), ids=str)
def test_an_answer_that_does_not_occur_is_noted_and_nothing_is_wild(relation):
    block = logistic_rows(3_000)
    block[:, -1] = 0.0
    fit = fitted(block, 4.0, target=Category(name="y", levels=("no", "yes")), relation=relation)
    assert any("yes" in note and "does not occur" in note for note in fit.notes)
    assert "log-odds of yes against no" in fit.estimand
    assert np.isfinite([*fit.coefficients, fit.intercept, *fit.standard_errors]).all()
    assert fit.intercept < 0.0


def test_separation_gives_finite_answers():
    block = logistic_rows(3_000)
    block[:, -1] = block[:, 0] > 0.0
    for noise in (1e-3, 4.0):
        fit = fitted(block, noise)
        assert np.isfinite([*fit.coefficients, fit.intercept, *fit.standard_errors]).all()
        assert fit.coefficients[0] > 1.0


def test_other_targets_are_refused_and_irls_names_logistic():
    setting = DeclaredSetting(
        schema=schema(Category(name="y", levels=("a", "b", "c"))), neighbours=Neighbours.REPLACE_ONE, rows=9
    )
    with pytest.raises(dpkit.InvalidValueError, match="two levels"):
        prepare("logistic", setting, features=NAMES, target="y")
    two = DeclaredSetting(schema=schema(Category(name="y", levels=("a", "b"))), neighbours=Neighbours.REPLACE_ONE, rows=9)
    with pytest.raises(dpkit.InvalidValueError, match="logistic"):
        prepare("irls", two, features=NAMES, target="y")
    boolean = DeclaredSetting(schema=schema(), neighbours=Neighbours.REPLACE_ONE, rows=5_000)
    assert any("logistic" in told for told in prepare("irls", boolean, features=NAMES, target="y").advice(1.0))
    assert not any("logistic" in told for told in prepare("logistic", boolean, features=NAMES, target="y").advice(1.0))


def test_a_plan_foretells_errors_of_log_odds():
    setting = DeclaredSetting(schema=schema(), neighbours=Neighbours.REPLACE_ONE, rows=20_000)
    algorithm = prepare("logistic", setting, features=NAMES, target="y")
    found = algorithm.accuracy(4.66)
    assert set(found) == {f"{name}, on made-up data that fill the bounds" for name in (*NAMES, "intercept")}
    assert all(0.0 < width < 3.0 for width in found.values())


def line_rows(kind, count=20_000, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 3)) * [1.0, 2.0, 0.5] + [0.0, 5.0, -3.0]
    line = x @ [0.4, -0.1, 0.3] + 2.4
    if kind == "poisson":
        return np.column_stack([x, rng.poisson(np.exp(line))])
    if kind == "over-dispersed":
        return np.column_stack([x, rng.negative_binomial(np.exp(line) / 2.0, 1.0 / 3.0)])
    return np.column_stack([x, line + rng.normal(size=count)])


@pytest.mark.parametrize(
    ("kind", "run", "chosen", "moved"),
    [
        ("poisson", "poisson", {}, 0.0),
        ("over-dispersed", "poisson", {}, 0.0),
        ("normal", "quantile-regression", {"quantile": 0.9}, norm.ppf(0.9)),
        ("normal", "quantile-regression", {}, 0.0),
    ],
)
def test_every_family_reaches_its_estimand_and_the_truth(kind, run, chosen, moved):
    block = line_rows(kind)
    low, high = (0.0, 500.0) if run == "poisson" else (-50.0, 50.0)
    target = Number(name="y", lower=low, upper=high, missing=0.0)
    setting = DeclaredSetting(schema=schema(target), neighbours=Neighbours.REPLACE_ONE, rows=len(block))
    algorithm = prepare(run, setting, features=NAMES, target="y", **chosen)
    fit = algorithm.result(last_state(algorithm, 0.01, block, np.random.default_rng(1)))
    exact = estimand_of(fit, block[:, :-1], block[:, -1])
    errors = np.array([*exact.standard_errors, exact.intercept_error])
    found = np.array([*fit.coefficients, fit.intercept])
    assert np.max(np.abs(found - [*exact.coefficients, exact.intercept]) / errors) < 0.5
    assert np.max(np.abs(found[:3] - [0.4, -0.1, 0.3]) / errors[:3]) < 4.5
    assert abs(found[3] - 2.4 - moved) < 0.25
    assert np.array([*fit.standard_errors, fit.intercept_error]) == pytest.approx(errors, rel=0.4)
    if kind == "over-dispersed":
        assert 2.0 < fit.link.dispersion < 4.5
    assert fit.form == run
    assert algorithm.accuracy(4.0).keys() == {f"{name}, on made-up data that fill the bounds" for name in (*NAMES, "intercept")}


def test_targets_below_0_are_no_counts():
    setting = DeclaredSetting(
        schema=schema(Number(name="y", lower=-1.0, upper=9.0)), neighbours=Neighbours.REPLACE_ONE, rows=99
    )
    with pytest.raises(dpkit.InvalidValueError, match="counts"):
        prepare("poisson", setting, features=NAMES, target="y")


def test_every_family_is_registered():
    registry = dpkit.load_plugins(discover=False, extra={"irls": dpkit_irls}).registry
    for name in ("logistic", "poisson", "quantile-regression"):
        assert registry.algorithm(name).prepare is not None
    assert isinstance(logistic(), LinkScore)


def test_irls_minimises_absolute_errors_by_name():
    block = line_rows("normal")
    target = Number(name="y", lower=-50.0, upper=50.0, missing=0.0)
    setting = DeclaredSetting(schema=schema(target), neighbours=Neighbours.REPLACE_ONE, rows=len(block))
    fits = {}
    for score in ("huber", "l1"):
        algorithm = prepare("irls", setting, features=NAMES, target="y", score=score)
        fits[score] = algorithm.result(last_state(algorithm, 0.01, block, np.random.default_rng(1)))
    assert fits["l1"].threshold < 0.35 < 1.0 < fits["huber"].threshold
    assert np.max(np.abs(np.array(fits["l1"].coefficients) - [0.4, -0.1, 0.3])) < 0.1


def test_looks_weighed_again_are_the_filter_that_had_known_the_curvature():
    """With a curvature that is the same everywhere: the posterior of a line, by normal equations."""
    rng = np.random.default_rng(0)
    size, noise = 4, 0.7
    root = rng.normal(size=(size, size))
    curve, prior, truth = root @ root.T + np.eye(size), np.diag(rng.uniform(0.5, 2.0, size=size)), rng.normal(size=size)
    positions = [np.zeros(size), *rng.normal(size=(5, size))]
    gradients = [curve @ (truth - position) + noise * rng.normal(size=size) for position in positions]
    looks = [
        Step(position=position, gradient=gradient, noise=noise**2 * np.eye(size), threshold=1.0, slope=1.0)
        for position, gradient in zip(positions, gradients, strict=True)
    ]
    found, variance, gains = weighed(looks, [curve] * len(looks), prior)
    precision = np.linalg.inv(prior) + len(looks) * curve @ curve / noise**2
    told = sum(curve @ (g + curve @ p) for p, g in zip(positions, gradients, strict=True)) / noise**2
    assert np.allclose(found, np.linalg.solve(precision, told))
    assert np.allclose(variance, np.linalg.inv(precision))
    assert len(gains) == len(looks)
