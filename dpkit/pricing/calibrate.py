"""Calibration: the smallest noise scale within a budget, on the safe side."""

from __future__ import annotations

from collections.abc import Callable

from dpkit.contracts.guarantee import Guarantee
from dpkit.errors import BudgetUnreachableError, InvalidValueError
from dpkit.numerics.bracketing import first_true
from dpkit.privacy.losses import Loss

RELATIVE = 1e-10
"""How close to the optimum a calibrated scale is."""


def smallest_scale(guarantee_of_scale: Callable[[float], Guarantee], budget: Loss, *, accountant: str) -> float:
    """The smallest scale whose guarantee keeps within the budget.

    Promise: the scale returned was itself seen to keep within the budget, and a scale smaller by `RELATIVE` was seen not
    to. Assumes that the loss falls as the scale grows.
    """
    if not isinstance(budget, Loss):
        allowed = "a privacy loss, such as ApproxDP(epsilon=1.0, delta=1e-6)"
        raise InvalidValueError(field="budget", found=budget, allowed=allowed, where="calibrate")
    seen_within = False

    def holds(scale: float) -> bool:
        nonlocal seen_within
        try:
            within = guarantee_of_scale(scale).within(budget)
        except OverflowError:  # LossOverflowError is one: too little noise to be described
            return False
        except InvalidValueError:
            # Below a scale that works, a ratio too large to be a number is simply too little noise.
            if not seen_within:
                raise
            return False
        seen_within = seen_within or within
        return within

    bracket = first_true(holds, relative=RELATIVE)
    if bracket is None:
        reason = "however large the scale, the loss stays above it. Is delta too small, or does the loss not depend on it?"
        raise BudgetUnreachableError(budget=budget, accountant=accountant, reason=reason)
    below, scale = bracket
    if below == 0.0:
        reason = "every scale keeps within it, so there is no smallest one. Does the event use the scale?"
        raise BudgetUnreachableError(budget=budget, accountant=accountant, reason=reason)
    return scale
