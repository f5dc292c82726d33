"""`advanced`: its filter keeps its inequality, and losses that all differ compose by the closed form."""

import math

import numpy as np
import pytest
from mpmath import mp, mpf
from pricing.filling import admitted

from dpkit import ApproxDP, PureEvent, account, privacy_filter

mp.dps = 60
BUDGETS = [(0.1, 1e-12), (1.0, 1e-6), (8.0, 1e-3), (1.0, 1e-300)]


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
@pytest.mark.parametrize("step", [1e-3, 1e-2])
def test_an_advanced_filter_keeps_within_its_inequality(epsilon: float, delta: float, step: float) -> None:
    """sqrt(2 ln(1/delta) sum e^2) + sum e^2 / 2 <= epsilon."""
    count = admitted(privacy_filter(ApproxDP(epsilon=epsilon, delta=delta), "advanced"), PureEvent(epsilon=step))

    def spent(times: int) -> mpf:
        squares = times * mpf(step) ** 2
        return mp.sqrt(-2 * mp.log(mpf(delta)) * squares) + squares / 2

    assert spent(count) <= mpf(epsilon)
    assert spent(count + 1) > mpf(epsilon) * (1 - mpf(1e-9))


def test_pure_losses_that_all_differ_still_compose() -> None:
    epsilons = np.random.default_rng(8).uniform(1e-4, 1e-2, 10_000)
    events = [PureEvent(epsilon=float(epsilon)) for epsilon in epsilons]
    reported = account(events, "advanced").epsilon(delta=1e-6)
    squares = float(np.sum(epsilons**2))
    mean = float(np.sum(epsilons * np.tanh(epsilons / 2.0)))
    assert reported == pytest.approx(mean + math.sqrt(2.0 * squares * math.log(math.e + math.sqrt(squares) / 1e-6)), rel=1e-12)
