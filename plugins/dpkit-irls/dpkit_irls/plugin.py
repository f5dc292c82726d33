"""What the plugin registers: mechanisms, loss rules, queries with their sensitivities, the algorithms, entries of the zoo."""

from __future__ import annotations

from dpkit import AlgorithmFactory, LossRule, MechanismFactory, Parameter, QueryFactory, ZooEntry, hookimpl
from dpkit_irls import queries, regressions
from dpkit_irls.paper import published_noise
from dpkit_irls.wishart import wishart, zoo

_SCALE = Parameter(
    name="scale",
    kind="number",
    doc="The variance of the normal variables that the noise is made of.",
    minimum=1e-12,
    maximum=1e12,
    examples=(1.0, 0.3),
)
_FREEDOM = Parameter(
    name="extra",
    kind="integer",
    doc="Degrees of freedom beyond the number of rows; a small delta needs many.",
    minimum=1,
    maximum=10_000_000,
    examples=(60, 200),
)
_FAILURE = Parameter(
    name="failure",
    kind="number",
    doc="The failure probability of the classical formula.",
    minimum=1e-300,
    maximum=0.5,
    examples=(1e-6,),
)


@hookimpl
def dpkit_mechanisms() -> list[MechanismFactory]:
    """Wishart noise with its exact price, and the noises of the paper as published."""
    return [
        MechanismFactory(
            name="wishart",
            doc="Wishart noise on a second-moment matrix, priced exactly; never pure.",
            make=wishart.Wishart,
            parameters=(_FREEDOM, _SCALE),
            metrics=("rank_one", "swap"),
            values="symmetric",
            shapes=((1, 1), (3, 3)),
        ),
        MechanismFactory(
            name="wishart-as-published",
            doc="Wishart noise with d+1 degrees of freedom. Its claim is refuted.",
            make=published_noise.WishartAsPublished,
            parameters=(_SCALE,),
            metrics=("rank_one", "trace"),
            values="symmetric",
            shapes=((1, 1), (3, 3)),
        ),
        MechanismFactory(
            name="gaussian-as-published",
            doc="The classical Gaussian noise, taken for pure. Its claim is refuted.",
            make=published_noise.GaussianAsPublished,
            parameters=(_SCALE, _FAILURE),
            metrics=("l2",),
        ),
    ]


@hookimpl
def dpkit_loss_rules() -> list[LossRule]:
    """What they cost; the published rules are refuted."""
    return [*wishart.RULES, *published_noise.RULES]


@hookimpl
def dpkit_queries() -> list[QueryFactory]:
    """The sums that the algorithms release."""
    return list(queries.FACTORIES)


@hookimpl
def dpkit_algorithms() -> list[AlgorithmFactory]:
    """`irls`, `irls-moments` and `irls-paper`."""
    return list(regressions.FACTORIES)


@hookimpl
def dpkit_zoo() -> list[ZooEntry]:
    """Wishart noise as published, which must fall, and repaired, which must stand."""
    return list(zoo.entries())
