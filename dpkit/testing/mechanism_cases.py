"""A mechanism under test: its factory, the registry that prices it, typical parameters, and values at a distance."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from dpkit.contracts.factories import Factory, MechanismFactory
from dpkit.contracts.mechanism import Mechanism
from dpkit.contracts.parameters import Parameter, with_effect
from dpkit.contracts.registry import Registry
from dpkit.errors import DpkitError, UnpricedEventError
from dpkit.pricing.assess import assess
from dpkit.privacy.claims import Claim
from dpkit.privacy.events import Event
from dpkit.privacy.neighbours import Distance, Neighbours
from dpkit.testing.run_laws import LawNotApplicable
from dpkit.values import dataclass

Array = npt.NDArray[Any]
MOST_SUBJECTS = 12
DELTA = 1e-5
"""The delta at which the kit reads an epsilon to choose distances at which a violation is visible."""
QUICK_ACCOUNTANTS = ("pure", "gdp", "zcdp")
"""Tried in this order: closed forms, good enough to choose a distance by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MechanismSubject:
    """One mechanism, made from these parameters."""

    parameters: dict[str, object]
    mechanism: Mechanism


@dataclass(frozen=True, slots=True, kw_only=True)
class MechanismCase:
    """A factory of mechanisms and what the laws need beside it."""

    factory: MechanismFactory
    registry: Registry
    seed: int = 0
    _memory: dict[object, object] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Distances and accountants that were found before: pricing is the slow part of most laws."""

    def rng(self, *salt: int) -> np.random.Generator:
        """A generator of its own for each use: laws are deterministic given the seed."""
        return np.random.default_rng([self.seed, *salt])

    def subjects(self, limit: int = 4) -> list[MechanismSubject]:
        """Mechanisms with typical parameters: the declared examples and defaults first. Flags and words each add some."""
        branches = [max(2, len(p.choices)) for p in self.factory.parameters if p.kind in ("boolean", "choice")]
        limit = min(MOST_SUBJECTS, limit * math.prod(branches)) if branches else limit
        found = []
        for values in itertools.islice(typical_parameters(self.factory), 4 * limit):
            mechanism = built_or_none(self.factory, values)
            if mechanism is not None:
                found.append(MechanismSubject(parameters=values, mechanism=mechanism))
            if len(found) == limit:
                break
        assert found, "no typical parameters build this mechanism: declare `examples` for its parameters"
        return found

    def claims(self, mechanism: Mechanism, at: Distance) -> list[Claim]:
        """The proved claims, under every relation that the mechanism speaks of."""
        claims: list[Claim] = []
        if "neighbours" in inspect.signature(mechanism.claims).parameters:
            method: Any = mechanism.claims
            for relation in Neighbours:
                claims.extend(method(at, neighbours=relation))
        else:
            claims.extend(mechanism.claims(at))
        return [claim for claim in dict.fromkeys(claims) if claim.status == "proved"]

    def epsilon(self, mechanism: Mechanism, at: Distance, *, delta: float = DELTA) -> float:
        """What a release costs at this distance, by the cheapest accountant to compute that can price it."""
        relations = {claim.neighbours for claim in self.claims(mechanism, at)} or {Neighbours.ADD_REMOVE}
        return self.priced(mechanism.event(at=at), relations, delta=delta)

    def priced(
        self, event: Event, relations: Collection[Neighbours] = (Neighbours.ADD_REMOVE,), *, delta: float = DELTA
    ) -> float:
        """What an event costs under the cheaper of these relations, by the cheapest accountant to compute."""
        known = self._memory.get(type(event))  # asked first: to be refused by the others costs more than the answer
        for name in dict.fromkeys([*([known] if isinstance(known, str) else []), *QUICK_ACCOUNTANTS]):
            try:
                price = min(self._priced(event, name, relation, delta) for relation in relations)
            except UnpricedEventError:
                continue
            self._memory[type(event)] = name
            return price
        return min(self._priced(event, "best", relation, delta) for relation in relations)

    def _priced(self, event: Event, accountant: str, relation: Neighbours, delta: float) -> float:
        chosen = self.registry.accountant(accountant)
        priced = assess(event, accountant=chosen, registry=self.registry, neighbours=relation, accept=frozenset())
        return priced.epsilon(delta=delta)

    def distance(
        self, subject: MechanismSubject, *, target: float = 1.0, delta: float = DELTA, metric: str | None = None
    ) -> Distance:
        """The distance at which a release costs about this epsilon at this delta, and not more; in the natural metric."""
        measured = self.factory.metrics[0] if metric is None else metric
        key = (repr(subject.parameters), target, delta, measured)
        found = self.remembered(key, lambda: self._searched(subject.mechanism, target, delta, measured))
        assert isinstance(found, Distance)
        return found

    def remembered(self, key: object, compute: Callable[[], object]) -> object:
        """What was computed under this key before, or now."""
        if key not in self._memory:
            self._memory[key] = compute()
        return self._memory[key]

    def _searched(self, mechanism: Mechanism, target: float, delta: float, metric: str) -> Distance:
        if metric == "records" or self.factory.values == "categories":
            return Distance(metric=metric, value=1)
        whole = self.factory.values == "integers"
        low, high = (0.0, 40.0) if whole else (-140.0, 140.0)
        best, middle = Distance(metric=metric, value=1.0), 0.0
        for turn in range(24):
            size = float(round(2.0**middle)) if whole else 2.0**middle
            try:
                price = self.epsilon(mechanism, Distance(metric=metric, value=size), delta=delta)
            except DpkitError:  # too large to be priced
                price = math.inf
            if price <= target:
                best, low = Distance(metric=metric, value=size), max(low, middle)
            else:
                high = min(high, middle)
            if 0.98 * target <= price <= target or high - low < 1e-5:
                break
            # most prices are nearly proportional to the distance; where that leads out of the bracket, or nowhere, it is halved
            guess = middle + math.log2(0.99 * target / price) if 0.0 < price < math.inf else math.inf
            middle = guess if low < guess < high and turn % 3 < 2 else (low + high) / 2.0
        return best


def numbers_among(parameters: Mapping[str, object]) -> list[float]:
    """The numbers that a thing was made with, those in lists included: bounds and edges are where mistakes are."""
    listed = [item for value in parameters.values() for item in (value if isinstance(value, list | tuple) else (value,))]
    return [float(item) for item in listed if isinstance(item, float | int) and not isinstance(item, bool)]


def built_or_none(factory: Factory[Any], values: dict[str, object]) -> Any | None:
    """The thing, or None where its parameters are legal one by one and not together."""
    try:
        return factory.build(**values)
    except (DpkitError, ValueError):
        return None


def typical_parameters(factory: Factory[Any]) -> Iterator[dict[str, object]]:
    """Sets of typical values: all first choices, all second ones, and so on; then the mixtures."""
    choices = [_typical_values(parameter) for parameter in factory.parameters]
    if not all(choices):
        return  # a parameter of which no typical value is known, such as a query of another plugin
    names = [parameter.name for parameter in factory.parameters]
    rounds = max((len(values) for values in choices), default=1)
    seen = set()
    aligned = ([values[min(index, len(values) - 1)] for values in choices] for index in range(rounds))
    # the product runs through flags and words fastest, because that is where code branches
    order = sorted(range(len(choices)), key=lambda place: factory.parameters[place].kind in ("boolean", "choice"))
    mixed = ([mixture[order.index(place)] for place in range(len(choices))] for mixture in _product(choices, order))
    for chosen in itertools.chain(aligned, mixed):
        values = with_effect(factory.parameters, dict(zip(names, chosen, strict=True)))
        if repr(values) not in seen:
            seen.add(repr(values))
            yield values


def ends_of(parameter: Parameter, typical: dict[str, object]) -> list[object]:
    """The declared ends, and numbers beyond all others in size and of either sign, where they are legal."""
    if parameter.kind not in ("number", "integer"):
        return []
    low, high = parameter.minimum, parameter.maximum
    sizes = [abs(float(x)) for x in typical.values() if isinstance(x, int | float) and not isinstance(x, bool)]
    beyond = 3.0 * max([1.0, *sizes])
    wanted = [-beyond, beyond, low * (1.0 + 1e-9) if parameter.exclusive else low, high, 0.0]
    legal = [x for x in wanted if math.isfinite(x) and low <= x <= high and not (parameter.exclusive and x == low)]
    return [int(x) for x in legal] if parameter.kind == "integer" else list(legal)


def _product(choices: list[list[object]], order: list[int]) -> Iterator[tuple[object, ...]]:
    return itertools.product(*(choices[place] for place in order))


def _typical_values(parameter: Parameter) -> list[object]:
    given: list[object] = [*parameter.examples, *([] if parameter.required else [parameter.default])]
    low, high = parameter.minimum, parameter.maximum
    match parameter.kind:
        case "number":
            given += [x for x in (1.0, 0.5, -1.0, 3.0) if low < x <= high] or [
                min(high, low + 1.0) if low > -math.inf else high
            ]
        case "integer":
            given += [n for n in (1, 2, 3, 5) if low <= n <= high] or [int(low) if low > -math.inf else int(high)]
        case "boolean":
            given += [True, False]
        case "choice":
            given += parameter.choices
        case "numbers":
            given += [(0.0, 1.0)]
        case "text" | "path":
            given += ["text"]
        case "texts" | "paths":
            given += [("a", "b")]
    return list({repr(value): value for value in given}.values())


def released(mechanism: Mechanism, value: Array, n: int, rng: np.random.Generator) -> Array:
    """n outputs as a plain array; their number is what was asked for."""
    outputs = np.asarray(mechanism.release_many(value, n, rng))
    assert outputs.shape[:1] == (n,), "release_many(value, n) must return n outputs along the first axis"
    return outputs


def base_values(case: MechanismCase, subject: MechanismSubject, shape: tuple[int, ...], size: float) -> list[Array]:
    """Values to start from: zero, an odd fraction, and the numbers among the parameters."""
    if case.factory.values in ("integers", "categories"):
        return [np.zeros(shape, dtype=np.int64)]
    numbers = numbers_among(subject.parameters)
    centre = [sum(numbers) / len(numbers)] if numbers else []
    starts = list(dict.fromkeys([0.0, *centre, *numbers, size / 3.0]))[:5]
    return [np.full(shape, start) for start in starts]


def pairs_at(
    case: MechanismCase, subject: MechanismSubject, at: Distance, claim: Claim, *, most: int = 1_000
) -> list[tuple[Array, Array]]:
    """Values at this distance from each other: in one coordinate, spread over all, in both directions; plugins' own first.

    Of more than `most`, each shape keeps its share.
    """
    pairs: list[tuple[Array, Array]] = []
    for source in case.registry.neighbour_pairs:
        if source.mechanism == case.factory.name:
            found: Any = source.pairs(subject.mechanism, at)
            pairs.extend((np.asarray(one), np.asarray(other)) for one, other in found)
    by_shape = [pairs]
    for shape in case.factory.shapes:
        pairs = []
        by_shape.append(pairs)
        moves = _moves(case, subject, shape, at, claim)
        for base in base_values(case, subject, shape, at.value):
            for move in moves:
                pairs.append((base, base + move))
                if np.issubdtype(base.dtype, np.floating) and case.factory.values != "symmetric":
                    pairs.append((base, base - move))
    turns = itertools.chain.from_iterable(itertools.zip_longest(*by_shape))
    found_pairs = [pair for pair in turns if pair is not None][:most]
    if not found_pairs:
        raise LawNotApplicable(
            f"the kit knows no pairs in the metric {at.metric!r}: add some by the hook dpkit_neighbour_pairs"
        )
    return found_pairs


def _moves(
    case: MechanismCase, subject: MechanismSubject, shape: tuple[int, ...], at: Distance, claim: Claim
) -> Sequence[Array]:
    size, count = at.value, max(1, math.prod(shape))
    unit = np.zeros(count)
    unit[-1] = 1.0
    if case.factory.values == "categories":
        last = int(getattr(subject.mechanism, "categories", 2)) - 1
        changed = np.zeros(count, dtype=np.int64)
        changed[: int(size)] = last
        return [changed.reshape(shape)]
    if case.factory.values == "symmetric":
        return _symmetric_moves(shape, at)
    if case.factory.values == "integers":
        return [(unit * int(size)).astype(np.int64).reshape(shape)]
    signs = np.where(np.arange(count) % 2 == 0, 1.0, -1.0)
    spread = {"l1": 1.0 / count, "l2": 1.0 / math.sqrt(count), "linf": 1.0}.get(at.metric)
    if spread is None:
        return []
    shrunk = size * (1.0 - 1e-12)  # spread over coordinates, rounding must not exceed the distance
    moves = [unit * size]
    one_way = case.factory.values == "scores" and claim.neighbours is Neighbours.ADD_REMOVE
    if count > 1:
        moves.append(np.full(count, spread * shrunk))
        if not (one_way and getattr(subject.mechanism, "monotone", False)):
            moves.append(signs * spread * shrunk)
            turned = np.full(count, spread * shrunk)
            turned[-1] *= -1.0  # all the one way but for the last: what a search for the first of many is worst at
            moves += [turned] if count > 2 else []
    return [move.reshape(shape) for move in moves]


def _symmetric_moves(shape: tuple[int, ...], at: Distance) -> Sequence[Array]:
    if at.metric not in ("frobenius", "rank_one"):
        return []
    size, d = at.value, shape[0]
    corner = np.zeros(shape)
    corner[-1, -1] = size
    moves = [corner]
    if d > 1:
        vector = np.ones(d) / math.sqrt(d)
        moves.append(np.outer(vector, vector) * size * (1.0 - 1e-12))
        if at.metric == "frobenius":
            off = np.zeros(shape)
            off[0, 1] = off[1, 0] = size / math.sqrt(2.0) * (1.0 - 1e-12)
            moves.append(off)
    return moves
