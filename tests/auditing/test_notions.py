"""Every notion, in both directions and under both relations: slightly over its claim a mechanism falls, at it it stands."""

import math

import numpy as np
import pytest

from dpkit import GDP, RDP, ZCDP, ApproxDP, Gaussian, Laplace, Neighbours, PureDP, RandomizedResponse, audit
from dpkit.privacy.gaussian import gaussian_delta
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


def test_the_boundary_of_a_pure_claim_is_sharp_for_discrete_outputs():
    pair = (np.int64(0), np.int64(1))
    for epsilon, verdict in ((1.0, False), (1.0 + 1e-6, True)):
        law = RandomizedResponse(epsilon=epsilon)
        found = audit(
            law.release_many, PureDP(epsilon=1.0), pair, samples=2, rng=1, density=law, falsifiers=["exact enumeration"]
        )
        assert found[0].refuted is verdict
        assert found[0].log_e_value == (math.inf if verdict else 0.0)
