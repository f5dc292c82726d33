"""Differences of two runs: which are certain, and which a coin may explain."""

import numpy as np
import pytest
from scipy import stats

from dpkit.auditing.betting.profile import Point
from dpkit.auditing.recording.differences import differences, same_result
from dpkit.auditing.recording.losses import spread_breaks
from dpkit.auditing.recording.tape import Call, Tape

PURE = Point(epsilon=1.0, delta=0.0)


def two_runs(*asked, second=None):
    """A tape of calls that both runs made, the second with other inputs where they are given."""
    tape = Tape()
    for call in asked:
        tape.ask(call, lambda: 0.5)
    tape.rewind()
    for call in asked if second is None else second:
        tape.ask(Call(call.name, call.family, call.parameters, call.value), lambda: 0.5)
    return tape


def test_a_result_that_differs_is_certain_without_coins_alone():
    noise, coin = Call("laplace", "laplace"), Call("random", "coins")
    (found,) = differences(two_runs(noise), [1.0, 2.0], "", PURE)
    assert found.certain
    (found,) = differences(two_runs(noise, coin), [1.0, 2.0], "", PURE)
    assert not found.certain
    assert differences(two_runs(noise, coin), [1.0, 1.0 + 1e-12], "", PURE) == []


def test_a_scale_that_differs_is_certain_before_a_coin():
    coin = Call("random", "coins")
    one, two = (Call("laplace", "laplace", {"scale": scale}) for scale in (1.0, 2.0))
    (found,) = differences(two_runs(one, coin, second=(two, coin)), [1.0, 1.0], "", PURE)
    assert found.certain
    (found,) = differences(two_runs(coin, one, second=(coin, two)), [1.0, 1.0], "", PURE)
    assert not found.certain


@pytest.mark.parametrize(("family", "law"), [("laplace", stats.laplace), ("gaussian", stats.norm)])
@pytest.mark.parametrize(("centres", "scales"), [((0.0, 0.5), (1.0, 1.4)), ((3.0, 3.0), (2.0, 1.0)), ((-1.0, 2.0), (1.5, 1.6))])
def test_noise_of_another_spread_is_certain_where_it_breaks_the_claim_by_itself(family, law, centres, scales):
    call = Call(family, family, {"scale": scales[0]}, {("None", 0): (np.asarray(centres[0]), 1.0)})
    call.other_value, call.other_parameters = {("None", 0): (np.asarray(centres[1]), 1.0)}, {"scale": scales[1]}
    one, two = (law(centre, scale) for centre, scale in zip(centres, scales, strict=True))
    at = np.linspace(-80.0, 80.0, 3_200_001)
    for epsilon in (0.1, 1.0):
        sides = [
            float(np.maximum(p.pdf(at) - np.exp(epsilon) * q.pdf(at), 0.0).sum() * (at[1] - at[0]))
            for p, q in ((one, two), (two, one))
        ]
        for factor in (0.98, 1.02):
            assert spread_breaks(call, Point(epsilon=epsilon, delta=factor * max(sides))) == (factor < 1.0)


def test_a_spread_that_differs_is_certain_for_pure_claims_and_where_delta_is_small():
    one, two = (Call("laplace", "laplace", {"scale": scale}, {("None", 0): (np.asarray(0.0), 1.0)}) for scale in (1.0, 1.01))
    for point, certain in ((PURE, True), (Point(epsilon=1.0, delta=0.1), False)):
        (found,) = differences(two_runs(one, second=(two,)), [1.0, 1.0], "", point)
        assert found.certain == certain


def test_results_are_the_same_but_for_rounding():
    assert same_result([1.0, float("nan")], [1.0 + 1e-12, float("nan")])
    assert not same_result([1.0], [1.0, 2.0])
    assert not same_result(1, 1.0)
