"""Form `moments`: the paper's moments, released soundly. One joint release an iteration, eigenvalue floor, averaged moments."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from dpkit import Event, Laplace, Mechanism, Query, Repeat, Setting, SymmetricGaussian, planned_event
from dpkit.authoring import dataclass
from dpkit_irls import rows_needed
from dpkit_irls.fit import Array, Fit, solved
from dpkit_irls.foretold_errors import NOISE_ALONE, foretold_errors
from dpkit_irls.moments.moment_errors import standard_errors
from dpkit_irls.moments.moment_query import FREEDOM, Scaling, Weights, joint_moments, joint_triangle, weighted_least_squares
from dpkit_irls.wishart.wishart import Wishart

if TYPE_CHECKING:
    from dpkit import Curator

Noise = Literal["gaussian", "wishart", "laplace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentState:
    """The sum of the released matrices so far, and the coefficients that follow from it."""

    noise: float
    theta: tuple[float, ...]
    total: tuple[tuple[float, ...], ...]
    path: tuple[tuple[float, ...], ...] = ()
    steps: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentIRLS:
    """J joint releases of (X'SX, X'Sy, y'Sy). Any accountant prices Gaussian noise (GOE); with Laplace it is pure."""

    setting: Setting
    scaling: Scaling
    iterations: int
    weight_cap: float
    p: float
    noise_kind: Noise
    average: Literal["moments", "iterates", "none"] = "moments"
    extra: int = FREEDOM
    balance: float = 1.0
    floor: float = 1.0
    start: tuple[float, ...] = ()
    few_rows: Literal["refuse", "answer"] = "refuse"

    @property
    def _size(self) -> int:
        return self.scaling.width + 1

    def _mechanism(self, noise: float) -> Mechanism:
        match self.noise_kind:
            case "laplace":
                return Laplace(scale=noise)
            case "wishart":
                return Wishart(extra=self.extra, scale=noise / math.sqrt(self.extra))
        return SymmetricGaussian(scale=noise)

    def _pair(self, noise: float, theta: tuple[float, ...]) -> tuple[Query, Mechanism]:
        weights = Weights(theta=theta, cap=self.weight_cap, p=self.p)
        make = joint_triangle if self.noise_kind == "laplace" else joint_moments
        return make(self.scaling, weights, balance=self.balance), self._mechanism(noise)

    def plan(self, noise: float) -> Event:
        """J equal releases."""
        query, mechanism = self._pair(noise, (0.0,) * self.scaling.width)
        return Repeat(event=planned_event(self.setting, query, mechanism), times=self.iterations)

    def init(self, noise: float) -> MomentState:
        """From theta = 0, or from public values."""
        theta = self.scaling.theta_of(self.start)
        return MomentState(noise=noise, theta=theta, total=tuple((0.0,) * self._size for _ in range(self._size)))

    def step(self, state: MomentState, curator: Curator) -> MomentState:
        """One release; what was released before counts on, unless averaging is by iterates."""
        released = np.asarray(curator.release(*self._pair(state.noise, state.theta)))
        matrix, mechanism = self._matrix(released), self._mechanism(state.noise)
        if isinstance(mechanism, Wishart):
            matrix = matrix - mechanism.mean(self._size) * np.eye(self._size)
        total = matrix + (np.array(state.total) if self.average == "moments" else 0.0)
        count = state.steps + 1 if self.average == "moments" else 1
        theta = tuple(map(float, self._solved(total, math.sqrt(count) * self._spread(state.noise), np.array(state.theta))))
        return replace(
            state, theta=theta, total=tuple(map(tuple, total.tolist())), path=(*state.path, theta), steps=state.steps + 1
        )

    def _matrix(self, released: Array) -> Array:
        if self.noise_kind != "laplace":
            return released
        matrix = np.zeros((self._size, self._size))
        matrix[np.triu_indices(self._size)] = released
        return np.asarray(matrix + np.triu(matrix, k=1).T)

    def _spread(self, noise: float) -> float:
        """About the largest eigenvalue of the noise of one release."""
        entry = {"laplace": noise * math.sqrt(2.0), "gaussian": noise / math.sqrt(2.0)}
        wishart = noise  # sd of an off-diagonal: scale * sqrt(k)
        return entry.get(self.noise_kind, wishart) * 2.0 * math.sqrt(self._size)

    def needed_rows(self, noise: float) -> int:
        """About as many as make the moments stand out from what averaging leaves of the noise; fitted at d = 10."""
        averaged = {"moments": self.iterations, "iterates": max(1.0, self.iterations / 2), "none": 1}[self.average]
        return math.ceil(42.0 * self.scaling.width * self._spread(noise) / math.sqrt(averaged))

    def least_rows(self, noise: float) -> int:
        """With fewer a plan is refused."""
        return rows_needed.least_rows(self.needed_rows(noise), answer_anyway=self.few_rows == "answer")

    def advice(self, noise: float) -> tuple[str, ...]:
        """From public facts: whether the declared N is too small for this noise."""
        return rows_needed.advice(self.setting.size, self.needed_rows(noise))

    def accuracy(self, noise: float, confidence: float = 0.95) -> dict[str, float]:
        """Errors of the coefficients on made-up data, before anything is spent."""
        return foretold_errors(self, noise, confidence, columns=self.scaling.columns)

    def rests_on(self) -> str:
        """What the foretold errors take for granted."""
        return NOISE_ALONE

    def accuracy_like(self, noise: float, confidence: float, rows: Array) -> dict[str, float]:
        """The same where data are like these public rows, codes of the setting's columns; with the error of sampling."""
        from dpkit_irls.foretold_like import errors_like  # few plans have such rows

        return errors_like(self, noise, confidence, rows)

    def _errors(self, state: MomentState, theta: Array) -> Array:
        """Standard errors in scaled units.

        None where N is unknown. The noise of row i of B theta - A has the variance of a sum over its entries.
        """
        if self.setting.size is None or not state.steps:
            return np.zeros(0)
        count = state.steps if self.average == "moments" else 1
        diagonal, off = {"gaussian": (1.0, 0.5), "laplace": (2.0, 2.0), "wishart": (2.0, 1.0)}[self.noise_kind]
        total, noise = np.array(state.total), count * state.noise**2
        square = theta * theta
        moved = noise * (off * (float(np.sum(square)) - square + 1.0 / self.balance**2) + diagonal * square)
        with_target = np.append(theta, -1.0 / self.balance)
        return standard_errors(
            self._floored(total, math.sqrt(count) * self._spread(state.noise)) / count,
            float(with_target @ total @ with_target) / count,
            moved / count**2,
            rows=self.setting.size,
            cap=self.weight_cap,
            p=self.p,
        )

    def _floored(self, total: Array, spread: float) -> Array:
        width = self.scaling.width
        values, vectors = np.linalg.eigh(total[:width, :width])
        return np.asarray((vectors * np.maximum(values, max(self.floor * spread, 1e-12))) @ vectors.T)

    def _solved(self, total: Array, spread: float, fallback: Array) -> Array:
        width = self.scaling.width
        found = solved(self._floored(total, spread), total[:width, width] / self.balance, fallback)
        length = float(np.linalg.norm(found))
        most = 1e6
        return found if length <= most else found * (most / length)

    def finished(self, state: MomentState) -> bool:
        """After J iterations."""
        return state.steps >= self.iterations

    def result(self, state: MomentState) -> Fit:
        """The last solution, or the average of the later half of the iterates."""
        theta = np.array(state.theta)
        if self.average == "iterates" and state.path:
            theta = np.mean(np.array(state.path)[len(state.path) // 2 :], axis=0)
        coefficients, intercept = self.scaling.coefficients(theta)
        errors = self._errors(state, theta)
        slopes, constant = self.scaling.coefficients(errors) if errors.size else (errors, 0.0)
        return Fit(
            form="moments",
            features=self.scaling.names,
            coefficients=tuple(map(float, coefficients)),
            intercept=intercept,
            iterations=state.steps,
            standard_errors=tuple(map(float, slopes)),
            intercept_error=constant if errors.size and self.scaling.intercept else None,
            notes=self.advice(state.noise),
            estimand=weighted_least_squares(self.weight_cap, self.p),
        )
