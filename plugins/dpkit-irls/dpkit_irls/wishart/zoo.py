"""Entries of the audit's zoo: Wishart noise as published, with d+1 degrees of freedom, and repaired by many more."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from dpkit import ApproxDP, PureDP, ZooEntry
from dpkit_irls.paper.published_noise import WishartAsPublished
from dpkit_irls.wishart.gamma_pair import EVALUATION, threshold
from dpkit_irls.wishart.wishart import Wishart

_EPSILON = 1.0
_TAU = 1.0
_PUBLISHED = WishartAsPublished(scale=1.0 / (2.0 * _EPSILON))
_REPAIRED = Wishart(extra=20, scale=1.0 / (2.0 * _TAU))


def entries() -> tuple[ZooEntry, ...]:
    """Five rows and columns; the neighbour has one record more, a rank-one matrix of trace 1."""
    record = np.array([1.0, 2.0, -1.0, 0.5, 1.5])
    pair = (np.zeros((5, 5)), np.outer(record, record) / float(record @ record))
    published = partial(
        ZooEntry, sampler=_PUBLISHED.release_many, claim=PureDP(epsilon=_EPSILON), pair=pair, truth="broken", density=_PUBLISHED
    )
    return (
        published(
            name="wishart, black box",
            density=None,
            about="as published; with probability 1 - 1/e the output is impossible under the neighbour",
        ),
        published(name="wishart, white box", falsifiers=("white box",), about="as published, by its declared density"),
        published(name="wishart, support", falsifiers=("support",), about="as published, by its first impossible output"),
        ZooEntry(
            name="wishart, repaired",
            sampler=_REPAIRED.release_many,
            claim=_exact_claim(),
            pair=pair,
            truth="right",
            about="25 degrees of freedom, at its exact delta",
        ),
    )


def _exact_claim() -> ApproxDP:
    """delta(1) in the worse direction, the absence of a record; with one more it is zero from tau = 1 on (Theorem 1).

    The slack covers that the pair's trace is 1 up to rounding only. The law is Gamma((extra + 1) / 2), whose distribution is a
    finite sum: a list of entries loads no library for it. A test holds it against the profile of `gamma_pair.Absent`.
    """
    a = (_REPAIRED.extra + 1) / 2.0
    point = float(threshold(np.array([1.0 + _TAU]), a, _TAU)[0])
    below, shifted = half_integer_gamma(a, point), math.e * half_integer_gamma(a, point - _TAU)
    delta = below - shifted + 2.0 * EVALUATION * (below + shifted)
    return ApproxDP(epsilon=1.0, delta=delta * (1.0 + 1e-9))


def half_integer_gamma(a: float, x: float) -> float:
    """P(Gamma(a) <= x) for a = 1/2, 3/2, ...: erf(sqrt x) - e^-x sum x^k / Gamma(k + 1) over k = 1/2, ..., a - 1."""
    terms = (math.exp((k + 0.5) * math.log(x) - x - math.lgamma(k + 1.5)) for k in range(int(a)))
    return math.erf(math.sqrt(x)) - math.fsum(terms)
