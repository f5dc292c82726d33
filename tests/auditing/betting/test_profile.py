"""What a claim says about events: its points are implied by the claim."""

import pytest

from dpkit.auditing.betting.profile import implied_delta, points_of
from dpkit.privacy.losses import GDP, RDP, ZCDP, ApproxDP, MeanCDP, PureDP


@pytest.mark.parametrize(
    "loss",
    [
        PureDP(epsilon=1.0),
        ApproxDP(epsilon=1.0, delta=1e-3),
        GDP(mu=1.0),
        ZCDP(rho=0.5, delta=1e-4),
        RDP(orders=(2.0, 4.0), epsilons=(1.0, 2.0), delta=1e-4),
        MeanCDP(mu=0.5, tau=1.0),
    ],
)
def test_points_are_implied_by_the_claim(loss):
    points = points_of(loss)
    assert points
    for point in points:
        assert 0.0 <= point.delta < 1.0
        assert point.delta >= implied_delta(loss, point.epsilon) * (1.0 - 1e-9) or isinstance(loss, ApproxDP)
