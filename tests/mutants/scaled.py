"""The base of wrong mechanisms: Laplace noise of one scale with a rule of its own. A mutant overrides one method."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import dpkit
from dpkit.mechanisms import mechanism_base
from dpkit.numerics.noise.exact_rounding import LAPLACE
from dpkit.privacy.neighbours import EITHER

SCALE = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6, examples=(1.0, 0.3))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledEvent(dpkit.Event):
    ratio: float


RULES = (
    dpkit.LossRule(
        name="scaled-pure",
        event=ScaledEvent,
        loss=dpkit.PureDP,
        neighbours=EITHER,
        because=dpkit.Citation(key="DMNS06", locator="Proposition 1"),
        bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
    ),
)


@dataclass(frozen=True, kw_only=True)
class Scaled:
    scale: float
    rules: ClassVar[tuple[dpkit.LossRule, ...]] = RULES

    def event(self, at):
        return ScaledEvent(ratio=mechanism_base.ratio_up(at.value, self.scale))

    def release(self, value, rng):
        return dpkit.exactly_rounded(value, scale=self.scale, law=LAPLACE, rng=rng)

    def release_many(self, value, n, rng):
        return self.release(mechanism_base.repeated(value, n), rng)

    def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
        return mechanism_base.claims_of(self.event(at), self.rules, neighbours=neighbours)


class Choice(Scaled):
    """The place of the largest score, each with Gumbel noise of the scale."""

    def release(self, value, rng):
        return self.release_many(value, 1, rng)[0]

    def release_many(self, value, n, rng):
        scores = np.asarray(value, dtype=np.float64)
        if scores.ndim != 1 or not np.isfinite(scores).all():
            raise ValueError("the scores must be finite")
        return np.argmax(scores / self.scale + rng.gumbel(size=(n, scores.size)), axis=1)


def laplace_log_density(mechanism, output, value):
    """That of Laplace noise of the mechanism's scale, summed over the entries of the value."""
    center = np.asarray(value, dtype=np.float64)
    terms = -np.abs(np.asarray(output) - center) / mechanism.scale - np.log(2.0 * mechanism.scale)
    return mechanism_base.summed_over_value(terms, center.ndim)


def hooks_of(kind, *, rules=None, parameters=(SCALE,), metrics=("l1",), **fields):
    """The two hooks of a plugin that adds this mechanism, with the rules that it claims unless others are given."""

    @dpkit.hookimpl
    def dpkit_mechanisms():
        factory = dpkit.MechanismFactory(
            name="scaled-noise", doc="Noise.", make=kind, parameters=parameters, metrics=metrics, **fields
        )
        return [factory]

    @dpkit.hookimpl
    def dpkit_loss_rules():
        return kind.rules if rules is None else rules

    return dpkit_mechanisms, dpkit_loss_rules
