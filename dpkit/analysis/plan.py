"""A plan: an analysis with its price. It reads no data and spends nothing; `run` carries it out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from importlib import import_module
from typing import TYPE_CHECKING

from dpkit.accounting import account
from dpkit.analysis.ledger_standing import LedgerStanding, standing
from dpkit.analysis.reading.spec import Spec, StepSpec
from dpkit.analysis.rehearsal import PlannedRelease, expected_errors, rehearse
from dpkit.contracts.algorithm import Advising, Computing, NeedsRows
from dpkit.contracts.guarantee import Guarantee
from dpkit.contracts.mechanism import Mechanism
from dpkit.contracts.query import Query
from dpkit.errors import (
    BudgetUnreachableError,
    DpkitError,
    InvalidValueError,
    PlanRefusedError,
    UnpricedEventError,
)
from dpkit.numerics.rounding import format_up
from dpkit.pricing.explain import Explanation
from dpkit.privacy.claims import Claim
from dpkit.privacy.events import Event
from dpkit.release.schedules import combined_plan, share_weights, solve_noise
from dpkit.values import dataclass

if TYPE_CHECKING:
    from dpkit.analysis.run_plan import Result
    from dpkit.analysis.stand_in import StandIn


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """A step with its price. `epsilon` is what it would cost alone, `part` its part of the whole, `noise` its multiplier.

    `errors` are the largest errors of its answers at 95% confidence, as far as the algorithm knows them before it sees data;
    `advice` is what it warns of from public facts alone, such as too few rows for the budget; `iterations` is how many it took
    when it was rehearsed; `computed_by` says what will do its passes over rows, where the algorithm says so. `errors_rest_on`
    says what the errors take for granted, where that is more than what is declared.
    """

    id: str
    run: str
    share: float
    noise: float
    event: Event
    epsilon: float
    part: float
    releases: tuple[PlannedRelease, ...]
    errors: Mapping[str, float]
    is_rehearsed: bool
    iterations: int = 0
    advice: tuple[str, ...] = ()
    computed_by: str = ""
    errors_rest_on: str = ""
    asked: tuple[tuple[Query, Mechanism], ...] = field(default=(), repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """An analysis that is priced: what each step costs, how good it will be, and which theorems say so."""

    spec: Spec
    steps: tuple[PlannedStep, ...]
    guarantee: Guarantee
    explanation: Explanation
    claims: tuple[Claim, ...]
    ledger: LedgerStanding | None = field(default=None)

    @property
    def epsilon(self) -> float:
        """The price at the budget's delta, an upper bound."""
        return self.explanation.epsilon

    @property
    def delta(self) -> float:
        """The budget's delta."""
        return self.spec.budget.delta

    @property
    def event(self) -> Event:
        """Everything that may be released, at worst."""
        assert self.guarantee.event is not None
        return self.guarantee.event

    @property
    def sentence(self) -> str:
        """The guarantee in one sentence."""
        from dpkit.analysis.showing.text import guarantee_sentence

        return guarantee_sentence(self)

    def __str__(self) -> str:
        from dpkit.analysis.showing.text import plan_text

        return plan_text(self)

    def _repr_html_(self) -> str:
        from dpkit.analysis.showing.html import plan_html

        return plan_html(self) + str(import_module("dpkit.report.notebooks").plan_figures(self))

    def as_json(self) -> dict[str, object]:
        """Everything in it, as JSON."""
        from dpkit.analysis.showing.documents import plan_document

        return plan_document(self)

    def run(self, *, data: object = None, progress: Callable[[str, int], None] | None = None, again: bool = False) -> Result:
        """Carry the plan out: charge, read, release. `data` stands for the declared source; `again` pays for a new draw.

        `progress` is told the step and how many of its iterations are done; a notebook shows a bar.
        """
        from dpkit.analysis.run_plan import run_plan

        if progress is not None or "IPython" not in sys.modules:
            return run_plan(self, data=data, progress=progress, again=again)
        from dpkit.analysis.showing.notebook_bar import notebook_bar

        with notebook_bar() as bar:
            return run_plan(self, data=data, progress=None if bar is None else self._told(bar.tell), again=again)

    def _told(self, tell: Telling) -> Callable[[str, int], None]:
        """Steps and iterations as a part of the whole run."""
        before, sizes, total = {}, {step.id: max(step.iterations or 1, 1) for step in self.steps}, 0
        for name, size in sizes.items():
            before[name], total = total, total + size
        return lambda name, done: tell(f"step {name}", before[name] + min(done, sizes[name]), total)

    def simulate(self, *, seed: int = 0) -> Result:
        """Carry the plan out on made-up data of the declared columns, with seeded noise. Costs nothing; stamped throughout."""
        from dpkit.analysis.run_plan import simulate_plan

        return simulate_plan(self, seed=seed)


