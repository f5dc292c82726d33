"""Form `paper`: private IRLS exactly as published. Its guarantee does not hold; it is here to be reproduced and refuted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np

from dpkit import Compose, Event, InvalidValueError, Laplace, Mechanism, Query, Repeat, Setting, planned_event
from dpkit.authoring import dataclass, sqrt_up
from dpkit_irls import rows_needed
from dpkit_irls.fit import Array, Fit, solved
from dpkit_irls.foretold_errors import NOISE_ALONE, foretold_errors
from dpkit_irls.moments.moment_query import Scaling, Weights, first_moment, second_moment, weighted_least_squares
from dpkit_irls.paper.published_noise import GaussianAsPublished, WishartAsPublished

if TYPE_CHECKING:
    from dpkit import Curator

Calibration = Literal["conventional", "advanced", "cdp"]
NOTE = "The guarantee of this form does not hold: {}. See docs/errata.md."


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperState:
    """Released moments only lead here."""

    noise: float
    theta: tuple[float, ...]
    steps: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperIRLS:
    """J times: A by Laplace or classical Gaussian noise, B by Wishart noise with d+1 degrees of freedom, theta = B^-1 A.

    The noise multiplier is 1/e', where the paper takes each of the 2J releases for e'-DP.
    """

    setting: Setting
    scaling: Scaling
    size: int
    iterations: int
    weight_cap: float
    p: float
    noise_on_first: Literal["laplace", "gaussian"]
    failure: float
    calibration: Calibration
    accepted: tuple[str, ...]
    start: tuple[float, ...] = ()
    few_rows: Literal["refuse", "answer"] = "refuse"

    def __post_init__(self) -> None:
        missing = [name for name in self.refuted_steps if name not in self.accepted]
        if missing:
            raise InvalidValueError(
                field="accept_refuted",
                found=self.accepted,
                allowed=f"a list that names {', '.join(self.refuted_steps)}",
                where="irls-paper",
                fix="The published guarantee is refuted (docs/errata.md). Run `irls`, or name every refuted step.",
            )

    @property
    def refuted_steps(self) -> tuple[str, ...]:
        """The steps of the paper's argument that are refuted and that this configuration rests on."""
        gaussian = ("gaussian",) if self.noise_on_first == "gaussian" else ()
        return ("wishart", *gaussian, *(("taylor",) if self.calibration == "cdp" else ()))

    @property
    def refuted_rules(self) -> tuple[str, ...]:
        """The loss rules that an accountant must accept by name to repeat the published price."""
        return ("wishart-as-published", *(("gaussian-as-published",) if self.noise_on_first == "gaussian" else ()))

    def published_noise(self, epsilon: float, delta: float = 1e-6) -> float:
        """The multiplier 1/e' that the paper would use."""
        return 1.0 / published_epsilon(self.calibration, epsilon, self.iterations, delta=delta)

    def _pairs(self, noise: float, theta: Sequence[float]) -> list[tuple[Query, Mechanism]]:
        weights = Weights(theta=tuple(theta), cap=self.weight_cap, p=self.p)
        on_first: Mechanism
        if self.noise_on_first == "laplace":
            on_first = Laplace(scale=noise * sqrt_up(Fraction(4 * self.scaling.width)))
        else:
            on_first = GaussianAsPublished(scale=2.0 * noise, failure=self.failure)
        on_second = WishartAsPublished(scale=noise / 2.0)
        return [(first_moment(self.scaling, weights), on_first), (second_moment(self.scaling, weights), on_second)]

    def plan(self, noise: float) -> Event:
        """2J releases."""
        pairs = self._pairs(noise, (0.0,) * self.scaling.width)
        once = Compose(events=tuple(planned_event(self.setting, query, mechanism) for query, mechanism in pairs))
        return Repeat(event=once, times=self.iterations)

    def init(self, noise: float) -> PaperState:
        """From theta = 0, or from public values."""
        return PaperState(noise=noise, theta=self.scaling.theta_of(self.start))

    def needed_rows(self, noise: float) -> int:
        """About as many as were measured at d = 10, with the usual growth in d."""
        return math.ceil(430.0 * math.pow(self.scaling.width, 1.5) * noise)

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

    def step(self, state: PaperState, curator: Curator) -> PaperState:
        """Both moments over N, then the solution."""
        first, second = curator.release_all(self._pairs(state.noise, state.theta))
        # the sums are over the weight cap; the cap and N cancel in the solution
        theta = solved(np.asarray(second) / self.size, np.asarray(first) / self.size, np.array(state.theta))
        return replace(state, theta=tuple(map(float, theta)), steps=state.steps + 1)

    def finished(self, state: PaperState) -> bool:
        """After J iterations."""
        return state.steps >= self.iterations

    def result(self, state: PaperState) -> Fit:
        """The last iterate, with what does not hold."""
        coefficients, intercept = self.scaling.coefficients(np.array(state.theta))
        return Fit(
            form="paper",
            features=self.scaling.names,
            coefficients=_floats(coefficients),
            intercept=intercept,
            iterations=state.steps,
            notes=(NOTE.format(", ".join(self.refuted_steps) + " refuted"),),
            estimand=weighted_least_squares(self.weight_cap, self.p),
        )


def _floats(values: Array) -> tuple[float, ...]:
    return tuple(map(float, values))


def published_epsilon(calibration: Calibration, epsilon: float, iterations: int, *, delta: float) -> float:
    """e' of each of the 2J releases, as published.

    `conventional`: epsilon / 2J. `advanced`: Theorem 3.20 of Dwork and Roth, solved. `cdp`: sqrt(epsilon / J), by the step that
    bounds e'(e^e' - 1) by e'^2 from the wrong side.
    """
    releases = 2 * iterations
    if calibration == "conventional":
        return epsilon / releases
    if calibration == "cdp":
        return math.sqrt(epsilon / iterations)

    def total(each: float) -> float:
        return math.sqrt(2.0 * releases * math.log(1.0 / delta)) * each + releases * each * math.expm1(each)

    low, high = 0.0, epsilon
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if total(middle) <= epsilon else (low, middle)
    return low
