"""The black box: samples alone refute every notion, in either direction."""

import numpy as np
import pytest

from dpkit import GDP, RDP, ZCDP, ApproxDP, PureDP, audit


def lopsided(probability):
    """A bit that is likelier under one dataset: the ratio is exceeded in one direction only, through a rare event."""
    return lambda bit, n, rng: (rng.random(n) < (probability if bit else 0.02)).astype(np.int64)


@pytest.mark.parametrize("pair", [(0, 1), (1, 0)], ids=str)
@pytest.mark.parametrize(
    "claim",
    [
        PureDP(epsilon=1.0),
        ApproxDP(epsilon=1.0, delta=0.02),
        GDP(mu=0.7),
        ZCDP(rho=0.25),
        RDP(orders=(2.0, 4.0), epsilons=(0.5, 1.0)),
    ],
    ids=lambda claim: type(claim).__name__,
)
def test_samples_alone_refute_every_notion_in_either_direction(claim, pair):
    assert audit(lopsided(0.4), claim, pair, samples=6_000, rng=1)[0].refuted
    assert not audit(lopsided(0.03), claim, pair, samples=3_000, rng=1)[0].refuted
