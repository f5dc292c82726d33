"""How a budget is divided: over the steps of an analysis by shares, over the iterations of one algorithm by a schedule."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

from dpkit.accounting import calibrated
from dpkit.contracts.accountant import AnyAccountant
from dpkit.contracts.algorithm import AnyAlgorithm
from dpkit.contracts.guarantee import Guarantee
from dpkit.contracts.registry import Registry
from dpkit.errors import InvalidValueError
from dpkit.privacy.checks import finite_number, one_of, whole_number
from dpkit.privacy.events import Compose, Event
from dpkit.privacy.losses import Loss
from dpkit.privacy.neighbours import Neighbours

SCHEDULES = ("equal", "geometric")


def schedule_weights(kind: str | Sequence[float], iterations: int, *, ratio: float = 1.2) -> tuple[float, ...]:
    """The noise of each iteration relative to the others, with a mean square inverse of one.

    `equal`; `geometric`: each iteration has 1/ratio of the noise of the one before it; or the relative shares of a zCDP budget,
    given one by one. Whatever the weights, the multiplier is solved for the whole run, so that the budget is met.
    """
    count = whole_number(iterations, field="iterations", where="schedule", minimum=1)
    if isinstance(kind, str):
        one_of(kind, SCHEDULES, field="schedule", where="schedule")
        step = finite_number(ratio, field="ratio", where="schedule", minimum=1.0) if kind == "geometric" else 1.0
        shares = [step ** (2 * index) for index in range(count)]
    else:
        shares = [finite_number(share, field="schedule", where="schedule", minimum=0.0, strict=True) for share in kind]
        if len(shares) != count:
            allowed = f"as many shares as iterations ({count})"
            raise InvalidValueError(field="schedule", found=f"{len(shares)} shares", allowed=allowed, where="schedule")
    return share_weights(shares)


def share_weights(shares: Sequence[float]) -> tuple[float, ...]:
    """Noise weights from relative shares: Gaussian noise costs rho as 1 / noise^2, so a share s has noise s^(-1/2)."""
    mean = math.fsum(shares) / len(shares)
    return tuple(math.sqrt(mean / share) for share in shares)


def combined_plan(algorithms: Sequence[AnyAlgorithm], weights: Sequence[float], noise: float) -> Event:
    """Everything that these algorithms may release, at worst, at one multiplier."""
    plans = tuple(algorithm.plan(noise * weight) for algorithm, weight in zip(algorithms, weights, strict=True))
    return plans[0] if len(plans) == 1 else Compose(events=plans)


def solve_noise(
    algorithms: Sequence[AnyAlgorithm],
    budget: Loss,
    *,
    accountant: str | AnyAccountant = "best",
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    shares: Sequence[float] | None = None,
    registry: Registry | None = None,
    accept: Sequence[str] = (),
    watch: Callable[[int], None] = lambda tries: None,
) -> tuple[tuple[float, ...], Guarantee]:
    """The multiplier of each algorithm at which all of them together just meet the budget, and the guarantee of that plan.

    `watch` is told how many multipliers were tried.
    """
    if not algorithms:
        raise InvalidValueError(field="algorithms", found=(), allowed="at least one", where="solve_noise")
    given = [1.0] * len(algorithms) if shares is None else list(shares)
    if len(given) != len(algorithms):
        raise InvalidValueError(field="shares", found=len(given), allowed="one share an algorithm", where="solve_noise")
    weights = share_weights([finite_number(s, field="share", where="solve_noise", minimum=0.0, strict=True) for s in given])
    tries = itertools.count(1)

    def tried(multiplier: float) -> Event:
        watch(next(tries))
        return combined_plan(algorithms, weights, multiplier)

    noise, priced = calibrated(tried, budget, accountant, neighbours, registry, accept=accept)
    return tuple(noise * weight for weight in weights), priced
