"""The noise that an algorithm brings itself: a mechanism that nobody registered must obey the laws of mechanisms, too."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dpkit.contracts.factories import MechanismFactory, Values
from dpkit.contracts.mechanism import Mechanism, WhiteBox
from dpkit.contracts.query import Query
from dpkit.contracts.registry import Registry
from dpkit.contracts.setting import Setting
from dpkit.errors import DpkitError
from dpkit.testing import claim_laws, density_and_accuracy_laws, extreme_case_laws, release_laws, sampler_laws
from dpkit.testing.mechanism_cases import MechanismCase, built_or_none, typical_parameters
from dpkit.testing.run_laws import LawNotApplicable

LAWS: tuple[Callable[[MechanismCase], None], ...] = (
    claim_laws.claims_are_what_the_rules_give,
    claim_laws.price_grows_with_distance,
    claim_laws.several_distances_are_one_of_them,
    release_laws.mechanism_keeps_nothing,
    release_laws.release_is_deterministic_given_the_rng,
    sampler_laws.draws_are_independent,
    sampler_laws.sampler_follows_its_declared_law,
    density_and_accuracy_laws.release_many_is_many_releases,
    density_and_accuracy_laws.density_keeps_the_claims,
    extreme_case_laws.no_release_is_the_value_itself,
    claim_laws.claims_survive_a_quick_audit,
)
"""Those that a single instance can be judged by; the others vary its parameters."""
MOST_AUDITED = 2
"""How many instances of a class are audited by their outputs, where each says its density, too, and that keeps the claims."""
MOST_ENTRIES = 64
"""Larger shapes are tried at their first entries' number: noise for a vector of any length is what a law of its own tries."""


def check_noise(
    query: Query,
    mechanism: Mechanism,
    *,
    setting: Setting,
    registry: Registry,
    registered: Mapping[type, MechanismFactory],
    seed: int,
    tried: set[object],
) -> None:
    """Hold noise against the laws of mechanisms, unless its class is registered; `tried` are those that were held before."""
    if type(mechanism) in registered or _mark(mechanism) in tried:
        return
    tried.add(_mark(mechanism))
    case = case_of_noise(query, mechanism, setting=setting, registry=registry, registered=registered, seed=seed)
    audited = sum(isinstance(mark, tuple) and mark[0] is type(mechanism) for mark in tried)
    seldom = isinstance(mechanism, WhiteBox) and audited > MOST_AUDITED
    for law in LAWS:
        if seldom and law is claim_laws.claims_survive_a_quick_audit:
            continue
        try:
            law(case)
        except LawNotApplicable:
            continue
        except AssertionError as broken:
            raise AssertionError(
                f"its own noise {type(mechanism).__name__}, for the query {query.name}, breaks {law.__name__}: {broken}"
            ) from None


def case_of_noise(
    query: Query,
    mechanism: Mechanism,
    *,
    setting: Setting,
    registry: Registry,
    registered: Mapping[type, MechanismFactory],
    seed: int,
) -> MechanismCase:
    """One instance as a mechanism under test, with the values and metrics of the registered class that it derives from."""
    metric = _metric(query, mechanism, setting)
    model = next((registered[base] for base in type(mechanism).__mro__ if base in registered), None)
    factory = MechanismFactory(
        name="private-noise",
        doc="Noise that an algorithm brings itself.",
        make=lambda: mechanism,
        metrics=(metric,) if model is None else model.metrics,
        values=_values(query, mechanism) if model is None else model.values,
        shapes=(query.shape if np.prod(query.shape, dtype=float) <= MOST_ENTRIES else (3,),),
    )
    return MechanismCase(factory=factory, registry=registry, seed=seed)


def registered_classes(registry: Registry) -> dict[type, MechanismFactory]:
    """The classes that registered factories make, each with its factory."""
    found: dict[type, MechanismFactory] = {}
    for factory in registry.mechanisms:
        made = next((made for values in typical_parameters(factory) if (made := built_or_none(factory, values))), None)
        if made is not None:
            found[type(made)] = factory
    return found


def _mark(mechanism: Mechanism) -> object:
    """What tells one instance from another, hidden fields included."""
    try:
        return type(mechanism), pickle.dumps(mechanism)
    except Exception:  # noqa: BLE001 - a third party's class may refuse in any way
        return type(mechanism), repr(mechanism), repr(getattr(mechanism, "__dict__", ""))


def _metric(query: Query, mechanism: Mechanism, setting: Setting) -> str:
    """The first metric of the query's distances in which the mechanism is priced by itself."""
    for distance in setting.distances(query):
        try:
            mechanism.event(at=distance)
        except (DpkitError, TypeError, AttributeError, ValueError):
            continue
        return distance.metric
    raise AssertionError(
        f"its own noise {type(mechanism).__name__} takes none of the distances of the query {query.name}: `event(at=)` must "
        "take a single Distance"
    )


def _values(query: Query, mechanism: Mechanism) -> Values:
    """What it takes: scores where it answers with an index, integers where it refuses fractions, else numbers."""
    untyped: Any = mechanism
    try:
        sample = np.asarray(untyped.release(np.full(query.shape, 0.5), np.random.default_rng(0)))
    except (ValueError, TypeError):
        return "integers"
    return "scores" if sample.shape == () != query.shape and sample.dtype.kind in "iu" else "reals"
