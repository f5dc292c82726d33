"""Pricing an event tree: the one place where rules are chosen, counts are applied and combinators are resolved."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpkit.contracts.accountant import AnyAccountant
from dpkit.contracts.guarantee import Guarantee, Part
from dpkit.contracts.registry import Registry
from dpkit.errors import (
    DpkitError,
    LossOverflowError,
    PluginError,
    UnknownNameError,
    UnpricedEventError,
    UnpricedLossError,
)
from dpkit.numerics.rounding import exact_sum, round_up
from dpkit.pricing.profile_points import profile_points
from dpkit.privacy.checks import instance_of
from dpkit.privacy.claims import Citation, LossRule, Status
from dpkit.privacy.compositions import amplified
from dpkit.privacy.events import (
    Event,
    FixedBatch,
    Parallel,
    RandomAllocation,
    Repeat,
    RepeatAndSelect,
    Sampling,
    ShuffledEpochs,
    Subsample,
    flatten,
    needs_public_size,
    states_absence,
    under_add_remove,
    without_trivial_sampling,
)
from dpkit.privacy.gaussian_dp import GaussianPair
from dpkit.privacy.loss_pairs import LossPair, PurePair
from dpkit.privacy.loss_table import EnvelopePair
from dpkit.privacy.losses import ApproxDP, Loss, PureDP, RenyiCurve
from dpkit.privacy.neighbours import Neighbours
from dpkit.privacy.repeat_and_select import SelectedCurve, select_pair, select_pure
from dpkit.privacy.sampled_pairs import SampledPair
from dpkit.values import dataclass

_PARALLEL = Citation(key="McS09", locator="Theorem 4, parallel composition")
_PARALLEL_REPLACE = Citation(
    key="dpkit", locator="docs/proofs/parallel.md: two cells, if each event also covers a record that joins or leaves"
)
_AMPLIFIED = Citation(key="BBG18", locator="Theorem 8, Poisson subsampling under add-remove")
_SAMPLED_PAIR = Citation(key="ZDW22", locator="Theorem 11: pairs of Poisson samples; profiles of BBG18, Theorem 8")
_AMPLIFIED_BATCH = Citation(key="BBG18", locator="Theorem 9, sampling without replacement under replace-one")
_CHOSEN_APART = Citation(
    key="dpkit", locator="docs/proofs/sampling.md, theorem 1: as if it were known when a record takes part"
)
_IN_BLOCKS = Citation(key="dpkit", locator="docs/proofs/sampling.md, theorem 2: one step of each block of steps")
_SELECTED = Citation(key="dpkit", locator="docs/proofs/private-tuning.md, theorems 1 to 3: the best of a random number of runs")
_SELECTED_RENYI = Citation(key="PS22", locator="Theorems 2 and 6, with docs/proofs/private-tuning.md, theorem 1")
_EXACT_PAIRS = 8
"""Up to this number of different cells, a replaced record's two cells are priced pair by pair; above, as twice the worst."""


