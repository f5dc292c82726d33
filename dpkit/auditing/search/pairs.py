"""Pairs of neighbouring values at a distance: where mechanisms are audited when no pair is given; plugins add theirs."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from dpkit.auditing.search.metrics import size_in
from dpkit.contracts.factories import NeighbourPairs
from dpkit.contracts.mechanism import Mechanism, Neighbouring
from dpkit.contracts.registry import Registry
from dpkit.errors import InvalidValueError
from dpkit.mechanisms.discrete import DiscreteGaussian, DiscreteLaplace
from dpkit.mechanisms.exponential import Exponential
from dpkit.mechanisms.randomized_response import RandomizedResponse
from dpkit.mechanisms.symmetric_gaussian import SymmetricGaussian
from dpkit.privacy.neighbours import Distance

Pair = tuple[object, object]


def pairs_at(mechanism: Mechanism, at: Distance) -> tuple[Pair, ...]:
    """Values that differ by this distance, extremes of what it allows; a mechanism's own `neighbouring_values` go first."""
    if isinstance(mechanism, Neighbouring):
        return tuple(mechanism.neighbouring_values(at))
    step = at.value
    if isinstance(mechanism, RandomizedResponse):
        return ((np.int64(0), np.int64(1)),)
    if isinstance(mechanism, DiscreteLaplace | DiscreteGaussian):
        return ((np.int64(0), np.int64(int(step))),)
    if isinstance(mechanism, Exponential):
        # the best candidate gains what all others lose (half of it under a monotone relation)
        low = 0.0 if mechanism.monotone else -step
        return ((np.zeros(4), np.array([step, low, low, low])),)
    if isinstance(mechanism, SymmetricGaussian):
        return ((np.zeros((2, 2)), np.diag([step, 0.0])),)
    if at.metric in ("l1", "l2", "linf", "frobenius"):
        return ((np.float64(0.0), np.float64(step)),)
    raise InvalidValueError(
        field="pair",
        found=None,
        allowed=f"a pair of datasets (no pair at {at} is known for {type(mechanism).__name__})",
        where="audit",
        fix="Pass pair=(d1, d2), or give the mechanism a method neighbouring_values(at).",
    )


def takes_any_number(mechanism: Mechanism, at: Distance) -> bool:
    """Whether nothing is known of a mechanism's values but that numbers at this distance are neighbours."""
    special = (RandomizedResponse, DiscreteLaplace, DiscreteGaussian, Exponential, SymmetricGaussian)
    return not isinstance(mechanism, (Neighbouring, *special)) and at.metric in ("l1", "l2", "linf")


def registered_pairs(mechanism: Mechanism, at: Distance, registry: Registry) -> tuple[Pair, ...]:
    """The pairs that plugins registered for this mechanism. One that is too far apart would refute a true claim: refused."""
    names = factory_names(mechanism, registry)
    found: list[Pair] = []
    for source in registry.neighbour_pairs:
        if source.mechanism in names:
            pairs: Any = source.pairs(mechanism, at)
            found += [_within(source, one, two, at) for one, two in pairs]
    return tuple(found)


def factory_names(mechanism: Mechanism, registry: Registry) -> set[str]:
    """What the registry calls this mechanism: by the class that a factory makes, else by the class's own name."""
    made = {factory.name for factory in registry.mechanisms if factory.make is type(mechanism)}
    return made or {re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", type(mechanism).__name__).lower()}


def _within(source: NeighbourPairs, one: object, two: object, at: Distance) -> Pair:
    if at.metric in ("l1", "l2", "linf", "frobenius"):
        apart = size_in(at.metric, np.asarray(two, dtype=np.float64) - np.asarray(one, dtype=np.float64))
        if not apart <= at.value * (1.0 + 1e-9):
            raise InvalidValueError(
                field="pairs",
                found=f"values {apart!r} apart",
                allowed=f"values at most {at.value!r} apart in {at.metric}",
                where=f"NeighbourPairs({source.name})",
            )
    return one, two
