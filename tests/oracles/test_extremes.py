"""Inputs at the edge of the floats: every reading is a number, on its side, and comes back soon."""

import math
from itertools import pairwise

import numpy as np
import pytest

from dpkit import (
    Event,
    GaussianEvent,
    LaplaceEvent,
    LossOverflowError,
    PureEvent,
    Repeat,
    Subsample,
    UnpricedEventError,
    account,
)

ACCOUNTANTS = ["pure", "advanced", "cdp", "zcdp", "rdp", "gdp", "best"]
RATIOS = [1e-170, 1e-12, 1e-8, 1e3, 1e6, 1e160]
EVENTS: list[Event] = [
    *(PureEvent(epsilon=ratio) for ratio in RATIOS),
    *(LaplaceEvent(ratio=ratio) for ratio in RATIOS),
    *(GaussianEvent(ratio=ratio) for ratio in RATIOS),
    *(Subsample(rate=0.01, event=GaussianEvent(ratio=ratio)) for ratio in RATIOS[1:]),
]


@pytest.mark.parametrize("accountant", ACCOUNTANTS)
@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_every_reading_is_a_number_that_falls_as_it_should(event: Event, accountant: str) -> None:
    for times in (1, 10**30):
        try:
            guarantee = account(Repeat(event=event, times=times), accountant)
        except (UnpricedEventError, LossOverflowError):
            continue
        epsilons = [guarantee.epsilon(delta=delta) for delta in (0.0, 1e-300, 1e-6, 0.999)]
        assert not any(math.isnan(epsilon) for epsilon in epsilons)
        assert all(later <= earlier * (1 + 1e-12) for earlier, later in pairwise(epsilons))
        assert epsilons[0] > 0.0, "without a delta, no loss is free"
        deltas = [guarantee.delta(epsilon=epsilon) for epsilon in (0.0, 1e-9, 1.0, 1e9)]
        assert all(0.0 <= delta <= 1.0 for delta in deltas)
        assert all(later <= earlier * (1 + 1e-9) + 1e-300 for earlier, later in pairwise(deltas))


@pytest.mark.parametrize(("accountant", "count"), [("zcdp", 10_000), ("rdp", 2000)])
def test_thousands_of_different_events_are_one_composition(accountant: str, count: int) -> None:
    ratios = np.random.default_rng(7).uniform(1e-4, 1e-2, count)
    events = [(LaplaceEvent if i % 2 else GaussianEvent)(ratio=float(ratio)) for i, ratio in enumerate(ratios)]
    rho = 0.5 * float(np.sum(ratios**2))
    epsilon = account(events, accountant).epsilon(delta=1e-6)
    # all but Gaussian: what the same rho of Gaussian noise would cost, from both sides
    assert account(GaussianEvent(ratio=math.sqrt(2.0 * rho)), "gdp").epsilon(delta=1e-6) * 0.99 <= epsilon
    assert epsilon <= account(GaussianEvent(ratio=math.sqrt(2.0 * rho)), "zcdp").epsilon(delta=1e-6) * (1 + 1e-9)