def assess(
    event: Event,
    *,
    accountant: AnyAccountant,
    registry: Registry,
    neighbours: Neighbours,
    accept: frozenset[str] = frozenset(),
) -> Guarantee:
    """Price an event under one accountant.

    Raises `LossOverflowError` where a theorem applies but its loss is too large to be a number.

    Each distinct part is priced once by the best rule (or conversion) that is proved, or that `accept` names, then
    repeated as often as the tree says. Raises `UnpricedEventError` for what no theorem covers.
    """
    instance_of(neighbours, Neighbours, field="neighbours", where="account", allowed="a member of Neighbours")
    for name in accept:
        if all(rule.name != name for rule in registry.rules):
            raise UnknownNameError(kind="loss rule", name=name, known=[rule.name for rule in registry.rules])
    pricing = _Pricing(accountant=accountant, registry=registry, neighbours=neighbours, accept=accept)
    parts = tuple(pricing.parts(event))
    states = [accountant.repeat(part.state, part.times) for part in parts]
    try:
        state = accountant.combine(*states) if states else accountant.zero()
    except UnpricedLossError as refusal:
        raise UnpricedEventError(
            event=event, accountant=accountant.name, neighbours=neighbours, reason=refusal.reason, able=()
        ) from None
    return Guarantee(accountant=accountant, neighbours=neighbours, state=state, event=event, parts=parts, registry=registry)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """One theorem's loss for one event."""

    loss: Loss
    rule: str
    because: tuple[Citation, ...]
    status: Status
    accepted: tuple[str, ...]
    attained: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pricing:
    accountant: AnyAccountant
    registry: Registry
    neighbours: Neighbours
    accept: frozenset[str]

    def parts(self, event: Event) -> Iterator[Part]:
        for leaf, times in flatten(event).items():
            yield replace(self.price(leaf), event=leaf, times=times)

    def price(self, event: Event) -> Part:
        """The best way to price one event, whatever its kind."""
        if self.neighbours is Neighbours.ADD_REMOVE:
            event = under_add_remove(event)
        if isinstance(event, Parallel):
            return self.parallel(event)
        if isinstance(event, Sampling):
            plain = without_trivial_sampling(event)
            if plain != event:
                return self.whole(plain)
        if isinstance(event, RepeatAndSelect) and (
            (event.mean == 1.0 and math.isfinite(event.shape)) or not flatten(event.event)
        ):
            return self.whole(event.event)  # one run, or nothing in each
        ways: list[Part] = []
        refusals: list[DpkitError] = []
        for found in self.losses(event, overflows=refusals):
            try:
                arrow = self.accountant.route(found.loss)
                state = self.accountant.lift_under(found.loss, self.neighbours)
                if found.attained:
                    state = self.accountant.marked(state, attained=True)
            except (UnpricedLossError, LossOverflowError) as refusal:
                refusals.append(refusal)
                continue
            ways.append(
                Part(
                    event=event,
                    times=1,
                    state=state,
                    rule=found.rule,
                    conversion=None if arrow is None else arrow.name,
                    because=found.because if arrow is None else (*found.because, arrow.because),
                    status=found.status,
                    accepted=found.accepted,
                )
            )
        for larger, name, law in self.larger(event):
            try:
                part = self.whole(larger)
            except DpkitError as refusal:
                refusals.append(refusal)
                continue
            state = self.accountant.marked(part.state, attained=False)
            ways.append(replace(part, event=event, state=state, rule=f"{name} of {part.rule}", because=(*part.because, law)))
        if not ways:
            overflow = next((refusal for refusal in refusals if isinstance(refusal, LossOverflowError)), None)
            raise overflow if overflow is not None else self.unpriced(event, refusals)
        if len(ways) == 1:
            return ways[0]
        # the best state; where the accountant merges several into a new one, every theorem used is named
        state = self.accountant.best(*(way.state for way in ways))
        # of equal proofs one that is proved, and of those the most direct
        for way in sorted(ways, key=lambda way: (way.status != "proved", way.conversion is not None)):
            if way.state == state:
                return way
        return _merged(event, state, ways)

    def whole(self, event: Event) -> Part:
        """An event that may itself be a composition, as one state."""
        parts = tuple(self.parts(event))
        if not parts:
            return _merged(event, self.accountant.zero(), ())
        states = [self.accountant.repeat(part.state, part.times) for part in parts]
        return _merged(event, self.accountant.combine(*states), parts)

    def losses(self, event: Event, *, overflows: list[DpkitError] | None = None) -> Iterator[_Found]:
        """Every loss that a usable theorem gives for this event; what overflows is set aside."""
        for rule in self.registry.rules_for(type(event)):
            if not self.usable(rule):
                continue
            try:
                loss = rule.bound(event)
            except LossOverflowError as overflow:
                if overflows is not None:
                    overflows.append(overflow)
                continue
            if loss is not None:
                if not isinstance(loss, rule.loss):
                    raise PluginError(
                        plugin=f"loss rule {rule.name}",
                        reason=f"it declares {rule.loss.__name__} and returned a {type(loss).__name__}.",
                    )
                accepted = () if rule.status == "proved" and rule.name not in self.registry.foreign else (rule.name,)
                yield _Found(
                    loss=loss,
                    rule=rule.name,
                    because=(rule.because,),
                    status=rule.status,
                    accepted=accepted,
                    attained=not accepted and rule.is_attained(event),
                )
        if isinstance(event, RepeatAndSelect):
            yield from self.selected(event)
        amplification = self.amplification(event)
        if amplification is not None and isinstance(event, Subsample | FixedBatch):
            rate, law, name = amplification
            inner = self.basic_total(event.event)
            if inner is not None and isinstance(inner.loss, PureDP | ApproxDP):
                yield replace(
                    inner,
                    attained=False,
                    loss=amplified(inner.loss, rate=rate),
                    rule=f"{name} of {inner.rule}",
                    because=(*inner.because, law),
                )
            if isinstance(event, Subsample) and 0.0 < event.rate < 1.0 and self.takes(SampledPair):
                yield from self.sampled_pairs(event)

    def sampled_pairs(self, event: Subsample) -> Iterator[_Found]:
        """The pair of a sample, from each that is known of what is done to it once."""
        inside = flatten(event.event)
        if sum(inside.values()) != 1:
            return
        for found in self.losses(*inside):
            pair = PurePair(epsilon=found.loss.epsilon) if isinstance(found.loss, PureDP) else found.loss
            if isinstance(pair, LossPair) and not isinstance(pair, GaussianPair) and not pair.infinity and pair.strength != 0.0:
                loss = SampledPair(rate=event.rate, pair=pair)
                yield replace(found, loss=loss, rule=f"poisson-pair of {found.rule}", because=(*found.because, _SAMPLED_PAIR))

    def selected(self, event: RepeatAndSelect) -> Iterator[_Found]:
        """What the best of a random number of runs costs, in each notion that the accountant takes."""
        inner = self.basic_total(event.event)
        if inner is not None and isinstance(inner.loss, PureDP):
            loss = select_pure(event, inner.loss.epsilon)
            if loss is not None:
                name = f"best-of-runs of {inner.rule}"
                yield replace(inner, attained=False, loss=loss, rule=name, because=(*inner.because, _SELECTED))
        curve = self.inner_guarantee(event.event, "rdp") if self.takes(RenyiCurve) or self.takes(EnvelopePair) else None
        known = self.inner_guarantee(event.event, "pld") if self.takes(RenyiCurve) or self.takes(EnvelopePair) else None
        known = curve if known is None else known
        if known is None:
            return
        epsilons, deltas = profile_points(known)
        pair = select_pair(event, epsilons, deltas) if self.takes(EnvelopePair) else None
        if pair is not None:
            yield _selection(known, pair, _SELECTED)
        if curve is not None and not curve.state.log_slack and self.takes(RenyiCurve):
            inner_curve = curve.state.curve
            chosen = SelectedCurve(curve=inner_curve, mean=event.mean, shape=event.shape, epsilons=epsilons, deltas=deltas)
            yield _selection(curve, chosen, _SELECTED_RENYI)

    def takes(self, kind: type[Loss]) -> bool:
        """Whether the accountant has a use for losses of this class."""
        known = (self.accountant.native, *self.accountant.conversions)
        return any(issubclass(kind, one) for one in known)

    def inner_guarantee(self, event: Event, name: str) -> Guarantee | None:
        """An event inside, as another accountant prices it; None where it cannot, or is not there."""
        with suppress(UnknownNameError, UnpricedEventError, LossOverflowError):
            accountant = self.registry.accountant(name)
            return assess(event, accountant=accountant, registry=self.registry, neighbours=self.neighbours, accept=self.accept)
        return None

    def amplification(self, event: Event) -> tuple[float, Citation, str] | None:
        """The rate at which a sample amplifies (epsilon, delta), under the relation that its theorem speaks of."""
        if isinstance(event, Subsample) and event.at_most is None and self.neighbours is Neighbours.ADD_REMOVE:
            return event.rate, _AMPLIFIED, "poisson-amplification"
        if isinstance(event, FixedBatch) and self.neighbours is Neighbours.REPLACE_ONE:
            return round_up(Fraction(event.size, event.population)), _AMPLIFIED_BATCH, "fixed-batch-amplification"
        return None

    def larger(self, event: Event) -> Iterator[tuple[Event, str, Citation]]:
        """Events that cost no less than this one, and are priced in its place."""
        if not isinstance(event, RandomAllocation | ShuffledEpochs) or self.absence_is_missing(event):
            return
        if isinstance(event, ShuffledEpochs):
            yield event.event, "shuffled-batches", _CHOSEN_APART
            return
        yield Repeat(event=event.event, times=event.participations), "allocation-told", _CHOSEN_APART
        block = event.steps // event.participations
        if event.participations > 1 and block > 1:
            one = RandomAllocation(event=event.event, steps=block)
            yield Repeat(event=one, times=event.participations), "allocation-in-blocks", _IN_BLOCKS

    def absence_is_missing(self, event: Event) -> bool:
        """Under replace-one a sampled record is compared with its absence, too, and its event must say how far that is."""
        if not isinstance(event, Subsample | RandomAllocation | ShuffledEpochs):
            return False
        return self.neighbours is Neighbours.REPLACE_ONE and not states_absence(event.event)

    def usable(self, rule: LossRule) -> bool:
        trusted = rule.status == "proved" and rule.name not in self.registry.foreign
        return self.neighbours in rule.neighbours and (trusted or rule.name in self.accept)

    def basic_total(self, event: Event) -> _Found | None:
        """The sum of (epsilon, delta) over a composition, which is what amplification by sampling starts from."""
        chosen: list[_Found] = []
        pairs: list[tuple[float, float, int]] = []
        for leaf, times in flatten(event).items():
            known = [found for found in self.losses(leaf) if isinstance(found.loss, PureDP | ApproxDP)]
            if not known:
                return None
            cheapest = min(known, key=lambda found: _pair(found.loss)[::-1])  # the smaller delta first
            chosen.append(cheapest)
            pairs.append((*_pair(cheapest.loss), times))
        if not chosen:
            return None
        epsilon = round_up(exact_sum((epsilon, times) for epsilon, _, times in pairs))
        delta = round_up(exact_sum((delta, times) for _, delta, times in pairs))
        if delta >= 1.0 or math.isinf(epsilon):
            return None
        return _Found(
            loss=ApproxDP(epsilon=epsilon, delta=delta) if delta else PureDP(epsilon=epsilon),
            rule=" and ".join(dict.fromkeys(found.rule for found in chosen)),
            because=tuple(dict.fromkeys(citation for found in chosen for citation in found.because)),
            status=_worst(chosen),
            accepted=tuple(dict.fromkeys(name for found in chosen for name in found.accepted)),
        )

    def parallel(self, event: Parallel) -> Part:
        """Disjoint cells: a record that comes or goes touches one; a replaced one leaves one and enters another."""
        if not event.events:
            return _merged(event, self.accountant.zero(), ())
        two = self.neighbours is Neighbours.REPLACE_ONE and len(event.events) > 1
        if two and any(map(needs_public_size, event.events)):
            raise self.unpriced(event, ())
        # a record that moves to another cell leaves one and joins one
        cells = [self.whole(under_add_remove(cell) if two else cell) for cell in event.events]
        states = [cell.state for cell in cells]
        if not two:
            state, law = self.accountant.join(*states), _PARALLEL
        else:
            # a record that leaves a cell need not move it as far as one that is replaced there
            state, law = self.accountant.marked(self.two_cells(states), attained=False), _PARALLEL_REPLACE
        merged = _merged(event, state, cells)
        return replace(merged, rule=f"parallel of {merged.rule}", because=(*merged.because, law))

    def two_cells(self, states: list[Any]) -> Any:
        distinct: list[Any] = []
        for state in states:
            if state not in distinct:
                distinct.append(state)
        if len(distinct) > _EXACT_PAIRS:
            worst = self.accountant.join(*distinct)
            return self.accountant.repeat(worst, 2)
        repeated = [state for state in distinct if states.count(state) > 1]
        pairs = [self.accountant.repeat(state, 2) for state in repeated]
        pairs += [self.accountant.combine(one, other) for index, one in enumerate(distinct) for other in distinct[index + 1 :]]
        return self.accountant.join(*pairs)

    def unpriced(self, event: Event, refusals: Sequence[DpkitError]) -> UnpricedEventError:
        rules = self.registry.rules_for(type(event))
        if self.absence_is_missing(event):
            reason = (
                "under replace-one a sampled record is compared with its absence, too, and the event inside does not say how "
                "far that is: state it, as in GaussianEvent(ratio=2.0, absent=1.0) for contributions in a ball of radius 1 "
                "around zero."
            )
        elif isinstance(event, Parallel):
            reason = (
                "under replace-one a record may move from one cell to another, and then the cells have other sizes: batches of "
                "a fixed size, and shuffled ones, are priced where the size is public. Sample by Subsample."
            )
        elif isinstance(event, FixedBatch) and self.neighbours is Neighbours.ADD_REMOVE:
            reason = (
                "a batch of a fixed size has no place for a record that comes, and the population has no fixed size: no "
                "theorem is registered for add-remove. Ask under replace-one, or sample by Subsample."
            )
        elif isinstance(event, RepeatAndSelect):
            reason = (
                "the best of several runs has a bound where one run is pure, in the notions of `rdp` and `pld`, and no other: "
                "take one of these, and for a ledger `rdp`."
            )
        elif refusals:
            reason = " ".join(dict.fromkeys(str(refusal) for refusal in refusals))
        elif any(rule.status != "proved" for rule in rules):
            names = ", ".join(rule.name for rule in rules if rule.status != "proved")
            reason = f"its only rules are not proved ({names}); accept them by name to price it without a guarantee."
        elif unused := self.registry.unused_rules(type(event)):
            reason = f"its only rules are somebody else's and not used unasked ({'; '.join(unused)})."
        else:
            reason = f"no proved rule is registered for {type(event).__name__} here."
        return UnpricedEventError(
            event=event,
            accountant=self.accountant.name,
            neighbours=self.neighbours,
            reason=reason,
            able=self.able(event),
        )

    def able(self, event: Event) -> list[str]:
        """Who else would have priced this event (without asking who else could, in turn)."""
        names = []
        for accountant in self.registry.accountants:
            for found in self.losses(event) if accountant != self.accountant else ():
                with suppress(UnpricedLossError, LossOverflowError):
                    accountant.lift(found.loss)
                    names.append(accountant.name)
                    break
        return names


