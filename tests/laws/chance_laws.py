"""The laws of records that take part by chance, and of selections: no price is below what quadrature or counting gives."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from laws.sampling_laws import Account

from dpkit.errors import UnpricedEventError
from dpkit.mechanisms.gaussian import GaussianEvent
from dpkit.privacy.events import (
    Event,
    FixedBatch,
    PureEvent,
    RandomAllocation,
    Repeat,
    RepeatAndSelect,
    ShuffledEpochs,
    Subsample,
)
from dpkit.privacy.neighbours import Neighbours

REPLACE, ADD = Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE
_EPSILONS = (0.0, 0.5, 1.5)
_NOISE = 1e-6
"""What quadrature may be off by."""


def mixture_delta(first: dict[tuple[float, ...], float], second: dict[tuple[float, ...], float], epsilon: float) -> float:
    """H(P||Q) of two mixtures of normals with unit deviation, in one or two dimensions, by quadrature; the larger direction."""
    dimensions = len(next(iter(first)))
    line = np.linspace(-16.0, 16.0, 20_001 if dimensions == 1 else 1201)
    step = (line[1] - line[0]) ** dimensions

    def density(law: dict[tuple[float, ...], float]) -> np.ndarray:
        total = 0.0
        for place, weight in law.items():
            sides = [np.exp(-0.5 * (line - mean) ** 2) / math.sqrt(2 * math.pi) for mean in place]
            total = total + weight * (sides[0] if dimensions == 1 else np.multiply.outer(*sides))
        return np.asarray(total)

    one, other = density(first), density(second)
    return max(float(np.sum(np.maximum(a - math.exp(epsilon) * b, 0.0))) * step for a, b in ((one, other), (other, one)))


def _never_below(account: Account, event: Event, relation: Neighbours, truth: object, accountant: str = "pld") -> None:
    guarantee = account(event, accountant, relation)
    for epsilon in _EPSILONS:
        assert guarantee.delta(epsilon=epsilon) >= truth(epsilon) - _NOISE, f"{event} under {relation} at {epsilon}"  # type: ignore[operator]


def fixed_batches_compose_both_directions(account: Account) -> None:
    """One-hot records: the differing record and the one in its place take turns, and no single direction is the worse one.

    g = 0.2, distance 1.5, 20 rounds, epsilon 1: the true delta is 0.416 (docs/proofs/sampling.md, theorem 3).
    """
    event = Repeat(event=FixedBatch(size=1, population=5, event=GaussianEvent(ratio=1.5)), times=20)
    assert account(event, "pld", REPLACE).delta(epsilon=1.0) >= 0.4159


def a_cut_sample_costs_what_replacing_costs(account: Account) -> None:
    """Two records, batches of one: a record that comes may take the place of another one, on the other side of zero."""
    for rate in (0.5, 1.0):
        with_it: dict[tuple[float, ...], float] = {}
        for here, there in product((0, 1), repeat=2):
            chance = (rate if here else 1 - rate) * (rate if there else 1 - rate)
            places = [mean for mean, kept in ((1.0, here), (-1.0, there)) if kept] or [0.0]
            for place in places:
                with_it[(place,)] = with_it.get((place,), 0.0) + chance / len(places)
        without = {(-1.0,): rate, (0.0,): 1 - rate}
        event = Subsample(rate=rate, event=GaussianEvent(ratio=1.0), at_most=1, population=2)
        for accountant in ("pld", "rdp"):
            _never_below(account, event, ADD, lambda epsilon, w=with_it, o=without: mixture_delta(w, o, epsilon), accountant)


def a_replaced_sample_counts_its_absence(account: Account) -> None:
    """Records 10 and 11 are 1 apart, and 10 from nothing: whether one was drawn at all is seen. In a ball: the two ends."""
    for rate, one, other in ((0.3, 3.0, 2.0), (0.3, 1.0, -1.0), (0.05, 2.0, -2.0)):
        first, second = ({(mean,): rate, (0.0,): 1 - rate} for mean in (one, other))
        absent = max(abs(one), abs(other))
        event = Subsample(rate=rate, event=GaussianEvent(ratio=one - other, absent=absent))
        _never_below(account, event, REPLACE, lambda epsilon, f=first, s=second: mixture_delta(f, s, epsilon))


def absence_is_stated(account: Account) -> None:
    """Where a record may be absent, an event that does not say how far that is has no price under replace-one."""
    for sampled in (
        Subsample(rate=0.3, event=GaussianEvent(ratio=1.0)),
        RandomAllocation(event=GaussianEvent(ratio=1.0), steps=2),
        ShuffledEpochs(event=GaussianEvent(ratio=1.0), batches=2),
        RepeatAndSelect(event=Subsample(rate=0.3, event=GaussianEvent(ratio=1.0)), mean=2.0),
    ):
        with pytest.raises(UnpricedEventError):
            account(sampled, "pld", REPLACE)


def an_allocated_record_is_in_one_step_or_the_other(account: Account) -> None:
    """Two steps: P is the mean of N((x, 0)) and N((0, x)), against nothing or another record."""

    def law(mean: float) -> dict[tuple[float, ...], float]:
        return {(mean, 0.0): 0.5, (0.0, mean): 0.5}

    nothing = {(0.0, 0.0): 1.0}
    alone = RandomAllocation(event=GaussianEvent(ratio=1.5), steps=2)
    _never_below(account, alone, ADD, lambda epsilon: mixture_delta(law(1.5), nothing, epsilon))
    ball = RandomAllocation(event=GaussianEvent(ratio=3.0, absent=1.5), steps=2)
    _never_below(account, ball, REPLACE, lambda epsilon: mixture_delta(law(1.5), law(-1.5), epsilon))


def more_participations_cost_more(account: Account) -> None:
    """At least as one of the steps, at most as if it were told when; all of them as the steps without any chance."""
    noise = GaussianEvent(ratio=0.5)

    def priced(times: int) -> float:
        return account(RandomAllocation(event=noise, steps=3, participations=times), "pld", ADD).epsilon(delta=1e-5)

    assert 0.0 < priced(1) < priced(2) < priced(3)
    assert priced(0) == 0.0
    assert priced(3) == account(Repeat(event=noise, times=3), "pld", ADD).epsilon(delta=1e-5)


def a_shuffled_batch_is_filled_by_others(account: Account) -> None:
    """Two records, two batches of one, the other record known: a replaced one shows in one of the two places."""
    event = ShuffledEpochs(event=GaussianEvent(ratio=2.0, absent=1.0), batches=2)
    there, gone = {(1.0, -1.0): 0.5, (-1.0, 1.0): 0.5}, {(-1.0, -1.0): 1.0}
    _never_below(account, event, REPLACE, lambda epsilon: mixture_delta(there, gone, epsilon))


def the_best_of_runs_costs_more_than_one(account: Account) -> None:
    """Two outcomes at odds of e, the rarer one ranked higher or lower; K geometric with mean 4: f(x) = x/(4 - 3x)."""
    up = math.e / (1.0 + math.e)
    event = RepeatAndSelect(event=PureEvent(epsilon=1.0), mean=4.0, shape=1.0)
    exact = 0.0
    for first, second in ((up, 1.0 - up), (1.0 - up, up)):
        one, other = (x / (4.0 - 3.0 * x) for x in (first, second))
        exact = max(exact, *(abs(math.log(a / b)) for a, b in ((one, other), (1.0 - one, 1.0 - other))))
    assert account(event, "pure", ADD).epsilon(delta=0.0) >= exact * (1.0 - 1e-12)
    assert account(event, "pld", ADD).epsilon(delta=1e-9) >= exact * (1.0 - 1e-3)


LAWS = (
    fixed_batches_compose_both_directions,
    a_cut_sample_costs_what_replacing_costs,
    a_replaced_sample_counts_its_absence,
    absence_is_stated,
    an_allocated_record_is_in_one_step_or_the_other,
    more_participations_cost_more,
    a_shuffled_batch_is_filled_by_others,
    the_best_of_runs_costs_more_than_one,
)
