"""The fewest samples by which any test of a claim can be expected to refute it: ln(1/alpha) over a divergence.

A test that stops by itself, refutes a true claim with probability at most alpha, and is sure to refute this mechanism, needs
on average at least ln(1/alpha) / K pairs of outputs. K is the smallest KL(P || P') + KL(Q || Q') over all pairs (P', Q') that
keep the claim (Wald 1945, section 4.8, for the hardest of them; the left side is the divergence of one pair of outputs).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import minimize

from dpkit import ApproxDP
from dpkit.authoring import Array, asfloat
from dpkit_bench.held_out import Target

_DRAWS = 400_000


def samples_at_least(target: Target, *, alpha: float, seed: int = 1, draws: int = _DRAWS) -> float:
    """Samples of both sides: twice ln(1/alpha) / K, with K by Monte Carlo over the privacy loss."""
    return 2.0 * math.log(1.0 / alpha) / divergence_from_claim(target, seed=seed, draws=draws)


def divergence_from_claim(target: Target, *, seed: int = 1, draws: int = _DRAWS) -> float:
    """K, by the dual of a convex problem: multipliers of the two totals and of the two hockey-stick bounds.

    With weights p = P/(P+Q) and q = Q/(P+Q) of an output under the mixture, the best P' and Q' are functions of (p, q) alone.
    """
    epsilon = target.claim.epsilon  # type: ignore[attr-defined]
    delta = target.claim.delta if isinstance(target.claim, ApproxDP) else 0.0
    rng = np.random.default_rng(seed)
    outputs = np.concatenate([np.asarray(target.sampler(side, draws, rng), dtype=np.float64) for side in target.pair])
    losses = target.loss(outputs.reshape(outputs.shape[0], -1))
    values, counts = np.unique(np.round(np.clip(losses, -60.0, 60.0), 3), return_counts=True)
    shares = counts / counts.sum() * 2.0  # of the sum of both laws
    p = 1.0 / (1.0 + np.exp(-values))
    p = np.where(values >= 60.0, 1.0, np.where(values <= -60.0, 0.0, p))
    q = 1.0 - p
    p, q = (side * shares for side in (p, q))
    p, q = p / p.sum(), q / q.sum()

    def negative_dual(chosen: Array) -> float:
        total = np.exp(chosen[:2])
        prices = np.exp(chosen[2:]) if delta else np.full(2, np.inf)
        forward = p / total[0] >= q / total[1]  # without a claim, the first side would be the likelier there
        inside = np.where(forward, _least(p, q, total, prices[0], epsilon), _least(q, p, total[::-1], prices[1], epsilon))
        return float(-(inside.sum() - total.sum() + 2.0 - (delta * prices.sum() if delta else 0.0)))

    starts = [[0.0, 0.0, price, price] for price in (-4.0, 0.0, 2.0)] if delta else [[0.0, 0.0]]
    find: Any = minimize
    options = {"maxiter": 4_000, "xatol": 1e-8, "fatol": 1e-13}
    best = min(float(find(negative_dual, np.array(start), method="Nelder-Mead", options=options).fun) for start in starts)
    return max(1e-12, -best)


def _least(p: Array, q: Array, total: Array, price: float, epsilon: float) -> Array:
    """The least of p ln(p/p') + q ln(q/q') + total p' + total q' - p - q + price (p' - e^epsilon q')+, at each point.

    A price without limit is that of a pure claim.
    """
    ratio = math.exp(epsilon)

    def cost(one: Array, two: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(p > 0.0, p * np.log(p / one), 0.0) + np.where(q > 0.0, q * np.log(q / two), 0.0)
        return asfloat(logs + total[0] * one + total[1] * two - p - q)

    free = p / total[0], q / total[1]
    allowed = free[0] <= ratio * free[1]
    bound_two = (p + q) / (total[0] * ratio + total[1])
    on_edge = cost(ratio * bound_two, bound_two)
    found = np.where(allowed, cost(*free), on_edge)
    if total[1] > price * ratio:
        paid = p / (total[0] + price), q / (total[1] - price * ratio)
        beyond = (paid[0] > ratio * paid[1]) & ~allowed
        found = np.where(beyond, cost(*paid) + price * (paid[0] - ratio * paid[1]), found)
    return asfloat(found)
