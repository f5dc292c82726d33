"""Every notion, in both directions and under both relations: slightly over its claim a mechanism falls, at it it stands."""

import pytest

from dpkit import GDP, RDP, ZCDP, ApproxDP, Gaussian, Laplace, Neighbours, PureDP, audit
from dpkit.privacy.gaussian_dp import gaussian_delta
from dpkit.privacy.losses import MeanCDP

ORDERS = tuple(1.0 + 0.25 * k for k in range(1, 60))
PAIRS = [(0.0, 1.0), (1.0, 0.0)]
CLAIMS = [  # the claim, a mechanism exactly at it, one slightly over it
    # Gaussian noise is known to be worse than a zCDP or Rényi claim says only where it breaks the profile that follows from
    # the claim, which is looser than its own: the margin is that of the conversion
    (PureDP(epsilon=1.0), Laplace(scale=1.0), Laplace(scale=0.99)),
    (ApproxDP(epsilon=1.0, delta=gaussian_delta(1.0, epsilon=1.0)), Gaussian(scale=1.0), Gaussian(scale=0.99)),
    (GDP(mu=1.0), Gaussian(scale=1.0), Gaussian(scale=0.99)),
    (ZCDP(rho=0.5), Gaussian(scale=1.0), Gaussian(scale=0.85)),
    (RDP(orders=ORDERS, epsilons=tuple(0.5 * a for a in ORDERS)), Gaussian(scale=1.0), Gaussian(scale=0.85)),
    (MeanCDP(mu=0.5, tau=1.0), Gaussian(scale=1.0), Gaussian(scale=0.6)),
]


def exactly(law, claim, pair, relation):
    (certificate,) = audit(
        law.release_many, claim, pair, samples=2, rng=1, density=law, falsifiers=["exact profile"], neighbours=relation
    )
    assert certificate.claim.neighbours is relation
    return certificate


@pytest.mark.parametrize("relation", list(Neighbours), ids=str)
@pytest.mark.parametrize("pair", PAIRS, ids=str)
@pytest.mark.parametrize(("claim", "right", "wrong"), CLAIMS, ids=lambda item: type(item).__name__)
def test_slightly_over_the_claim_falls_and_at_the_claim_stands(claim, right, wrong, pair, relation):
    assert exactly(wrong, claim, pair, relation).refuted
    assert not exactly(right, claim, pair, relation).refuted
