"""A claim (epsilon, delta) of a named family of noise, as the whole curve that it says: far more can be tested of it."""

from __future__ import annotations

import math

from dpkit.accounting import account, calibrate
from dpkit.contracts.guarantee import Guarantee
from dpkit.mechanisms.gaussian import Gaussian
from dpkit.privacy.checks import nonnegative, probability, probability_below_one, whole_number
from dpkit.privacy.events import Event, Repeat, Subsample
from dpkit.privacy.loss_table import EnvelopePair
from dpkit.privacy.losses import GDP, ApproxDP, Loss, PureDP
from dpkit.privacy.neighbours import l2
from dpkit.privacy.tradeoff import gaussian_mu_at

_WHERE = "gaussian_claim"
_SLACK = 1e-3
"""Samples are priced by certified bounds, not exactly: with noise smaller by this the claim is weaker than what they say."""
_DELTAS = (0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 3e-3, 1e-3, 1e-4)


def gaussian_claim(*, epsilon: float, delta: float, rate: float = 1.0, steps: int = 1) -> Loss:
    """What Gaussian noise says that is just (epsilon, delta)-DP: a loss for `audit` and `audit_scores`.

    The pair (epsilon, delta) alone is about events of probability delta, which takes 10^5 samples and more; noise that is too
    small shows in likely events at once. With `rate`, each of `steps` releases is on a Poisson sample (under adding or removing
    one record); without, all steps together are one Gaussian. What is tested is stronger than the pair: that the noise is of
    this family, or no more revealing anywhere.
    """
    nonnegative(epsilon, field="epsilon", where=_WHERE)
    probability_below_one(delta, field="delta", where=_WHERE)
    probability(rate, field="rate", where=_WHERE, minimum_is_open=True)
    count = whole_number(steps, field="steps", where=_WHERE, minimum=1)
    if rate == 1.0:
        return GDP(mu=gaussian_mu_at(epsilon, delta))

    def run(scale: float) -> Event:
        return Repeat(event=Subsample(event=Gaussian(scale=scale).event(at=l2(1.0)), rate=rate), times=count)

    scale = calibrate(run, ApproxDP(epsilon=epsilon, delta=delta), "pld") * (1.0 - _SLACK)
    return curve_of(account(run(scale), "pld"), delta=delta)


def curve_of(guarantee: Guarantee, *, delta: float) -> Loss:
    """What a guarantee says at several points, this delta among them, as one claim; pure where it is, and delta is 0."""
    if delta == 0.0:
        return PureDP(epsilon=guarantee.epsilon(delta=0.0))
    epsilons = sorted({0.0, *(guarantee.epsilon(delta=read) for read in (*_DELTAS, delta))})
    kept = [one for one in epsilons if math.isfinite(one)]
    return EnvelopePair(epsilons=tuple(kept), deltas=tuple(guarantee.delta(epsilon=one) for one in kept))
