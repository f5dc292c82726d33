"""Differences of two runs: which are certain, and which a coin may explain."""

from dpkit.auditing.recording.differences import differences, same_result
from dpkit.auditing.recording.tape import Call, Tape


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
    (found,) = differences(two_runs(noise), [1.0, 2.0], "")
    assert found.certain
    (found,) = differences(two_runs(noise, coin), [1.0, 2.0], "")
    assert not found.certain
    assert differences(two_runs(noise, coin), [1.0, 1.0 + 1e-12], "") == []


def test_a_scale_that_differs_is_certain_before_a_coin():
    coin = Call("random", "coins")
    one, two = (Call("laplace", "laplace", {"scale": scale}) for scale in (1.0, 2.0))
    (found,) = differences(two_runs(one, coin, second=(two, coin)), [1.0, 1.0], "")
    assert found.certain
    (found,) = differences(two_runs(coin, one, second=(coin, two)), [1.0, 1.0], "")
    assert not found.certain


def test_results_are_the_same_but_for_rounding():
    assert same_result([1.0, float("nan")], [1.0 + 1e-12, float("nan")])
    assert not same_result([1.0], [1.0, 2.0])
    assert not same_result(1, 1.0)
