"""A campaign: several processes on one stream of samples against one hypothesis at one pair, until refuted or out of budget."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import field, replace

import numpy as np

from dpkit.auditing.betting.bets import OutputEvent, kelly
from dpkit.auditing.betting.lower_bound import Bound, trials_needed
from dpkit.auditing.betting.processes import Process
from dpkit.auditing.betting.profile import Point
from dpkit.auditing.call_timer import TimeUp, call_until
from dpkit.auditing.certificates.certificate import Verdict
from dpkit.auditing.claim_at_pair import ClaimAtPair
from dpkit.auditing.draw_outputs import NotABatch, PairOutputs
from dpkit.auditing.independence import unlike
from dpkit.auditing.successive import ADVICE, depend, find_succession
from dpkit.values import dataclass

Watch = Callable[[int, float], None]
"""Told the samples so far and ln of the e-value, after each batch."""

_FIRST_TIMED, _BETTING_SHARE = 2, 0.75
"""Pairs of the first batch where time is limited, since nobody knows what one takes; the share of the time for betting."""
_LOOK = 512
"""Pairs after which outputs of one call are looked at for dependence, and again after twice as many."""
_FIRST, _LEAST, _MOST = 8, 4, 40_000
"""Pairs of the first batch, of the smallest and of the largest."""
GROWTH = 30
"""A batch is one in this number of the pairs before it: what it holds beyond the last pair that was needed is wasted."""
TIME_WAS_UP = "the time was up before the samples were"
_BOUND_LEAST, _BOUND_FACTOR, _BOUND_MOST, _CHOOSING = 4_000, 2, 8, 4
"""Fresh samples for a bound, by those used; how many times more where the event needs them; the share that chooses it."""
_QUANTILE = 1.6449  # of the standard normal at 0.95
_LEARNING = 5.0
"""Nats allowed for finding the event and the stake: half of the fund follows the leaders, and the first bets are small.

Measured: violations of the stated size were found in 129 of 130 runs (one event of probability 0.5 or 0.05, Laplace noise on a
number and on one of five entries; 2,000 to 20,000 samples, seeds from 100 on).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How much may be spent on one campaign: samples of both sides together, and the moment at which time is up.

    A quarter of the time is left for counting an event on fresh samples.
    """

    samples: int
    deadline: float | None = None
    growth: int = GROWTH
    began: float = field(default_factory=lambda: time.monotonic())

    def late(self) -> bool:
        """Whether time is up."""
        return self.deadline is not None and time.monotonic() > self.deadline

    def affordable(self, spent: float, drawn: int, *, betting: bool) -> float:
        """How many more pairs there is time for, where `drawn` of them took `spent` seconds; infinity without a limit."""
        if self.deadline is None or drawn == 0:
            return math.inf
        end = self.began + _BETTING_SHARE * (self.deadline - self.began) if betting else self.deadline
        return max(0.0, end - time.monotonic()) / max(spent / drawn, 1e-9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one falsifier, or several on one stream, came to."""

    falsifier: str
    verdict: Verdict
    log_e: float = 0.0
    samples: int = 0
    event: OutputEvent | None = None
    bound: Bound | None = None
    bound_samples: int = 0
    power: float | None = None
    power_event: float | None = None
    output: tuple[float, ...] = ()
    fresh_log_e: float | None = None
    """ln of the e-value of one fixed bet on fresh samples, where no event is counted on them."""
    encoding: str = ""
    """How outcomes became numbers, where they may be anything."""
    exact_epsilon: float = 0.0
    """Below the true epsilon by the declared law, at the delta of the claim; 0 where nothing was computed."""
    note: str = ""
    tried: tuple[str, ...] = field(default=())