Telling = Callable[[str, int, int | None], None]
"""Told what is done, how much of it, and of how much where that is known."""


def make_plan(spec: Spec, *, progress: Telling | None = None, like: object = None) -> Plan:
    """Solve the noise of every step so that all of them together just meet the budget; refuse what cannot be run. `like` stands
    in for the data where errors are foretold.
    """
    tell: Telling = (lambda words, done, total: None) if progress is None else progress
    setting, stand_in, public = spec.data.setting, None, spec.data.like if like is None else like
    if public is not None:
        from dpkit.analysis.stand_in import open_stand_in  # plans without one load none of this

        stand_in = open_stand_in(spec, public)
    algorithms = [step.algorithm for step in spec.steps]
    shares = [step.share for step in spec.steps]
    budget = spec.budget
    try:
        noises, guarantee = solve_noise(
            algorithms,
            budget.loss,
            accountant=budget.accountant,
            neighbours=setting.neighbours,
            shares=shares,
            registry=spec.registry,
            accept=budget.accept,
            watch=lambda tries: tell(f"solving the noise of {len(algorithms)} steps, try {tries}", tries, None),
        )
    except (InvalidValueError, BudgetUnreachableError) as error:
        # invalid: the search for a scale went beyond what noise can be, so no amount of it is enough
        why = f": {error.reason}" if isinstance(error, BudgetUnreachableError) else "."
        nearest = "Try `accountant: best`, or a larger delta."
        if budget.delta == 0.0:
            nearest = "With `delta: 0` only pure noise such as Laplace has a price: choose such noise, or set `delta: 1e-6`."
        raise PlanRefusedError(reason=f"No noise keeps this plan within the budget{why}", nearest=nearest) from None
    except UnpricedEventError as error:
        unproved = ", ".join(rule.name for rule in spec.registry.rules if rule.status != "proved")
        nearest = f"Rules that are not proved price only when `budget.accept` names them: {unproved}." if unproved else ""
        if error.able:
            nearest = f"Set `accountant` to one of {', '.join(error.able)}."
        raise PlanRefusedError(reason=f"{error}", nearest=nearest) from None

    def rescaled(factor: float) -> tuple[Event, float]:
        """The plan with all noise larger by a factor, and its epsilon."""
        event = combined_plan(algorithms, share_weights(shares), factor * noises[0] / share_weights(shares)[0])
        priced = account(event, budget.accountant, setting.neighbours, spec.registry, accept=budget.accept)
        return event, priced.epsilon(delta=budget.delta)

    steps, claims = _steps(spec, noises, guarantee, lambda factor: rescaled(factor)[1], tell, stand_in)
    _refuse_refuted(claims, spec)
    explanation = guarantee.explain(delta=budget.delta)
    plan = Plan(spec=spec, steps=steps, guarantee=guarantee, explanation=explanation, claims=claims)
    return plan if budget.ledger is None else replace(plan, ledger=standing(plan.event, spec, rescaled))


