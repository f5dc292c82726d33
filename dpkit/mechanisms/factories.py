"""The built-in mechanisms as factories: their names, declared parameters, values and metrics."""

from __future__ import annotations

import math

from dpkit.contracts.factories import MechanismFactory
from dpkit.contracts.parameters import Parameter
from dpkit.mechanisms.discrete import DiscreteGaussian, DiscreteLaplace
from dpkit.mechanisms.exponential import Exponential
from dpkit.mechanisms.gaussian import Gaussian
from dpkit.mechanisms.laplace import Laplace
from dpkit.mechanisms.randomized_response import RandomizedResponse
from dpkit.mechanisms.symmetric_gaussian import SymmetricGaussian


def _scale(doc: str, *, smallest: float = 2.0**-450, largest: float = 2.0**450) -> Parameter:
    return Parameter(name="scale", kind="number", doc=doc, minimum=smallest, maximum=largest, examples=(1.0, 0.3, 1e4))


FACTORIES: tuple[MechanismFactory, ...] = (
    MechanismFactory(
        name="laplace",
        doc="Laplace noise in every entry, exactly rounded.",
        make=Laplace,
        parameters=(_scale("The scale b of the noise, in the unit of the value."),),
        metrics=("l1",),
        deviation=math.sqrt(2.0),
    ),
    MechanismFactory(
        name="gaussian",
        doc="Gaussian noise in every entry, exactly rounded.",
        make=Gaussian,
        parameters=(_scale("The standard deviation of the noise, in the unit of the value."),),
        metrics=("l2", "l1"),
    ),
    MechanismFactory(
        name="symmetric-gaussian",
        doc="Gaussian noise on a symmetric matrix, exactly rounded.",
        make=SymmetricGaussian,
        parameters=(_scale("The standard deviation of the noise on the diagonal, in the unit of the value."),),
        metrics=("frobenius",),
        values="symmetric",
        shapes=((1, 1), (2, 2)),
    ),
    MechanismFactory(
        name="discrete-laplace",
        doc="Integer noise with geometric tails on integers.",
        make=DiscreteLaplace,
        parameters=(_scale("The scale of the noise.", smallest=1e-9, largest=1e12),),
        metrics=("l1",),
        values="integers",
        deviation=math.sqrt(2.0),  # the scale is what counts: the deviation of small integer noise is smaller
    ),
    MechanismFactory(
        name="discrete-gaussian",
        doc="Integer noise with Gaussian weights on integers.",
        make=DiscreteGaussian,
        parameters=(_scale("The parameter sigma of the noise.", smallest=1e-9, largest=1e12),),
        metrics=("l2", "l1"),
        values="integers",
    ),
    MechanismFactory(
        name="exponential",
        doc="A choice among candidates, by their scores.",
        make=Exponential,
        parameters=(
            _scale("Candidate i is chosen with probability proportional to exp(score_i / scale)."),
            Parameter(
                name="monotone",
                kind="boolean",
                doc="Whether a record that comes or goes moves all scores in one direction.",
                default=False,
                about_values=True,
            ),
        ),
        metrics=("linf", "l2", "l1"),
        values="scores",
        shapes=((2,), (4,)),
    ),
    MechanismFactory(
        name="randomized-response",
        doc="Each category answered truthfully at odds of e^epsilon to 1 against each other one.",
        make=RandomizedResponse,
        parameters=(
            Parameter(
                name="epsilon", kind="number", doc="The loss of one answer.", minimum=0.0, maximum=700.0, examples=(1.0, 0.1)
            ),
            Parameter(
                name="categories", kind="integer", doc="How many categories there are.", minimum=2, maximum=2**31, default=2
            ),
        ),
        metrics=("records",),
        values="categories",
    ),
)