def investigate(
    subject: ClaimAtPair,
    processes: Sequence[Process],
    source: PairOutputs,
    *,
    alpha: float,
    bound_alpha: float,
    budget: Budget,
    watch: Watch | None = None,
) -> Finding:
    """Feed all processes until their average reaches 1/alpha; then bound epsilon on fresh samples, at bound_alpha.

    The average of e-processes is one, so the hypothesis is wrongly refuted with probability at most alpha over all processes,
    directions, points and looks (Ville). The bound has an error of its own, by a union bound.
    """
    shares = -math.log(len(processes))
    threshold = -math.log(alpha)
    pairs, batches, peak = 0, 0, -math.inf
    late, started, paced, look = False, time.monotonic(), 0, _LOOK
    while 2 * (pairs + 1) <= budget.samples:
        first_size = _FIRST if budget.deadline is None else _FIRST_TIMED
        size = first_size if pairs == 0 else min(_MOST, max(_LEAST, pairs // budget.growth))
        size = min(size, budget.samples // 2 - pairs)
        affordable = budget.affordable(time.monotonic() - started, pairs - paced, betting=True)
        if size > affordable:  # the last batch is as large as there is time for
            late, size = batches > 1, max(int(affordable), batches == 1)  # the first call may have loaded a library
            if size == 0:
                break
        began = time.monotonic()
        for process in processes:
            process.prepare()
        try:
            with call_until(budget.deadline):
                first, second = source.draw(size)
        except TimeUp:  # a batch that is not whole is not looked at: the wealth before it is a supermartingale's
            late = True
            break
        paths = np.stack([process.step(first, second) for process in processes])
        pairs += size
        batches += 1
        if batches == 2:
            started, paced = began, pairs - size
        total = np.logaddexp.reduce(paths, axis=0) + shares
        top = int(np.argmax(total >= threshold)) if bool((total >= threshold).any()) else int(np.argmax(total))
        peak = max(peak, float(total[top]))
        if peak >= threshold:
            decisive = processes[int(np.argmax(paths[:, top]))]
            affordable = budget.affordable(time.monotonic() - started, pairs - paced, betting=False)
            found = _report_refuted(
                decisive, source, peak, bound_alpha, budget, tuple(p.name for p in processes), affordable=affordable
            )
            return _if_independent(replace(found, note=source.legend), source, budget)
        if watch is not None:
            watch(2 * pairs, float(total[-1]))
        if late:
            break
        if source.in_batches and pairs >= look:
            look *= 2
            if any(depend(side) for side in source.recent()):
                break  # nothing is known by more of these; single calls may have what is left of the budget
    # the clock may depend on the data, so a run that it ended has a bound that holds after any number of batches
    level = bound_alpha / (max(batches, 1) * (batches + 1.0)) if late else bound_alpha
    found = _report_survived(subject, processes, pairs, threshold, level, late)
    found = replace(found, note="; ".join(part for part in (found.note, source.legend) if part))
    return _if_independent(found, source, budget) if pairs else found


def _if_independent(found: Finding, source: PairOutputs, budget: Budget) -> Finding:
    """The finding where successive outputs are independent; where they are not, nothing is known of the claim."""
    said = find_succession(source, wait=found.verdict == "refuted" and not budget.late())
    if not said:
        return found
    note = "; ".join(part for part in (f"{said}: {ADVICE}", found.note) if part)
    return replace(found, verdict="inconclusive", bound=None, power=None, power_event=None, fresh_log_e=None, note=note)


def _report_refuted(
    decisive: Process,
    source: PairOutputs,
    log_e: float,
    bound_alpha: float,
    budget: Budget,
    tried: tuple[str, ...],
    *,
    affordable: float,
) -> Finding:
    """Choose an event on fresh samples, count it on others, as many as it seems to need, and bound epsilon by that."""
    used = source.drawn
    bound: Bound | None = None
    left = int(min((budget.samples - used) // 2, affordable))
    planned = min(left, max(_BOUND_LEAST, _BOUND_FACTOR * used) // 2)
    fresh_log_e: float | None = None
    if planned >= _CHOOSING and not budget.late():
        # a batch that is none, or not whole, bounds nothing: a bound that is not given cannot be wrong
        with suppress(NotABatch, TimeUp), call_until(budget.deadline):
            before = source.recent() if source.in_batches else None
            source.draw_singly()  # what outputs of one call share must not confirm anything
            began = time.monotonic()
            chosen_by = source.draw(planned // _CHOOSING)
            if before is not None and unlike(before, chosen_by):
                planned = 0  # what is left is for single calls
            affordable = budget.affordable(time.monotonic() - began, planned // _CHOOSING, betting=False)  # without the bets
            left = int(min((budget.samples - used) // 2, planned // _CHOOSING + affordable))
            frozen = decisive.freeze(*chosen_by, trials=planned - planned // _CHOOSING) if planned else None
            if planned and frozen is not None:
                trials = planned - planned // _CHOOSING
                most = min(left - planned // _CHOOSING, _BOUND_MOST * trials)
                if before is not None:  # half is left for single calls, in case these counts do not support it
                    most = min(most, max(trials, left // 2))
                hits = frozen.hits(*chosen_by)
                trials = max(trials, trials_needed(hits, planned // _CHOOSING, frozen.point, alpha=bound_alpha, most=most))
                bound = frozen.bound(frozen.hits(*source.draw(trials)), trials, alpha=bound_alpha)
            elif planned:
                fresh_log_e = decisive.fresh_log_e(*chosen_by)
    return Finding(
        falsifier=decisive.name,
        verdict="refuted",
        log_e=log_e,
        samples=used,
        event=decisive.event() if bound is None else bound.event,
        bound=bound,
        bound_samples=source.drawn - used,
        fresh_log_e=fresh_log_e,
        encoding=source.encoding,
        output=tuple(decisive.output or ()),
        tried=tried,
    )


def _report_survived(
    subject: ClaimAtPair, processes: Sequence[Process], pairs: int, threshold: float, bound_alpha: float, late: bool
) -> Finding:
    leading = max(processes, key=lambda process: process.log_e)
    freezers = [process.freezer for process in processes if process.freezer is not None]
    bounds = [bound for bound in (one.bound(alpha=bound_alpha / len(freezers)) for one in freezers) if bound is not None]
    best = max(bounds, key=lambda one: one.epsilon, default=None)
    seen = [mass for mass in (process.telling() for process in processes) if mass is not None]
    mass = max(0.02, *seen) if seen else 0.5
    point = min(subject.points, key=lambda one: one.delta)
    # the average over processes is what must pass the threshold, and one of them finds the event
    power = smallest_violation(point, mass=mass, pairs=pairs, threshold=threshold + math.log(len(processes)))
    return Finding(
        falsifier=leading.name,
        verdict="not refuted" if math.isfinite(power) else "inconclusive",
        log_e=leading.log_e,
        samples=2 * pairs,
        event=leading.event() if best is None else best.event,
        bound=best,
        power=power,
        power_event=mass,
        note=TIME_WAS_UP if late else "",
        tried=tuple(process.name for process in processes),
    )


def smallest_violation(point: Point, *, mass: float, pairs: int, threshold: float) -> float:
    """The smallest epsilon, at the point's delta, at which an event of this probability refutes with probability 0.95.

    An approximation, and named so in the certificate: ln of the wealth is a random walk with Kelly's growth; it must pass
    the threshold and an allowance for learning, by a normal quantile. Infinity where no violation would have been found.
    """

    def found(epsilon: float) -> bool:
        q = max(0.0, mass - point.delta) * math.exp(-epsilon)
        mean, spread = _walk(mass, q, point)
        return pairs * mean - _QUANTILE * math.sqrt(pairs) * spread >= threshold + _LEARNING

    low, high = point.epsilon, point.epsilon + 30.0
    if mass <= point.delta or not found(high):
        return math.inf
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if found(middle) else (middle, high)
    return high


def _walk(p: float, q: float, point: Point) -> tuple[float, float]:
    """Mean and standard deviation of one step of ln of the wealth, at the best stake."""
    stakes, growths = kelly(np.array([p]), np.array([q]), point)
    stake, mean = float(stakes[0]), float(growths[0])
    gains = (1.0 - point.delta, 1.0 - point.ratio - point.delta, -point.delta, -point.ratio - point.delta)
    weights = (p * (1.0 - q), p * q, (1.0 - p) * (1.0 - q), (1.0 - p) * q)
    square = sum(w * math.log1p(stake * g) ** 2 for w, g in zip(weights, gains, strict=True))
    return mean, math.sqrt(max(0.0, square - mean * mean))
