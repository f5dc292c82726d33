"""Private robust regression for dpkit: the paper as published, what holds of it, and what beats it."""

from dpkit_irls.plugin import dpkit_algorithms as dpkit_algorithms
from dpkit_irls.plugin import dpkit_loss_rules as dpkit_loss_rules
from dpkit_irls.plugin import dpkit_mechanisms as dpkit_mechanisms
from dpkit_irls.plugin import dpkit_queries as dpkit_queries
from dpkit_irls.plugin import dpkit_zoo as dpkit_zoo

_HOME_OF = {
    "PrivateLogisticRegression": "dpkit_irls.estimator.logistic_regression",
    "PrivatePoissonRegressor": "dpkit_irls.estimator.regressors",
    "PrivateQuantileRegressor": "dpkit_irls.estimator.regressors",
    "PrivateRobustRegressor": "dpkit_irls.estimator.estimator",
    "LearnedFromRowsWarning": "dpkit_irls.estimator.spending_again",
    "SpendsAgainWarning": "dpkit_irls.estimator.spending_again",
    "class_estimand_of": "dpkit_irls.bounded.class_estimand",
    "estimand_of": "dpkit_irls.bounded.estimand",
}
"""The estimators, their warning and the checks of what a fit estimates, which are loaded when they are first used."""

__all__ = sorted(_HOME_OF)  # noqa: PLE0605 - computed from the one table


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dpkit_irls' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME_OF[name]), name)
