"""Loading plugins, each checked by itself, and building the registry from the healthy ones. Nothing runs at import."""

from __future__ import annotations

import contextlib
import difflib
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field
from functools import lru_cache, partial
from typing import Any

import pluggy

from dpkit.accountants.best import BestAccountant
from dpkit.contracts.registry import Registry
from dpkit.debugging import show_of_no_data
from dpkit.errors import PluginWarning
from dpkit.hooks import specs
from dpkit.hooks.catalogue import BY_HOOK, CATALOGUE, Contribution
from dpkit.hooks.discovery import Candidate, attempt, built_in, installed, words_of
from dpkit.privacy import events
from dpkit.privacy.events import Event
from dpkit.values import dataclass

SLOW_SECONDS = 3.0
"""An import that takes longer is named."""

Items = dict[str, list[Any]]
"""What one plugin returned, by the registry's field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """One plugin after loading: where it is from, what it adds, and why it was left out if it was."""

    name: str
    distribution: str
    version: str
    location: str
    hooks: tuple[str, ...]
    adds: Mapping[str, tuple[str, ...]]
    problems: tuple[str, ...]
    unused: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def slow(self) -> str:
        """That its import takes seconds, in words; nothing where it does not."""
        return f"its import took {int(self.seconds)} s, and every command waits for it." if self.seconds >= SLOW_SECONDS else ""

    @property
    def healthy(self) -> bool:
        """Whether it is in use."""
        return not self.problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """Every plugin that was found, and the registry that the healthy ones fill."""

    plugins: tuple[Plugin, ...]
    registry: Registry


@dataclass(slots=True, kw_only=True)
class _Loading:
    """A plugin while it is being loaded."""

    candidate: Candidate
    problems: list[str]
    hooks: tuple[str, ...] = ()
    items: Items = field(default_factory=dict)


def build_manager() -> pluggy.PluginManager:
    """A manager that knows the specs and holds no plugin yet."""
    manager = pluggy.PluginManager(specs.PROJECT)
    manager.add_hookspecs(specs)
    return manager


def load_plugins(
    *, discover: bool = True, only: Collection[str] | None = None, extra: Mapping[str, object] | None = None
) -> Installed:
    """Load the built-ins, the installed plugins (with `only`, no others than these) and `extra` ones given as objects.

    A plugin with a fault is left out as a whole and says why; the others work.
    """
    with contextlib.redirect_stdout(sys.stderr):  # what a plugin prints must not mix with what a command prints
        return _loaded(discover=discover, only=only, extra=extra or {})


def _loaded(*, discover: bool, only: Collection[str] | None, extra: Mapping[str, object]) -> Installed:
    candidates = [built_in(), *(installed(only) if discover else ())]
    for name, module in extra.items():
        where = getattr(module, "__name__", type(module).__name__)
        candidates.append(Candidate(name=name, distribution="", version="", location=where, module=module))
    manager = build_manager()
    loadings = [
        _Loading(candidate=candidate, problems=[candidate.problem] * bool(candidate.problem)) for candidate in candidates
    ]
    _refuse_equal_names(loadings)
    for loading in loadings:
        if not loading.problems:
            _register(manager, loading)
    for loading in loadings:
        if not loading.problems:
            _collect(manager, loading)
    _refuse_claimed_names(loadings)
    foreign = _foreign_rules(loadings)
    return Installed(plugins=tuple(_plugin(loading, foreign) for loading in loadings), registry=_registry(loadings, foreign))


@lru_cache(maxsize=1)
def installed_plugins() -> Installed:
    """What is installed, loaded once, when it is first needed. A plugin that is left out is warned of."""
    loaded = load_plugins()
    for problem in loaded.registry.problems:
        warnings.warn(problem, PluginWarning, stacklevel=2)
    for plugin in loaded.plugins:
        if plugin.slow:
            warnings.warn(f"The plugin {plugin.name!r} is slow: {plugin.slow}", PluginWarning, stacklevel=2)
    return loaded


def default_registry() -> Registry:
    """The registry of what is installed."""
    return installed_plugins().registry


def _refuse_equal_names(loadings: list[_Loading]) -> None:
    by_name: dict[str, list[_Loading]] = {}
    for loading in loadings:
        by_name.setdefault(loading.candidate.name, []).append(loading)
    for name, group in by_name.items():
        for loading in group[0 if name != specs.PROJECT else 1 :] if len(group) > 1 else ():
            others = [other.candidate.owner for other in group if other is not loading]
            loading.problems.append(f"the plugin name {name!r} is also that of {', '.join(others)}.")


def _register(manager: pluggy.PluginManager, loading: _Loading) -> None:
    """Register one plugin and run its pending checks; on a fault it is unregistered and the reasons are kept."""
    name, module = loading.candidate.name, loading.candidate.module
    # pluggy looks at every attribute, and one may raise anything
    _, error = attempt(partial(manager.register, module, name=name))
    if isinstance(error, pluggy.PluginValidationError):
        loading.problems.append(f"a hook has the wrong signature: {' '.join(str(error).split())} Hooks take no argument.")
        manager.unregister(name=name)
        return
    if error is not None:
        show_of_no_data(error, of=f"the plugin {name!r}")
        loading.problems.append(f"it could not be registered: {type(error).__name__}: {words_of(error)}")
        if manager.has_plugin(name):
            manager.unregister(name=name)
        return
    implementations = list(manager.get_hookcallers(module) or ())
    for hook in implementations:
        if not hook.has_spec():
            loading.problems.append(_misspelt(hook.name))
        elif any(found.plugin is module and (found.wrapper or found.hookwrapper) for found in hook.get_hookimpls()):
            loading.problems.append(f"{hook.name} is a hook wrapper: return what the plugin adds, and nothing of others.")
    known = {hook.name for hook in implementations}
    for attribute in dir(module):
        if attribute.startswith("dpkit_") and attribute not in known and _is_function(module, attribute):
            if attribute in BY_HOOK:
                loading.problems.append(f"{attribute} is not marked with `@dpkit.hookimpl`.")
            elif difflib.get_close_matches(attribute, BY_HOOK, n=1, cutoff=0.8):
                loading.problems.append(_misspelt(attribute))
    loading.hooks = tuple(sorted(known & set(BY_HOOK)))
    if not loading.hooks and not loading.problems:
        loading.problems.append(f"it implements no hook. Hooks: {', '.join(BY_HOOK)}.")
    if loading.problems:
        manager.unregister(name=name)


def _is_function(module: object, attribute: str) -> bool:
    try:
        return callable(getattr(module, attribute))
    except Exception:  # noqa: BLE001 - a third party's property may raise anything; it is no hook
        return False


def _misspelt(name: str) -> str:
    near = difflib.get_close_matches(name, BY_HOOK, n=1)
    return f"there is no hook {name!r}.{f' Did you mean {near[0]!r}?' if near else ''} Hooks: {', '.join(BY_HOOK)}."


def _collect(manager: pluggy.PluginManager, loading: _Loading) -> None:
    """Call each hook of this plugin and check what it returns."""
    for contribution in CATALOGUE:
        caller: pluggy.HookCaller = getattr(manager.hook, contribution.hook)
        for implementation in caller.get_hookimpls():
            if implementation.plugin is not loading.candidate.module:
                continue
            found, error = attempt(partial(_returned, implementation.function))
            if error is not None:
                show_of_no_data(error, of=f"{contribution.hook} of the plugin {loading.candidate.name!r}")
                loading.problems.append(f"{contribution.hook} raised {type(error).__name__}: {words_of(error)}")
                continue
            if not isinstance(found, list):
                loading.problems.append(f"{contribution.hook} returned a {found}, not a list.")
                continue
            for item in found:
                problem = _fault_of(item, contribution)
                if problem:
                    loading.problems.append(problem)
                else:
                    loading.items.setdefault(contribution.field, []).append(item)


def _returned(function: Callable[[], object]) -> list[Any] | str:
    """What a hook returns, as a list; the name of its type where it is none."""
    returned = function()
    return list(returned) if isinstance(returned, Iterable) and not isinstance(returned, str) else type(returned).__name__


def _fault_of(item: object, contribution: Contribution) -> str:
    """What is wrong with one item that a hook returned; nothing, usually."""
    try:
        if not isinstance(item, contribution.product):
            return f"{contribution.hook} returned a {type(item).__name__}, not a {contribution.product.__name__}."
        name = getattr(item, "name", None)
    except Exception as error:  # noqa: BLE001 - a third party's property may raise anything
        return f"{contribution.hook} returned a {contribution.kind} whose name raises {type(error).__name__}."
    return "" if isinstance(name, str) and name else f"{contribution.hook} returned a {contribution.kind} without a name."


def _refuse_claimed_names(loadings: list[_Loading]) -> None:
    """A name claimed twice: the built-in keeps its own; of two plugins neither can be trusted to be the one that is meant."""
    claims: dict[tuple[str, str], list[tuple[_Loading, object]]] = {}
    for loading in loadings:
        if not loading.problems:
            for kind, name, thing in _claimed(loading):
                claims.setdefault((kind, name), []).append((loading, thing))
    for (kind, name), claimed in claims.items():
        if kind == "accountant" and name == "best":
            claimed.insert(0, (loadings[0], None))  # the product of dpkit's own accountants is made here
        if kind == "event" and len({id(thing) for _, thing in claimed}) == 1:
            continue  # several theorems about one event
        if len(claimed) > 1:
            owners = [owner for owner, _ in claimed]
            named = " and by ".join(dict.fromkeys(owner.candidate.owner for owner in owners))
            message = f"the {kind} name {name!r} is claimed by {named}{' twice' if len(set(map(id, owners))) == 1 else ''}."
            for owner in owners:
                if owner.candidate.name != specs.PROJECT and message not in owner.problems:
                    owner.problems.append(message)


def _claimed(loading: _Loading) -> Iterable[tuple[str, str, object]]:
    """Names with what they stand for. Event classes are told apart by name in JSON, so their names are claimed, too."""
    for contribution in CATALOGUE:
        for item in loading.items.get(contribution.field, ()):
            yield contribution.kind, item.name, item
    kinds = {rule.event for rule in loading.items.get("rules", ())}
    if loading.candidate.name == specs.PROJECT:
        kinds |= {item for item in vars(events).values() if isinstance(item, type) and issubclass(item, Event)}
    for kind in kinds:
        yield "event", kind.__name__, kind


def _foreign_rules(loadings: list[_Loading]) -> dict[str, str]:
    """Rules of a plugin about an event that is not its own, by name, with the words that say whose it is.

    An event is dpkit's where dpkit has it or speaks of it; else it belongs to the plugin whose package defines it, whether or
    not that one speaks of it; where none does, to the one plugin that speaks of it.
    """
    healthy = [loading for loading in loadings if not loading.problems]
    speakers: dict[type[Event], list[_Loading]] = {}
    for loading in healthy:
        for kind in dict.fromkeys(rule.event for rule in loading.items.get("rules", ())):
            speakers.setdefault(kind, []).append(loading)
    built_in_kinds = {thing for _, _, thing in _claimed(loadings[0]) if isinstance(thing, type) and issubclass(thing, Event)}
    foreign: dict[str, str] = {}
    for loading in healthy:
        if loading is loadings[0]:
            continue
        for rule in loading.items.get("rules", ()):
            definers = [other for other in healthy if _defines(other.candidate.module, rule.event)]
            owner = loadings[0] if rule.event in built_in_kinds else _owner(definers, speakers[rule.event])
            if owner is not loading:
                whose = "no one plugin" if owner is None else owner.candidate.owner
                foreign[rule.name] = (
                    f"the plugin {loading.candidate.owner} gives a rule about {rule.event.__name__}, an event of {whose}; "
                    "it prices only when accepted by name."
                )
    return foreign


def _owner(definers: list[_Loading], speakers: list[_Loading]) -> _Loading | None:
    """The one that defines an event, else the only one that speaks of it; None where that is nobody in particular."""
    for found in (definers, speakers):
        if len(found) == 1:
            return found[0]
    return None


def _defines(module: object, kind: type[Event]) -> bool:
    """Whether the class stands in the plugin's module or in its package."""
    name = getattr(module, "__name__", None)
    return isinstance(name, str) and name.partition(".")[0] == kind.__module__.partition(".")[0]


