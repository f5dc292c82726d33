"""Form `moments`: the paper's moments, released soundly. One joint release an iteration, eigenvalue floor, averaged moments."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dpkit.core.algorithm import Curator
from dpkit.core.events import Event, Repeat
from dpkit.core.mechanism import Mechanism
from dpkit.core.query import Query
from dpkit.core.setting import Setting
from dpkit.mechanisms.laplace import Laplace
from dpkit.mechanisms.symmetric_gaussian import SymmetricGaussian
from dpkit.running.curator import planned_event
from dpkit_irls.fit import Array, Fit, solved
from dpkit_irls.moment_query import Scaling, Weights, joint_moments, joint_triangle
from dpkit_irls.wishart import Wishart

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
    extra: int = 320
    balance: float = 1.0
    floor: float = 1.0
    start: tuple[float, ...] = ()

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
        theta = self.start or (0.0,) * self.scaling.width
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

    def _solved(self, total: Array, spread: float, fallback: Array) -> Array:
        width = self.scaling.width
        values, vectors = np.linalg.eigh(total[:width, :width])
        floored = (vectors * np.maximum(values, max(self.floor * spread, 1e-12))) @ vectors.T
        found = solved(floored, total[:width, width] / self.balance, fallback)
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
        return Fit(
            form="moments",
            features=self.scaling.names,
            coefficients=tuple(map(float, coefficients)),
            intercept=intercept,
            iterations=state.steps,
        )
