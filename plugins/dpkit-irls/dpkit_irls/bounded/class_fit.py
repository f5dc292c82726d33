"""What a regression of classes gives back: coefficients of every class against the first, from released values only."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

import numpy as np

from dpkit.authoring import dataclass
from dpkit_irls.bounded.class_filter import class_shapes
from dpkit_irls.bounded.class_step import contrasts_of
from dpkit_irls.bounded.covariance import covariances
from dpkit_irls.bounded.notes_of_fit import estimand_sentence, notes_of
from dpkit_irls.bounded.priors import coefficient_precisions, less_sure, moderated, of_positions
from dpkit_irls.bounded.scaled_rows import Frame
from dpkit_irls.bounded.shapes import Shape, by_block
from dpkit_irls.bounded.stages import class_surroundings
from dpkit_irls.bounded.state import BoundedState
from dpkit_irls.fit import Array

if TYPE_CHECKING:
    from dpkit_irls.bounded.bounded_irls import BoundedIRLS

Table = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassFit:
    """Log-odds of every class against the first: a row a class but the first, in the order of `classes`.

    Standard errors are as in `Fit`. `frame` and `ridge` are what the estimand is made of, for `class_estimand_of`.
    """

    form: str
    classes: tuple[str, ...]
    features: tuple[str, ...]
    coefficients: Table
    intercepts: tuple[float, ...]
    iterations: int
    standard_errors: Table = ()
    intercept_errors: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()
    estimand: str = ""
    ridge: float = 0.0
    frame: Frame | None = field(default=None, repr=False, compare=False)

    def probabilities(self, rows: Array) -> Array:
        """Of the classes, a column each, for rows of entries: post-processing."""
        found = np.asarray(rows, dtype=np.float64) @ np.array(self.coefficients).T + np.array(self.intercepts)
        found = np.column_stack([np.zeros(len(found)), np.clip(found, -1e6, 1e6)])
        shares = np.exp(found - np.max(found, axis=1, keepdims=True))
        return np.asarray(shares / np.sum(shares, axis=1, keepdims=True))

    def as_json(self) -> dict[str, object]:
        """Coefficients and errors by `class: name`."""
        return {
            "form": self.form,
            "classes": list(self.classes),
            "coefficients": self._named(self.coefficients, self.intercepts),
            "standard_errors": self._named(self.standard_errors, self.intercept_errors),
            "iterations": self.iterations,
            "ridge": self.ridge,
            "notes": list(self.notes),
            "estimand": self.estimand,
        }

    def _named(self, table: Table, last: tuple[float, ...]) -> dict[str, float]:
        found: dict[str, float] = {}
        for place, (name, row) in enumerate(zip(self.classes[1:], table, strict=False)):
            found |= {f"{name}: {feature}": value for feature, value in zip(self.features, row, strict=True)}
            if last:
                found[f"{name}: intercept"] = last[place]
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassKnown:
    """Coefficients and errors, a row a class but the first, the constant last; and which the noise hides."""

    coefficients: Array
    errors: Array
    hidden: tuple[tuple[int, int], ...] = ()


def class_known(algorithm: BoundedIRLS, state: BoundedState, *, rows_over: float = 1.0) -> ClassKnown:
    """What a state says; errors as with a multiple of the rows."""
    facts, layout, now, expected = algorithm.facts, algorithm.layout, state.filter, state.expected
    others = facts.classes - 1
    if now is None or expected is None:
        return ClassKnown(coefficients=np.zeros((others, layout.size)), errors=np.zeros((0, layout.size)))
    shapes = class_shapes(now, class_surroundings(facts, state))
    contrasts = contrasts_of(facts.classes)
    to_columns = np.kron(contrasts[1:] - contrasts[0], layout.to_columns(state.frame))
    believed = coefficient_precisions(layout, state.frame, state.widths, state.spread, facts.tuning)
    start = less_sure(now.prior[: layout.size, : layout.size], state.frame, believed, facts.tuning)
    found = covariances(
        now,
        Shape(mean=shapes.middle, spread=np.zeros_like(shapes.middle)),
        shapes.curvature,
        believed=by_block(start, others),
        expected=replace(expected, counts=np.tile(expected.counts, others)),
        rare=np.tile(algorithm.rare(state), others),
        plenty=state.plenty,
        per_need=state.plenty,
        rows_of_a_person=facts.rows_of_a_person(),
        constant=False,
        tuning=facts.tuning,
    )
    position, found = moderated(now.position, found, by_block(of_positions(state.frame, believed), others))
    shape = (others, layout.size)
    errors = np.clip(np.nan_to_num(found.errors(to_columns, rows_over=rows_over), nan=1e200), 0.0, 1e200)
    left = found.left(to_columns).reshape(shape)
    return ClassKnown(
        coefficients=np.nan_to_num(np.clip(to_columns @ position, -1e200, 1e200), nan=0.0).reshape(shape),
        errors=errors.reshape(shape),
        hidden=tuple((int(one), int(place)) for one, place in np.argwhere(left > facts.tuning.hidden)),
    )


def class_result(algorithm: BoundedIRLS, state: BoundedState) -> ClassFit:
    """Coefficients in the units of the columns."""
    now, known, entries = state.filter, class_known(algorithm, state), len(algorithm.entries)
    classes = algorithm.setting.levels(algorithm.columns[-1])
    names = [*algorithm.entries, "intercept"]
    hidden = [f"{classes[one + 1]}: {names[place]}" for one, place in known.hidden]
    constants = known.coefficients[:, -1] if algorithm.intercept else np.zeros(len(classes) - 1)
    return ClassFit(
        form=algorithm.family.name,
        classes=classes,
        features=algorithm.entries,
        coefficients=_table(known.coefficients[:, :entries]),
        intercepts=tuple(map(float, constants)),
        iterations=0 if now is None else now.turn,
        standard_errors=_table(known.errors[:, :entries]),
        intercept_errors=tuple(map(float, known.errors[:, -1])) if algorithm.intercept else (),
        notes=(*algorithm.advice(state.noise), *notes_of(algorithm, state, hidden, {}, slow=False)),
        estimand="" if now is None else estimand_sentence(algorithm, state),
        ridge=algorithm.ridge,
        frame=None if now is None else state.frame,
    )


def _table(values: Array) -> Table:
    return tuple(tuple(map(float, row)) for row in values)
