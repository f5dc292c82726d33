"""Algorithm `irls`: a generalised M-estimator in residual form. Contributions are bounded by construction, noise is Gaussian.

Releases (asking): octaves of columns and targets, then their places and the counts of levels; the scatter of directions;
lengths; then steps, each the gradient with a matrix that costs nothing. What is between them is post-processing (stages).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from dpkit import Compose, Event, Mechanism, Query, Scaled, Setting, planned_event
from dpkit.authoring import dataclass, in_full
from dpkit_irls import rows_needed
from dpkit_irls.bounded.class_fit import ClassFit, class_known, class_result
from dpkit_irls.bounded.covariance import Covariances, covariances, expected_middle
from dpkit_irls.bounded.facts import Facts
from dpkit_irls.bounded.filter import entry_spreads, ridge_slope, seen_curvature, shapes_of
from dpkit_irls.bounded.layout import Layout
from dpkit_irls.bounded.link_filter import bend_error, dispersion_error, lengthened, link_shapes, metric_of, predictors_of
from dpkit_irls.bounded.notes_of_fit import YES_OR_NO, estimand_sentence, hardly_any, notes_of
from dpkit_irls.bounded.priors import as_found, coefficient_precisions, less_sure, moderated, of_positions
from dpkit_irls.bounded.releases import asked, stages_of
from dpkit_irls.bounded.ridge import pull_of
from dpkit_irls.bounded.shapes import Pooled, Shape, by_directions
from dpkit_irls.bounded.stages import AFTER, first_position
from dpkit_irls.bounded.state import BoundedState
from dpkit_irls.bounded.tails import told_of_middle
from dpkit_irls.bounded.tuning import SHARES, TUNING, Shares, Tuning
from dpkit_irls.fit import Array, Fit
from dpkit_irls.foretold_errors import Told, foretold_intervals, rests_on
from dpkit_irls.loss import ROBUST, Family
from dpkit_irls.rows import kernels
from dpkit_irls.rows.dummies import Levels
from dpkit_irls.rows.row_weights import weighted

if TYPE_CHECKING:
    from dpkit import Curator

FAR_OUT = "Few rows lie near the quantile {}, and they alone tell where it is: one nearer to the middle needs far fewer."

_LARGEST = 1e15
"""No sum of rows is larger; what is released beyond it is noise or nonsense."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Known:
    """Coefficients of columns (the constant last), standard errors once there are steps, which the noise hides, by what factor
    others are `wider` than if the curvature were sure, and whether steps were `slow`: residuals grow with the fitted values.
    """

    coefficients: Array
    errors: tuple[float, ...] = ()
    hidden: tuple[int, ...] = ()
    wider: Mapping[int, float] = field(default_factory=dict)
    slow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedIRLS:
    """`entries` names what x holds (`levels`: which features are categories); `released_units` are the places of the entries
    whose unit is released privately. For the plan alone are guesses: `shares` of how often each level occurs, `deviations` of
    how much numbers vary, `middles` of where they lie. With a `weight`, a column, a row counts as much as that says. A
    `ridge` pulls slopes towards 0.
    """

    setting: Setting
    columns: tuple[str, ...]
    entries: tuple[str, ...]
    levels: Levels
    intercept: bool
    released_units: tuple[int, ...]
    family: Family = ROBUST
    iterations: int = 16
    rounds: int = 2
    parts: Shares = SHARES
    tuning: Tuning = TUNING
    start: tuple[float, ...] = ()
    few_rows: Literal["refuse", "answer"] = "refuse"
    shares: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    deviations: Mapping[str, float] = field(default_factory=dict)
    middles: Mapping[str, float] = field(default_factory=dict)
    weight: str | None = None
    ridge: float = 0.0

    @property
    def facts(self) -> Facts:
        """What is public."""
        return Facts(
            setting=self.setting,
            columns=self.columns,
            layout=self.layout,
            family=self.family,
            start=self.start,
            released_units=self.released_units,
            iterations=self.iterations,
            rounds=self.rounds,
            parts=self.parts,
            tuning=self.tuning,
            is_weighted=self.weight is not None,
            ridge=self.ridge,
        )

    @property
    def layout(self) -> Layout:
        """Where the entries lie."""
        return Layout(levels=self.levels, intercept=self.intercept)

    def plan(self, noise: float) -> Event:
        """Every release, at its price."""
        facts, state, events, turn = self.facts, self.init(noise), [], 0
        for stage in stages_of(facts):
            pairs = self._weighted(asked(facts, stage, state, turn))
            events += [planned_event(self.setting, query, noisy) for query, noisy in pairs]
            turn += stage == "step"
        return Compose(events=tuple(events))

    def init(self, noise: float) -> BoundedState:
        """Columns within their declared ranges."""
        facts = self.facts
        return BoundedState(
            noise=noise,
            needed=facts.needed(noise),
            frame=facts.frame(),
            total=facts.rows or 1.0,
            link=None if self.family.link is None else self.family.link(),
            scatter=Pooled.none(self.layout.size),
            abundant=facts.abundant,
        )

    def step(self, state: BoundedState, curator: Curator) -> BoundedState:
        """One stage."""
        facts = self.facts
        stages = stages_of(facts)
        stage = stages[state.stage]
        if state.stage == 0:
            kernels.expect(self.setting.size, cells_of_a_row=self._cells_of_a_row())
        pairs = self._weighted(asked(facts, stage, state, state.stage - stages.index("step")))
        values = curator.release_all(pairs)
        released = {
            query.name: (_tame(value), mechanism.scale if isinstance(mechanism, Scaled) else 0.0)
            for (query, mechanism), value in zip(pairs, values, strict=True)
        }
        return replace(AFTER[stage](facts, state, released), stage=state.stage + 1)

    def _weighted(self, pairs: Sequence[tuple[Query, Mechanism]]) -> list[tuple[Query, Mechanism]]:
        """What is asked, with each row's contribution times its weight."""
        if self.weight is None:
            return list(pairs)
        _, largest = self.setting.range(self.weight)
        return [(weighted(query, self.weight, largest), mechanism) for query, mechanism in pairs]

    def finished(self, state: BoundedState) -> bool:
        """After the last step."""
        return state.stage >= len(stages_of(self.facts))

    def result(self, state: BoundedState) -> Fit | ClassFit:
        """Coefficients in the units of the columns."""
        with np.errstate(all="ignore"):  # where hardly any row counts, what the noise made may be of any size
            return class_result(self, state) if self.facts.classes else self._line(state)

    def _line(self, state: BoundedState) -> Fit:
        now, known = state.filter, self.known(state)
        values = self._whole(state, known)
        return Fit(
            form=self.family.name,
            features=self.entries,
            coefficients=tuple(map(float, values[: len(self.entries)])),
            intercept=float(values[-1]) if self.intercept else 0.0,
            iterations=0 if now is None else now.turn,
            scale=None if state.link is not None else state.spread if now is None else now.scale,
            standard_errors=known.errors[: len(self.entries)],
            intercept_error=known.errors[-1] if self.intercept and known.errors else None,
            notes=self._notes(state, known),
            estimand="" if now is None else estimand_sentence(self, state),
            threshold=None if now is None or state.link is not None else now.threshold,
            frame=None if now is None else state.frame,
            link=None if now is None else state.link,
            score=self.family.residuals if now is None else now.score,
            ridge=self.ridge,
            ridge_slope=self._ridge_slope(state),
        )

    def _whole(self, state: BoundedState, known: Known) -> Array:
        """What a state says of the coefficients, with the public start."""
        found = known.coefficients.copy()
        found[: len(self.entries)] += np.array(self.facts.slopes or 0.0)
        if self.intercept:
            found[-1] += state.frame.origin
        return found

    def _ridge_slope(self, state: BoundedState) -> float:
        now = state.filter
        if now is None or state.link is not None:
            return 1.0 if state.link is None else state.link.steepest
        return ridge_slope(now, state.schedule(self.iterations, self.tuning), now.threshold)

    def _notes(self, state: BoundedState, known: Known) -> tuple[str, ...]:
        names = [*self.entries, "intercept"]
        wider = {names[place]: factor for place, factor in known.wider.items()}
        hidden = [names[place] for place in known.hidden]
        return (*self.advice(state.noise), *notes_of(self, state, hidden, wider, slow=known.slow))

    @property
    def names(self) -> list[str]:
        """The coefficients that it tells of, the intercept last; of classes, `class: name`."""
        names = [*self.entries, *(["intercept"] if self.intercept else [])]
        if not self.facts.classes:
            return names
        return [f"{one}: {name}" for one in self.setting.levels(self.columns[-1])[1:] for name in names]

    def told(self, state: BoundedState, *, rows_over: float = 1.0) -> Told:
        """Coefficients and standard errors by name, these as with a multiple of the rows, and what the noise hides."""
        names = self.names
        if self.facts.classes:
            every = class_known(self, state, rows_over=rows_over)
            values, errors = every.coefficients.ravel(), every.errors.ravel()
            hidden = [one * self.layout.size + place for one, place in every.hidden]
        else:
            known = self.known(state, rows_over=rows_over)
            values, errors, hidden = self._whole(state, known), np.array(known.errors), list(known.hidden)
        return Told(
            coefficients=dict(zip(names, values.tolist(), strict=True)),
            errors=dict(zip(names, errors.tolist(), strict=True)),
            hidden={names[place] for place in hidden},
        )

    def known(self, state: BoundedState, *, rows_over: float = 1.0) -> Known:
        """What a state says of the coefficients, before the public start is added; errors as with a multiple of the rows."""
        to_columns, now, expected = self.layout.to_columns(state.frame), state.filter, state.expected
        if now is None or expected is None:
            return Known(coefficients=np.zeros(self.layout.size))
        if state.link is not None:
            pull = pull_of(state.frame, self.ridge, expected.total, 1.0)
            scatter, shape, middle = link_shapes(now, state.link, state.frame, expected, self.tuning, pull)
        else:
            scatter, shape = shapes_of(now, expected, self.tuning)
            if now.few and now.curvature.precision > 0.0:
                shape = by_directions(shape, seen_curvature(now, expected), to_columns, self.tuning)
            middle = expected_middle(now, scatter)
            per = self._ridge_slope(state) / max(now.gains[-1].slope, 1e-300) if now.gains else 1.0
            pull = pull_of(state.frame, self.ridge, expected.total, per)
            shape = Shape(mean=shape.mean + pull, spread=shape.spread)
        persons = self.facts.rows_of_a_person()
        spread, position = state.spread, now.position
        if state.link is None:  # a target's place may be that of a part of it
            spread = max(spread, now.fitted_spread(scatter.mean, expected))
        believed = coefficient_precisions(self.layout, state.frame, state.widths, spread, self.tuning)
        made = partial(
            covariances,
            now,
            middle,
            shape,
            expected=expected,
            rare=self.rare(state),
            plenty=state.plenty,
            per_need=state.total / state.needed,
            rows_of_a_person=persons,
            constant=self.intercept,
            tuning=self.tuning,
        )
        begun, unit = (first_position(self.facts, replace(state, constant=each)) for each in (state.constant, 1.0))
        start = less_sure(now.prior, state.frame, believed, self.tuning)
        if not self.start:
            start = start + np.outer(unit, unit) * state.constant_error**2
        found = made(believed=start)
        if state.link is not None and self.tuning.start_trusted < math.inf:
            found = made(believed=as_found(start, now.position - begun, found, trust=self.tuning.start_trusted))
        wider = found.wider(to_columns)
        if (
            state.link is None or not state.schedule(self.iterations, self.tuning).few
        ):  # few steps with a link weighed it already
            position, found = moderated(position, found, of_positions(state.frame, believed))
        if state.link is not None and not self.start:
            position = position + lengthened(now, state.frame) * self.tuning.lengthen
        found = self._widened(state, found, to_columns, spread, believed)
        errors = np.clip(np.nan_to_num(found.errors(to_columns, rows_over=rows_over), nan=1e200), 0.0, 1e200)
        if state.link is not None and self.intercept:
            seen = predictors_of(now, state.frame, expected, self.tuning)
            bend = bend_error(state.link, seen, state.frame, metric_of(scatter, expected), np.mean(found.start, axis=0))
            errors[-1] = np.hypot(errors[-1], np.hypot(dispersion_error(state.link, seen), bend))
        coefficients = np.nan_to_num(np.clip(to_columns @ position, -1e200, 1e200), nan=0.0)
        hidden = found.left(to_columns) > self.tuning.hidden
        if hardly_any(state):
            state = replace(state, guessed=True)
        if state.link is None and (state.guessed or state.unscaled):
            unknown = self._unknown_errors(state, spread)
            errors, hidden = np.maximum(errors, unknown), hidden | (unknown > 0.0)
        if state.link is not None or now.at_tail:  # what is clearly not 0 was seen, however much of its error was there before
            hidden &= np.abs(coefficients) < 3.0 * errors
        return Known(
            coefficients=coefficients,
            errors=tuple(map(float, errors)),
            hidden=tuple(np.flatnonzero(hidden).tolist()),
            wider={int(place): float(wider[place]) for place in np.flatnonzero(~hidden & (wider > self.tuning.wider))},
            slow=found.slow,
        )

    def _unknown_errors(self, state: BoundedState, spread: float) -> Array:
        """Where the unit of the target was guessed: whatever moves a target across its declared range, between levels or over a
        column's scale; 0 where it was not. A column without bounds whose unit was not found may lie anywhere, however close
        together its values are.
        """
        declared = self.facts.target()
        half = (declared.high - declared.low) / 2.0 if state.guessed else 0.0
        units, centres = np.array(state.frame.units), np.abs(state.frame.centres)
        for category in self.layout.categories:
            units[category.part] = 1.0
        unscaled = list(state.unscaled)
        centres[unscaled] = units[unscaled] / 8.0
        units[unscaled] *= 2.0**-48
        found = half / np.maximum(units, 1e-150)
        found[unscaled] = max(half, spread) / units[unscaled]
        last = [float(np.hypot(half, np.linalg.norm(found * centres)))] if self.intercept else []
        return np.array([*found, *last])

    def blurred(self, state: BoundedState) -> list[tuple[int, float]]:
        """Numbers within one bin, with its width, of which the scatter shows nothing either."""
        unseen = self._unseen(state)
        blurs = zip(self.layout.numbers, state.blurs, strict=False)
        return [(place, blur) for place, blur in blurs if blur > 0.0 and unseen[place]]

    def _unseen(self, state: BoundedState) -> npt.NDArray[np.bool_]:
        """The coordinates in which rows are hardly spread, by the scatter."""
        now, expected = state.filter, state.expected
        if now is None or expected is None:
            return np.zeros(self.layout.size, dtype=bool)
        least = np.maximum(2.5 * now.scatter.spread, 0.2 * np.diag(expected.scatter.mean))
        return np.asarray(np.diag(now.scatter.mean) < least)

    def _widened(
        self, state: BoundedState, found: Covariances, to_columns: Array, spread: float, believed: Array
    ) -> Covariances:
        """The same where a blurred number may move the target by two spreads over a tenth of its bin, and the others may stand
        for what it does: by a part `stands_in` of the residuals' scale, over the spread of each. With so few rows that steps do
        not arrive, what is hidden may be anything that is believed, in the part that is left of the start.
        """
        start, inverse, now = found.start, np.linalg.pinv(to_columns), state.filter
        blurred = self.blurred(state)
        slow = min(max(6.0 - 5.0 * state.plenty / self.tuning.arrived, 0.0), 1.0)
        left = found.left(to_columns)
        left = np.where(left > self.tuning.hidden, slow * left, 0.0)
        units = np.array(state.frame.units)
        moves = [
            (place, math.sqrt(left[place] / believed[place]) / units[place])
            for place in range(self.layout.entries)
            if left[place] > 0.01 and believed[place] > 0.0 and state.link is None
        ]
        unseen = self._unseen(state)  # nothing tells that steps arrived
        moves += [
            (place, (1.0 if known.may_be_truth else self.tuning.unseen_wide) * believed[place] ** -0.5 / units[place])
            for place, known in zip(self.layout.numbers, self.facts.numbers(), strict=True)
            if now is not None and now.few and unseen[place] and believed[place] > 0.0
        ]
        moves += [(place, 20.0 * spread / blur) for place, blur in blurred]
        if blurred and now is not None and state.expected is not None:
            per, seen = self.tuning.stands_in * now.scale * math.sqrt(len(blurred)), {place for place, _ in blurred}
            spreads = entry_spreads(now, state.frame, state.expected, self.tuning)
            moves += [(place, per / spreads[place]) for place in range(self.layout.entries) if place not in seen]
        for place, move in moves:
            moved = np.zeros(self.layout.size)
            moved[place] = move
            if self.intercept:
                moved[-1] = -state.frame.centres[place] * move
            start = start + np.outer(inverse @ moved, inverse @ moved)
        return replace(found, start=start)

    def rare(self, state: BoundedState) -> npt.NDArray[np.bool_]:
        """The entries of levels whose count the noise hides, and of numbers that the scatter shows nothing of: a few rows may
        have them.
        """
        found, numbers = np.zeros(self.layout.size, dtype=bool), list(self.layout.numbers)
        found[numbers] = self._unseen(state)[numbers]
        for category, few in zip(self.layout.categories, state.few, strict=False):
            found[category.part] = np.isin(category.others(state.frame), few)
        return found

    def needed_rows(self, noise: float) -> int:
        """About how many rows this form needs at this noise, fitted to what was measured; more where a quantile is away from
        the middle, as fewer residuals are near it.
        """
        return math.ceil(self.facts.needed(noise) / told_of_middle(self.family.residuals))

    def computed_by(self) -> str:
        """numpy, or what compiles its passes."""
        return kernels.passes_by(self.setting.size, cells_of_a_row=self._cells_of_a_row())

    def _cells_of_a_row(self) -> int:
        """How many are read of a row, in all passes together."""
        return len(self.columns) * len(stages_of(self.facts))

    def advice(self, noise: float) -> tuple[str, ...]:
        """From public facts: whether the declared N is too small for this noise, and whether the target may be yes or no."""
        needed = self.needed_rows(noise)
        few = rows_needed.advice(self.setting.size, needed)
        if few and needed > 1.2 * self.facts.needed(noise):
            few = (f"{few[0]} {FAR_OUT.format(in_full(self.family.residuals.quantile))}",)
        unasked = self.family.target == "number" and self.setting.range(self.columns[-1]) == (0.0, 1.0)
        return (*few, YES_OR_NO) if unasked else few

    def least_rows(self, noise: float) -> int:
        """With fewer a plan is refused."""
        return rows_needed.least_rows(self.needed_rows(noise), answer_anyway=self.few_rows == "answer")

    def accuracy(self, noise: float, confidence: float = 0.95) -> dict[str, float]:
        """Half-widths of intervals on made-up data, before anything is spent; as if all weights were the largest."""
        return foretold_intervals(replace(self, weight=None), noise, confidence)

    def accuracy_like(self, noise: float, confidence: float, rows: Array) -> dict[str, float]:
        """The same where data are like these public rows, codes of the setting's columns."""
        from dpkit_irls.foretold_like import intervals_like  # few plans have such rows

        return intervals_like(self, noise, confidence, rows)

    def rests_on(self) -> str:
        """What the foretold errors take for granted."""
        return rests_on(self)


def _tame(value: Array) -> Array:
    """No released number is larger than any sum of rows could be."""
    found = np.clip(np.asarray(value, dtype=np.float64), -_LARGEST, _LARGEST)
    np.copyto(found, 0.0, where=np.isnan(found))
    return found
