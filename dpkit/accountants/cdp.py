"""`cdp`: mean-concentrated DP as Dwork and Rothblum defined it. Means add, subgaussian constants add in squares."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Literal

from dpkit.accountants.sum_accountant import SumAccountant
from dpkit.contracts.accountant import Reading
from dpkit.numerics.rounding import format_up, round_up, sqrt_up
from dpkit.privacy.checks import checked, one_of
from dpkit.privacy.claims import Citation, Conversion
from dpkit.privacy.conversions import arrows_to, mean_cdp_delta, mean_cdp_epsilon
from dpkit.privacy.losses import Loss, MeanCDP
from dpkit.values import dataclass

_TAIL = Citation(key="DR16", locator="section 3, the subgaussian tail of the privacy loss")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanState:
    """The exact sums of mu and of tau^2 (DR16, Theorem 3.4)."""

    mu: Fraction
    tau_squared: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
@checked(constants=partial(one_of, options=("usual", "tight")))
class MeanCDPAccountant(SumAccountant[MeanState]):
    """Mean-concentrated DP (DR16). `constants`: the usual mean e(e^e - 1)/2 of its Theorem 3.5, or the tight e tanh(e/2).

    The usual one is the default, because this accountant is here to say what that theorem says; zcdp and rdp are
    tighter. A budget is met by solving the theorem's own equation, never its Taylor expansion.
    """

    name: ClassVar[str] = "cdp"
    native: ClassVar[type[Loss]] = MeanCDP
    state: ClassVar[Any] = MeanState
    refuses: ClassVar[str] = "a {} loss bounds neither the mean nor the spread of the privacy loss. Use zcdp, rdp or best."

    constants: Literal["usual", "tight"] = "usual"

    @property
    def conversions(self) -> Mapping[type[Loss], Conversion]:
        """Pure losses."""
        return arrows_to(MeanCDP, usual=self.constants == "usual")

    def state_of(self, loss: Loss) -> MeanState:
        """Mean and square of tau, exactly."""
        loss = self.native_loss(loss, MeanCDP)
        return MeanState(mu=Fraction(loss.mu), tau_squared=Fraction(loss.tau) ** 2)

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