def _steps(
    spec: Spec,
    noises: tuple[float, ...],
    guarantee: Guarantee,
    price: Callable[[float], float],
    tell: Telling,
    stand_in: StandIn | None,
) -> tuple[tuple[PlannedStep, ...], tuple[Claim, ...]]:
    setting, delta = spec.data.setting, spec.budget.delta
    few = [_advice_on_rows(step, noise, setting.size, price) for step, noise in zip(spec.steps, noises, strict=True)]
    chosen = guarantee.accountant.explained_by(guarantee.state, delta=delta)
    priced: list[tuple[StepSpec, float, Event, Guarantee]] = []
    for step, noise in zip(spec.steps, noises, strict=True):
        event = step.algorithm.plan(noise)
        alone = account(event, chosen, setting.neighbours, spec.registry, accept=spec.budget.accept)
        priced.append((step, noise, event, alone))
    whole = account([event for _, _, event, _ in priced], chosen, setting.neighbours, spec.registry, accept=spec.budget.accept)
    parts = chosen.shares([alone.state for *_, alone in priced], whole.state, delta=delta)
    planned: list[PlannedStep] = []
    claims: dict[str, Claim] = {}
    for (step, noise, event, alone), part, advice in zip(priced, parts, few, strict=True):
        tell(f"rehearsing step {len(planned) + 1} of {len(priced)}: {step.id}", len(planned), len(priced))
        rehearsal = rehearse(step.algorithm, noise=noise, setting=step.setting, step=step.id)
        claims.update({f"{claim.because}{claim.assuming}{claim.status}": claim for claim in rehearsal.claims})
        errors, rest_on = expected_errors(step, noise, stand_in)
        planned.append(
            PlannedStep(
                id=step.id,
                run=step.run,
                share=step.share,
                noise=noise,
                event=event,
                epsilon=alone.epsilon(delta=delta),
                part=part,
                releases=rehearsal.releases,
                errors=errors,
                errors_rest_on=rest_on,
                is_rehearsed=rehearsal.complete,
                iterations=rehearsal.iterations,
                advice=advice,
                computed_by=str(step.algorithm.computed_by()) if isinstance(step.algorithm, Computing) else "",
                asked=rehearsal.asked,
            )
        )
    return tuple(planned), tuple(claims.values())


def _advice_on_rows(step: StepSpec, noise: float, size: int | None, price: Callable[[float], float]) -> tuple[str, ...]:
    """What an analyst should know about the number of rows, where the algorithm says how many it needs (`NeedsRows`); else what
    the algorithm itself warns of from public facts (`Advising`). Answers that are no whole numbers say nothing.

    `PlanRefusedError`, with the rows and the epsilon that would do, where its answer would be noise. `price(factor)` is the
    epsilon of the whole plan with all its noise larger by a factor: rows and noise trade one for one.
    """
    algorithm, needed, least = step.algorithm, None, None
    if isinstance(algorithm, NeedsRows):
        asked: tuple[object, object] = algorithm.needed_rows(noise), algorithm.least_rows(noise)
        needed, least = (found if isinstance(found, int) else None for found in asked)

    def or_a_budget(rows: int, enough: int) -> str:
        try:
            return f", or a budget of about epsilon {format_up(price(rows / enough), digits=3)}"
        except (DpkitError, ValueError, ArithmeticError):
            return ""

    if size is not None and least is not None and size < least:
        good = f" (about {needed} for a good answer)" if needed is not None else ""
        raise PlanRefusedError(
            reason=f"Step {step.id!r}: {size} rows are too few for this budget; its answer would be noise.",
            nearest=f"It needs at least about {least} rows{good}{or_a_budget(size, least)}.",
        )
    if needed is not None and size is None:
        return (f"about {needed} rows are needed at this budget; `rows` is not declared, so this is not checked.",)
    if needed is not None and size is not None and size < needed:
        return (f"{size} rows are few for this budget: about {needed} are needed{or_a_budget(size, needed)}.",)
    warned: object = algorithm.advice(noise) if isinstance(algorithm, Advising) else ()
    return tuple(map(str, warned)) if isinstance(warned, tuple | list) else ()


def _refuse_refuted(claims: tuple[Claim, ...], spec: Spec) -> None:
    """A refuted claim passes only where `budget.accept` names a rule of the same source."""
    accepted = {rule.because for rule in spec.registry.rules if rule.name in spec.budget.accept}
    refuted = [claim.because for claim in claims if claim.status == "refuted" and claim.because not in accepted]
    if refuted:
        names = [rule.name for rule in spec.registry.rules if rule.status == "refuted" and rule.because in refuted]
        known = f", or accept what is not private by name: `accept: [{', '.join(names)}]`" if names else ""
        raise PlanRefusedError(
            reason=f"The plan relies on claims that are refuted: {'; '.join(map(str, refuted))}.",
            nearest=f"Use another mechanism{known}.",
        )