def _selection(guarantee: Guarantee, loss: Loss, law: Citation) -> _Found:
    """The loss of a selection among runs with this guarantee."""
    part = _merged(Parallel(events=()), None, guarantee.parts)
    because = (*part.because, law)
    return _Found(loss=loss, rule=f"best-of-runs of {part.rule}", because=because, status=part.status, accepted=part.accepted)


def _pair(loss: Loss) -> tuple[float, float]:
    if isinstance(loss, ApproxDP):
        return loss.epsilon, loss.delta
    if isinstance(loss, PureDP):
        return loss.epsilon, 0.0
    raise UnpricedLossError(loss=loss, accountant="basic", reason="it is not an (epsilon, delta) loss.")


def _merged(event: Event, state: Any, ways: Sequence[Part]) -> Part:
    """Several proofs behind one state: every theorem used is named, and the weakest status is the whole's."""
    return Part(
        event=event,
        times=1,
        state=state,
        rule=" and ".join(dict.fromkeys(way.rule for way in ways)) or "nothing",
        conversion=" and ".join(dict.fromkeys(way.conversion for way in ways if way.conversion)) or None,
        because=tuple(dict.fromkeys(citation for way in ways for citation in way.because)),
        status=_worst(ways),
        accepted=tuple(dict.fromkeys(name for way in ways for name in way.accepted)),
    )


def _worst(ways: Sequence[Part | _Found]) -> Status:
    statuses = {way.status for way in ways}
    return "refuted" if "refuted" in statuses else "unproved" if "unproved" in statuses else "proved"
