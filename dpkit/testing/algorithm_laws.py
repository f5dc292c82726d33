"""The laws of algorithms: the plan is the worst case, and the state is made of released values and of nothing else.

An algorithm is tried in several settings, with typical parameters.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np

from dpkit.auditing.algorithms.check_queries import asked_under_scripts, equal_answers_equal_runs, query_faults, unlike_queries
from dpkit.auditing.algorithms.made_up_rows import Table, engine_over, hard_tables
from dpkit.auditing.algorithms.reachable_parts import differs, holds_number, holds_way_to_data
from dpkit.auditing.algorithms.scripted_answers import answer_again, make_scripts, most_steps, scripted_curator, silence, walk
from dpkit.contracts.algorithm import AnyAlgorithm, Curator
from dpkit.contracts.factories import AlgorithmFactory
from dpkit.contracts.registry import Registry
from dpkit.contracts.setting import Setting
from dpkit.data.columns.kinds import Category, Number
from dpkit.data.columns.schema import PrivacyUnit, Schema
from dpkit.data.setting import DeclaredSetting
from dpkit.errors import DpkitError, PlanExceededError, UnpricedEventError
from dpkit.pricing.assess import assess
from dpkit.privacy.events import Event
from dpkit.privacy.neighbours import Neighbours
from dpkit.release.curator import DataCurator, Purse
from dpkit.release.simulated_curator import Asked
from dpkit.testing.mechanism_cases import DELTA, QUICK_ACCOUNTANTS, typical_parameters
from dpkit.testing.run_laws import LawNotApplicable, LawUnchecked
from dpkit.testing.unregistered_noise import check_noise, registered_classes
from dpkit.values import dataclass

ROWS = 40
PERSON = "person"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlgorithmSubject:
    """One algorithm, made from these parameters in this setting."""

    parameters: dict[str, object]
    setting: Setting
    algorithm: AnyAlgorithm

    def __str__(self) -> str:
        return f"with {self.parameters} under {self.setting.neighbours}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlgorithmCase:
    """A factory of algorithms and what the laws need beside it."""

    factory: AlgorithmFactory
    registry: Registry
    seed: int = 0

    def rng(self, *salt: int) -> np.random.Generator:
        """A generator of its own for each use: laws are deterministic given the seed."""
        return np.random.default_rng([self.seed, *salt])

    def subjects(self, limit: int = 4) -> list[AlgorithmSubject]:
        """In every setting, algorithms with typical parameters: the declared examples and defaults first."""
        if next(typical_parameters(self.factory), None) is None:
            raise LawUnchecked("a parameter has no typical value: declare `examples`, or install a plugin with what it takes")
        settings = default_settings() if self.factory.settings is None else self.factory.settings()
        found = [subject for setting in settings for subject in itertools.islice(self._prepared(setting), limit)]
        assert found, "no typical parameters prepare this algorithm: declare `examples` for them, or `settings` that suit them"
        return found

    def _prepared(self, setting: Setting) -> Iterator[AlgorithmSubject]:
        for values in itertools.islice(typical_parameters(self.factory), 16):
            try:
                algorithm = self.factory.prepare(setting, **values)
                algorithm.plan(1.0)  # some look at their parameters only here
            except (DpkitError, ValueError):
                continue
            yield AlgorithmSubject(parameters=values, setting=setting, algorithm=algorithm)


def default_settings() -> list[DeclaredSetting]:
    """Both relations, a row and a person as the unit, rows that may be dropped and rows that may not, and ranges of both kinds.

    Within 0 and 1 a distance of one is right by chance, as is the upper end for the largest magnitude. In `wide` neither is.
    """
    kept = Schema(
        columns=(
            Number(name="x", lower=0.0, upper=1.0, missing=0.5),
            Number(name="y", lower=-3.0, upper=10.0, missing=0.0),
            Category(name="c", levels=("a", "b", "other"), missing="other", unknown="other"),
        )
    )
    dropped = Schema(
        columns=(
            Number(name="x", lower=0.0, upper=1.0),
            Number(name="y", lower=-3.0, upper=10.0),
            Category(name="c", levels=("a", "b", "other")),
        )
    )
    wide = Schema(
        columns=(
            Number(name="x", lower=-6.0, upper=2.0),
            Number(name="y", lower=-10.0, upper=3.0),
            Category(name="c", levels=("a", "b", "other")),
        )
    )
    person = PrivacyUnit(column=PERSON, at_most=2)
    return [
        DeclaredSetting(schema=dropped, neighbours=Neighbours.ADD_REMOVE),
        DeclaredSetting(schema=kept, neighbours=Neighbours.REPLACE_ONE, rows=ROWS),
        DeclaredSetting(schema=dropped, neighbours=Neighbours.REPLACE_ONE, rows=ROWS),
        DeclaredSetting(schema=wide, neighbours=Neighbours.ADD_REMOVE, unit=person, rows=ROWS),
        DeclaredSetting(schema=wide, neighbours=Neighbours.REPLACE_ONE, rows=ROWS),
        DeclaredSetting(schema=kept, neighbours=Neighbours.REPLACE_ONE, unit=person),
    ]


def declared(setting: Setting) -> DeclaredSetting:
    """The setting with its schema, without which no data can be made up."""
    if not isinstance(setting, DeclaredSetting):
        raise LawNotApplicable("the kit makes up data for a DeclaredSetting only")
    return setting


def curator_over(setting: Setting, table: Table, purse: Purse, rng: np.random.Generator) -> DataCurator:
    """A real curator over a made-up table."""
    return DataCurator(engine=engine_over(declared(setting), table), setting=setting, purse=purse, rng=rng)


NOISES = (0.3, 1.0, 20.0)
LADDER = tuple(2.0 ** (step / 2.0) for step in range(-4, 13))
"""Multipliers at which prices are compared."""
SLACK = 1e-9


def the_plan_covers_what_is_charged(case: AlgorithmCase) -> None:
    """On hard data and on answers made up by an adversary, no path asks for more than the plan; each ends within it."""
    for subject in case.subjects():
        for noise in NOISES:
            plan = subject.algorithm.plan(noise)
            for name, curator in _curators(case, subject, plan):
                try:
                    path = walk(subject.algorithm, curator, noise, most=most_steps(plan))
                except PlanExceededError:
                    raise AssertionError(f"more is charged than was planned on {name}, {subject}") from None
                assert path.done, f"it is not finished after as many steps as its plan has releases, on {name}, {subject}"


def more_noise_never_costs_more(case: AlgorithmCase) -> None:
    """The price of the plan falls, or stays, as the noise grows; the same noise gives the same plan."""
    for subject in case.subjects():
        before = math.inf
        for noise in LADDER:
            plan = subject.algorithm.plan(noise)
            assert plan == subject.algorithm.plan(noise), f"two plans at one noise differ, {subject}"
            price = _price(case, plan, subject.setting.neighbours)
            assert price <= before * (1.0 + SLACK), f"at noise {noise:.3g} the plan costs more than at less noise, {subject}"
            before = price


def the_state_holds_no_data(case: AlgorithmCase) -> None:
    """After a run over rows with marked values, neither states, result nor algorithm hold one, or a way to the rows.

    And the same answers from a curator without data lead to the same states: what is in them was released.
    """
    for subject in case.subjects():
        table, marks = _marked(case, subject)
        plan = subject.algorithm.plan(1.0)
        curator = curator_over(subject.setting, table, Purse(plan), case.rng(3))
        path = walk(subject.algorithm, curator.door, 1.0, most=most_steps(plan))
        released = [value for release in curator.trace for value in release.values]
        with silence():
            result = subject.algorithm.result(path.states[-1])
        for thing in [*path.states, result, subject.algorithm]:
            assert not holds_way_to_data(thing), f"a state, the result or the algorithm holds a way to the data, {subject}"
            assert not holds_number(thing, marks), f"a state, the result or the algorithm holds a row's value, {subject}"
        again = scripted_curator(answer_again(released), setting=subject.setting)
        other = walk(subject.algorithm, again, 1.0, most=most_steps(plan))
        assert not differs(path.states, other.states), f"the states depend on more than what was released, {subject}"


def a_step_is_pure(case: AlgorithmCase) -> None:
    """The same state and the same answers give the same next state, and the state that went in is as it was."""
    for subject in case.subjects():
        for name, script in make_scripts(case.rng(4)).items():
            plan = subject.algorithm.plan(1.0)
            state = subject.algorithm.init(1.0)
            for _ in range(most_steps(plan)):
                if subject.algorithm.finished(state):
                    break
                kept = copy.deepcopy(state)
                with silence():
                    doors = [scripted_curator(script, setting=subject.setting) for _ in range(2)]
                    ends = [subject.algorithm.step(state, door) for door in doors]
                assert not differs(kept, state), f"a step changed the state that it was given, on {name}, {subject}"
                assert not differs(*ends), f"a step taken twice gives two states, on {name}, {subject}"
                state = ends[0]


def degenerate_data_gives_an_answer(case: AlgorithmCase) -> None:
    """No row, one row, equal rows, rows of NaN and text: nothing raises, at the end or when cancelled at any step."""
    for subject in case.subjects():
        for noise in NOISES:
            plan = subject.algorithm.plan(noise)
            for name, table in hard_tables(declared(subject.setting), case.rng(5)).items():
                curator = curator_over(subject.setting, table, Purse(plan), case.rng(6))
                try:
                    path = walk(subject.algorithm, curator.door, noise, most=most_steps(plan))
                    with silence():
                        for state in path.states:
                            subject.algorithm.result(state)
                except PlanExceededError:
                    continue  # another law checks this
                except Exception as error:  # noqa: BLE001 - a third party's code may raise anything
                    kind = type(error).__name__
                    raise AssertionError(f"{kind} on a dataset of {name}: degenerate data must give an answer") from None


def what_is_asked_is_what_it_says(case: AlgorithmCase) -> None:
    """Every query that is handed to the curator, under scripted answers, obeys the laws of queries within declared ranges."""
    for subject in case.subjects(2):
        for query in unlike_queries(_asked(case, subject), subject.setting):
            for fault in query_faults(query, subject.setting, seed=case.seed):
                raise AssertionError(f"{fault}, {subject}")


def its_noise_obeys_the_laws(case: AlgorithmCase) -> None:
    """The noise that is handed to the curator is a registered mechanism, which has laws of its own, or it obeys them itself."""
    tried: set[object] = set()
    registered = registered_classes(case.registry)
    for subject in case.subjects(2):
        for query, mechanism in _asked(case, subject):
            check_noise(
                query,
                mechanism,
                setting=subject.setting,
                registry=case.registry,
                registered=registered,
                seed=case.seed,
                tried=tried,
            )


def equal_answers_give_equal_runs(case: AlgorithmCase) -> None:
    """Two datasets and the same scripted answers: equal plans, numbers of steps, states and results."""
    for subject in case.subjects(2):
        fault = equal_answers_equal_runs(subject.algorithm, declared(subject.setting), 1.0, rng=case.rng(8))
        assert fault is None, f"{fault.detail}, {subject}"


def _asked(case: AlgorithmCase, subject: AlgorithmSubject) -> list[Asked]:
    found = asked_under_scripts(subject.algorithm, subject.setting, 1.0, rng=case.rng(9))
    if not found:
        raise LawUnchecked(f"it asks nothing under scripted answers, {subject}")
    return found


ALGORITHM_LAWS: tuple[Callable[[AlgorithmCase], None], ...] = (
    the_plan_covers_what_is_charged,
    more_noise_never_costs_more,
    the_state_holds_no_data,
    a_step_is_pure,
    degenerate_data_gives_an_answer,
    what_is_asked_is_what_it_says,
    equal_answers_give_equal_runs,
    its_noise_obeys_the_laws,
)


def _curators(case: AlgorithmCase, subject: AlgorithmSubject, plan: Event) -> Iterator[tuple[str, Curator]]:
    """Curators that charge a fresh copy of the plan: over hard data, where it can be made up, and scripted ones."""
    try:
        for name, table in hard_tables(declared(subject.setting), case.rng(1)).items():
            yield name, curator_over(subject.setting, table, Purse(plan), case.rng(2)).door
    except LawNotApplicable:
        pass
    for name, script in make_scripts(case.rng(1)).items():
        yield f"answers that are {name}", scripted_curator(script, setting=subject.setting, purse=Purse(plan))


def _marked(case: AlgorithmCase, subject: AlgorithmSubject) -> tuple[Table, frozenset[float]]:
    """Rows of numbers that occur nowhere else, as they are and as codes."""
    table = hard_tables(declared(subject.setting), case.rng(7))["ordinary rows"]
    numbers = [cell for cells in table.values() for cell in cells if isinstance(cell, float)]
    if not numbers:
        raise LawNotApplicable("no column holds numbers that could be marked")
    return table, frozenset(numbers)


def _price(case: AlgorithmCase, plan: Event, relation: Neighbours) -> float:
    """By the quickest accountant that can price it: the same one for every noise, since plans differ in numbers alone."""
    for name in (*QUICK_ACCOUNTANTS, "best"):
        try:
            chosen = case.registry.accountant(name)
            priced = assess(plan, accountant=chosen, registry=case.registry, neighbours=relation, accept=frozenset())
            return priced.epsilon(delta=DELTA)
        except UnpricedEventError:
            continue
    raise LawNotApplicable("no accountant can price the plan")
