"""`cdp`: mean-concentrated DP as Dwork and Rothblum defined it. Means add, subgaussian constants add in squares."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dpkit.contracts.accountant import Accountant, Reading
from dpkit.errors import UnpricedLossError
from dpkit.numerics.rounding import exact_sum, format_up, round_up, sqrt_up
from dpkit.privacy.checks import one_of
from dpkit.privacy.claims import Citation
from dpkit.privacy.conversions import (
    PURE_TO_MEAN_CDP,
    PURE_TO_MEAN_CDP_USUAL,
    Conversion,
    mean_cdp_delta,
    mean_cdp_epsilon,
)
from dpkit.privacy.losses import Loss, MeanCDP, PureDP

_TAIL = Citation(key="DR16", locator="section 3, the subgaussian tail of the privacy loss")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanState:
    """The exact sums of mu and of tau^2."""

    mu: Fraction
    tau_squared: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanCDPAccountant(Accountant[MeanState]):
    """Mean-concentrated DP (DR16). `constants`: the usual mean e(e^e - 1)/2 of its Theorem 3.5, or the tight e tanh(e/2).

    The usual one is the default, because this accountant is here to say what that theorem says; zcdp and rdp are
    tighter. A budget is met by solving the theorem's own equation, never its Taylor expansion.
    """

    constants: Literal["usual", "tight"] = "usual"

    def __post_init__(self) -> None:
        one_of(self.constants, ("usual", "tight"), field="constants", where="MeanCDPAccountant")

    @property
    def name(self) -> str:
        """`cdp`."""
        return "cdp"

    @property
    def native(self) -> type[Loss]:
        """Mean-concentrated DP."""
        return MeanCDP

    @property
    def conversions(self) -> Mapping[type[Loss], Conversion]:
        """Pure losses."""
        return {PureDP: PURE_TO_MEAN_CDP if self.constants == "tight" else PURE_TO_MEAN_CDP_USUAL}

    def refusal(self, loss: Loss) -> str:
        """Mean-concentrated DP says more than zCDP or an (epsilon, delta) loss can."""
        return (
            f"a {type(loss).__name__} loss bounds neither the mean nor the spread of the privacy loss. Use zcdp, rdp or best."
        )

    def zero(self) -> MeanState:
        """Nothing spent."""
        return MeanState(mu=Fraction(0), tau_squared=Fraction(0))

    def state_of(self, loss: Loss) -> MeanState:
        """Mean and square of tau, exactly."""
        if not isinstance(loss, MeanCDP):
            raise UnpricedLossError(loss=loss, accountant=self.name, reason=self.refusal(loss))
        return MeanState(mu=Fraction(loss.mu), tau_squared=Fraction(loss.tau) ** 2)

    def combine(self, *states: MeanState) -> MeanState:
        """Mu adds, tau adds in squares (DR16, Theorem 3.4)."""
        return MeanState(
            mu=exact_sum((state.mu, 1) for state in states),
            tau_squared=exact_sum((state.tau_squared, 1) for state in states),
        )

    def repeat(self, state: MeanState, times: int) -> MeanState:
        """Products."""
        return MeanState(mu=state.mu * times, tau_squared=state.tau_squared * times)

    def join(self, *states: MeanState) -> MeanState:
        """The larger of each."""
        return MeanState(
            mu=max((state.mu for state in states), default=Fraction(0)),
            tau_squared=max((state.tau_squared for state in states), default=Fraction(0)),
        )

    def best(self, *states: MeanState) -> MeanState:
        """The smaller tau first: it dominates the reading."""
        return min(states, key=lambda state: (state.tau_squared, state.mu))

    def reading(self, state: MeanState, *, delta: float) -> Reading:
        """mu + tau sqrt(2 ln(1/delta))."""
        loss = self.total(state)
        epsilon = math.inf if loss is None else mean_cdp_epsilon(loss, delta=delta)
        note = "" if loss is None else f"mean {format_up(loss.mu)}, tau {format_up(loss.tau)}"
        return Reading(epsilon=epsilon, because=_TAIL, note=note)

    def delta(self, state: MeanState, *, epsilon: float) -> float:
        """The tail at epsilon."""
        loss = self.total(state)
        return 1.0 if loss is None else mean_cdp_delta(loss, epsilon=epsilon)

    def weight(self, state: MeanState, total: MeanState, *, delta: float) -> Fraction:
        """Tau^2, which dominates the reading; the mean where there is no spread."""
        return state.tau_squared if total.tau_squared else state.mu

    def total(self, state: MeanState) -> MeanCDP | None:
        """Mean and tau, rounded up."""
        mu, tau = round_up(state.mu), sqrt_up(state.tau_squared)
        return None if math.isinf(mu) or math.isinf(tau) else MeanCDP(mu=mu, tau=tau)
