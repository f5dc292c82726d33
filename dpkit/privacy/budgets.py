"""Whether one loss implies another: what `within` asks of a budget that is not (epsilon, delta)."""

from __future__ import annotations

import numpy as np

from dpkit.privacy.conversions import CONVERSIONS
from dpkit.privacy.losses import GDP, RDP, ZCDP, ApproxDP, Loss, MeanCDP, RenyiCurve


def keeps_within(loss: Loss, budget: Loss) -> bool | None:
    """Whether the loss, read in the budget's notion, is within the budget; None where no theorem gives such a reading.

    The tightest arrow decides. A Rényi budget is met order by order.
    """
    if isinstance(budget, RDP):
        return _within_renyi(loss, budget)
    readings = [loss] if isinstance(loss, type(budget)) else []
    readings += [arrow.apply(loss) for arrow in CONVERSIONS if isinstance(loss, arrow.source) and arrow.target is type(budget)]
    if not readings:
        return None
    return any(_fields_within(reading, budget) for reading in readings)


def _fields_within(loss: Loss, budget: Loss) -> bool:
    if isinstance(loss, ZCDP) and isinstance(budget, ZCDP):
        return loss.rho <= budget.rho and loss.delta <= budget.delta
    if isinstance(loss, GDP) and isinstance(budget, GDP):
        return loss.mu <= budget.mu
    if isinstance(loss, MeanCDP) and isinstance(budget, MeanCDP):
        return loss.mu <= budget.mu and loss.tau <= budget.tau
    return loss == budget


def _within_renyi(loss: Loss, budget: RDP) -> bool | None:
    slack = loss.delta if isinstance(loss, RDP | ZCDP | ApproxDP) else 0.0
    curve = loss if isinstance(loss, RenyiCurve) else None
    for arrow in CONVERSIONS:
        if curve is None and isinstance(loss, arrow.source) and arrow.target is RenyiCurve:
            converted = arrow.apply(loss)
            curve = converted if isinstance(converted, RenyiCurve) else None
    if curve is None:
        return None
    values = curve.at(np.array(budget.orders))
    return slack <= budget.delta and bool(np.all(values <= np.array(budget.epsilons)))
