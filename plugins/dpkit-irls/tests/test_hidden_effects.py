"""What effects that were not found leave open: the constant of answers and counts, and how far the start may still reach."""

import math

import numpy as np
import pytest
from dpkit_irls.bounded import stages
from dpkit_irls.bounded.covariance import Covariances
from dpkit_irls.bounded.link_filter import bend_error, predictors_at
from dpkit_irls.bounded.priors import as_found
from dpkit_irls.bounded.scaled_rows import Frame
from dpkit_irls.loss import logistic, poisson
from dpkit_irls.measuring import answer_coverage
from dpkit_irls.measuring.answer_coverage import AnswerCase, prepared
from scipy.optimize import brentq

TURN = np.array([[1.0, 0.3, 0.0], [-0.5, 0.8, 0.1], [0.2, 0.0, 1.2]])


def error_at(link, constant, vary):
    """Of effects of this variance, all of it left of the start, on rows whose entries have second moments of 1."""
    frame = Frame(columns=("a", "b", "y"), units=(1.0, 1.0), intercept=True, preconditioner=TURN)
    metric, back = TURN.T @ TURN, np.linalg.inv(TURN)
    left = back @ np.diag([0.75 * vary, 0.25 * vary, 9.0]) @ back.T  # the constant's own variance does not count
    position = back @ np.array([0.0, 0.0, constant])
    return bend_error(link, predictors_at(position, frame, metric), frame, metric, left)


@pytest.mark.parametrize("constant", [-4.0, -2.0, 0.0, 1.0, 3.0])
@pytest.mark.parametrize("vary", [0.05, 0.3])
def test_a_constant_is_off_by_what_hidden_effects_bend_the_mean_by(constant, vary):
    """Against a fit without effects on rows that have them, found as a root."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    share = float(weights @ (1.0 / (1.0 + np.exp(-(constant + math.sqrt(vary) * nodes)))))
    fitted = brentq(lambda place: 1.0 / (1.0 + math.exp(-place)) - share, -30.0, 30.0)
    assert error_at(logistic(), constant, vary) == pytest.approx(abs(fitted - constant), rel=0.2, abs=1e-6)
    mean = float(weights @ np.exp(constant + math.sqrt(vary) * nodes))
    assert error_at(poisson(), constant, vary) == pytest.approx(math.log(mean) - constant, rel=0.02)


def belief(error, position, *, trust=3.0):
    size = len(position)
    zero = np.zeros((1, size, size))
    found = Covariances(noise=np.array([error]), sampling=zero, start=zero, apart=np.zeros((1, size)))
    return as_found(np.diag([4.0] * size), np.array(position), found, trust=trust)


def test_a_start_that_was_far_wider_than_what_was_found_is_believed_to_be_as_small():
    position = np.array([0.1, -0.1, 0.2, 0.0])
    narrow = belief(1e-6 * np.eye(4), position)
    assert np.diag(narrow) == pytest.approx(3.0 * np.mean(position**2) + position**2, rel=1e-3)
    assert belief(1e-6 * np.eye(4), 10.0 * position) == pytest.approx(belief(1e-6 * np.eye(4), -10.0 * position))


def test_what_is_hidden_may_be_all_that_was_believed():
    error = np.diag([1e-6, 1e-6, 1e-6, 3.9])
    found = np.diag(belief(error, np.array([0.1, 0.1, 0.1, 0.0])))
    assert found[3] == pytest.approx(4.0)
    assert found[:3].max() < 0.2
    assert np.diag(belief(4.0 * np.eye(4), np.zeros(4))) == pytest.approx(4.0)


def test_the_noise_of_the_count_of_answers_moves_where_steps_start_as_is_said():
    algorithm, noise = prepared(AnswerCase(family="logistic", design="4% yes", rows=20_000, epsilon=1.0))
    state, spread = algorithm.init(noise), 60.0
    rng, made = np.random.default_rng(1), []
    for _ in range(400):
        counts = np.array([[18_600.0, 1_400.0]]) + spread * rng.normal(size=(1, 2))
        made.append(stages._answered(algorithm.facts, state, counts, spread))
    observed = np.std([each.constant for each in made])
    assert np.median([each.constant_error for each in made]) == pytest.approx(observed, rel=0.2)  # over five sds of it


@pytest.mark.parametrize(("rows", "most"), [(3_000, 1.25), (1_500, 1.05)])
def test_the_constant_of_rare_answers_is_as_sure_as_it_is_said_where_all_slopes_are_hidden(rows, most):
    """In stated errors. It is off by 0.4 and 0.7 on average: fits without slopes answer the log-odds of the mean.

    Without what hidden slopes bend it is 1.31 and 1.11, without the noise of the count 1.34 and 1.48.
    """
    case = AnswerCase(family="logistic", design="4% yes", rows=rows, epsilon=0.5)
    errors = [answer_coverage.errors_of(case, number, first_seed=960_000) for number in range(12)]
    apart = [off[-1] / stated[-1] for off, stated, _ in errors]
    assert np.sqrt(np.mean(np.square(apart))) < most