def _plugin(loading: _Loading, foreign: Mapping[str, str]) -> Plugin:
    found = loading.candidate
    adds = {name: tuple(item.name for item in items) for name, items in loading.items.items()}
    return Plugin(
        name=found.name,
        distribution=found.distribution,
        version=found.version,
        location=found.location,
        hooks=loading.hooks,
        adds=adds if not loading.problems else {},
        problems=tuple(loading.problems),
        seconds=found.seconds,
        unused=tuple(f"{rule.name}: {foreign[rule.name]}" for rule in loading.items.get("rules", ()) if rule.name in foreign),
    )


def _registry(loadings: list[_Loading], foreign: Mapping[str, str]) -> Registry:
    """The healthy plugins' contributions, the built-ins first.

    `best` is the product of dpkit's own accountants: it takes the smallest answer, so one unsound accountant that is merely
    installed would make every analysis too cheap. A plugin's accountant is used where it is asked for by its name.
    """
    fields: Items = {contribution.field: [] for contribution in CATALOGUE}
    for loading in loadings:
        if not loading.problems:
            for name, items in loading.items.items():
                fields[name].extend(items)
    own = loadings[0].items.get("accountants", [])
    fields["accountants"].append(BestAccountant(components=tuple(own)))
    problems = tuple(
        f"The plugin {loading.candidate.owner} was left out: {' '.join(loading.problems)}"
        for loading in loadings
        if loading.problems
    )
    return Registry(problems=problems, foreign=foreign, **{name: tuple(items) for name, items in fields.items()})
