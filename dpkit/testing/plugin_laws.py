"""All laws for all that a plugin adds: what `dpkit plugins check` runs, and what a plugin's own tests parametrise over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from dpkit.contracts.registry import Registry
from dpkit.errors import PluginError
from dpkit.hooks.catalogue import CATALOGUE
from dpkit.hooks.manager import Installed, Plugin, load_plugins
from dpkit.hooks.specs import PROJECT
from dpkit.testing import audit_laws, claim_laws, density_and_accuracy_laws, extreme_case_laws, release_laws, sampler_laws
from dpkit.testing.accountant_composition_laws import LARGE_LAWS
from dpkit.testing.accountant_laws import ACCOUNTANT_LAWS
from dpkit.testing.algorithm_laws import ALGORITHM_LAWS, AlgorithmCase
from dpkit.testing.engine_laws import ENGINE_LAWS, EngineCase
from dpkit.testing.ledger_store_laws import STORE_LAWS, StoreCase
from dpkit.testing.loss_rule_laws import RULE_LAWS, RuleCase
from dpkit.testing.mechanism_cases import MechanismCase
from dpkit.testing.query_laws import QUERY_LAWS, QueryCase
from dpkit.testing.run_laws import Check, CheckResult, LawUnchecked, run_checks
from dpkit.testing.source_laws import SOURCE_LAWS, SourceCase

MECHANISM_LAWS: tuple[Callable[[MechanismCase], None], ...] = (
    claim_laws.claims_are_what_the_rules_give,
    claim_laws.price_grows_with_distance,
    claim_laws.several_distances_are_one_of_them,
    release_laws.release_refuses_nan_and_infinity,
    release_laws.errors_show_no_value,
    release_laws.nothing_is_written_of_the_value,
    release_laws.refusals_tell_no_neighbours_apart,
    release_laws.integers_are_numbers,
    release_laws.release_does_not_change_its_input,
    release_laws.release_is_deterministic_given_the_rng,
    release_laws.without_a_generator_the_noise_is_the_same_law,
    release_laws.mechanism_keeps_nothing,
    release_laws.form_shows_nothing,
    release_laws.noise_is_never_zero,
    sampler_laws.draws_are_independent,
    sampler_laws.outputs_lie_on_a_fixed_grid,
    sampler_laws.density_integrates_to_one,
    sampler_laws.sampler_follows_its_declared_law,
    density_and_accuracy_laws.release_many_is_many_releases,
    density_and_accuracy_laws.density_keeps_the_claims,
    density_and_accuracy_laws.accuracy_covers_the_error,
    extreme_case_laws.no_release_is_the_value_itself,
    extreme_case_laws.long_vectors_have_fresh_noise,
    claim_laws.claims_survive_a_quick_audit,
    extreme_case_laws.claims_hold_at_the_ends_of_parameters,
    extreme_case_laws.claims_hold_for_large_values,
    extreme_case_laws.claims_hold_in_long_vectors,
    extreme_case_laws.claims_hold_in_every_metric,
    extreme_case_laws.claims_of_small_steps_add_up,
    extreme_case_laws.claims_hold_for_near_neighbours,
    audit_laws.claims_survive_the_audit,
)


def laws_of_plugin(plugin: object, *, name: str = "plugin", seed: int = 0) -> list[Check]:
    """Every law for everything that this plugin (a module or an object with hooks) adds.

    Raises where the plugin cannot be loaded beside the built-ins, with the reason.
    """
    return laws_of(load_plugins(discover=False, extra={name: plugin}), name, seed=seed)


def laws_of_installed(name: str, *, seed: int = 0) -> list[Check]:
    """The same for an installed plugin, by the name of its entry point; other plugins stay out of it."""
    return laws_of(load_plugins(only=() if name == PROJECT else (name,)), name, seed=seed)


def laws_of(installed: Installed, name: str, *, seed: int = 0) -> list[Check]:
    """The checks of one loaded plugin."""
    plugin, *others = [found for found in installed.plugins if found.name == name]
    if not plugin.healthy:
        reasons = [
            f"{found.distribution} {found.version}: {' '.join(found.problems)}".lstrip(": ") for found in (plugin, *others)
        ]
        raise PluginError(plugin=name, reason=" ".join(reasons))
    return list(_checks(plugin, installed.registry, seed))


def _checks(plugin: Plugin, registry: Registry, seed: int) -> Iterator[Check]:
    for name in plugin.adds.get("mechanisms", ()):
        case = MechanismCase(factory=registry.mechanism(name), registry=registry, seed=seed)
        yield from _each(f"mechanism {name}", MECHANISM_LAWS, case)
    algorithms = tuple(
        AlgorithmCase(factory=registry.algorithm(name), registry=registry, seed=seed)
        for name in plugin.adds.get("algorithms", ())
    )
    for rule in registry.rules:
        if rule.name in plugin.adds.get("rules", ()):
            own = plugin.name != PROJECT and rule.name not in registry.foreign
            case_of_rule = RuleCase(rule=rule, registry=registry, seed=seed, own=own, algorithms=algorithms)
            yield from _each(f"loss rule {rule.name}", RULE_LAWS, case_of_rule)
    for name in plugin.adds.get("queries", ()):
        yield from _each(f"query {name}", QUERY_LAWS, QueryCase(factory=registry.query(name), seed=seed))
    for algorithm in algorithms:
        yield from _each(f"algorithm {algorithm.factory.name}", ALGORITHM_LAWS, algorithm)
    for name in plugin.adds.get("sources", ()):
        yield from _each(f"source {name}", SOURCE_LAWS, SourceCase(factory=registry.source(name)))
    for name in plugin.adds.get("engines", ()):
        yield from _each(f"engine {name}", ENGINE_LAWS, EngineCase(factory=registry.engine(name), seed=seed))
    for name in plugin.adds.get("accountants", ()):
        yield from _each(f"accountant {name}", (*ACCOUNTANT_LAWS, *LARGE_LAWS), registry.accountant(name))
    for name in plugin.adds.get("ledger_stores", ()):
        yield from _each(f"ledger store {name}", STORE_LAWS, StoreCase(factory=registry.ledger_store(name), registry=registry))

    for contribution in CATALOGUE:
        if contribution.field not in _JUDGED:
            for name in plugin.adds.get(contribution.field, ()):
                yield Check(subject=f"{contribution.kind} {name}", law="it_has_laws", run=_unjudged)


_JUDGED = ("mechanisms", "rules", "queries", "algorithms", "accountants", "sources", "engines", "ledger_stores")
"""What the kit has laws for."""


def _unjudged() -> None:
    """What has no laws in the kit is UNCHECKED: that says nothing of whether it is right."""
    raise LawUnchecked("the kit has no laws for things of this kind")


def _each(subject: str, laws: tuple[Callable[[Any], None], ...], case: object) -> Iterator[Check]:
    for law in laws:
        yield Check(subject=subject, law=law.__name__, run=partial(law, case))


def check_plugin(module: object, *, seed: int = 0) -> list[CheckResult]:
    """Load one module (or any object with hooks) as a plugin beside the built-ins, and try every law on what it adds.

    Each result is (subject, law, outcome, detail); `outcome` is 'passed', 'failed', 'skipped' (the law does not speak of it)
    or 'unchecked' (it does, and the kit cannot try it). `dpkit plugins check` shows the same for an installed plugin.
    A module that cannot be loaded fails the law `the_plugin_loads`.
    """
    name = str(getattr(module, "__name__", "plugin")).rpartition(".")[2].replace("_", "-")
    try:
        checks = laws_of_plugin(module, name=name, seed=seed)
    except PluginError as error:
        return [CheckResult(subject=f"plugin {name}", law="the_plugin_loads", outcome="failed", detail=str(error))]
    return list(run_checks(checks))
