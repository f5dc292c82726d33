"""Private robust regression for dpkit: the paper as published, what holds of it, and what beats it."""

from dpkit_irls.plugin import dpkit_algorithms as dpkit_algorithms
from dpkit_irls.plugin import dpkit_loss_rules as dpkit_loss_rules
from dpkit_irls.plugin import dpkit_mechanisms as dpkit_mechanisms
from dpkit_irls.plugin import dpkit_queries as dpkit_queries
from dpkit_irls.plugin import dpkit_zoo as dpkit_zoo


def __getattr__(name: str) -> object:
    """The estimator, its warning and the check of what a fit estimates, loaded when they are first used."""
    if name == "estimand_of":
        from dpkit_irls.bounded.estimand import estimand_of

        return estimand_of
    if name == "class_estimand_of":
        from dpkit_irls.bounded.class_estimand import class_estimand_of

        return class_estimand_of
    if name == "PrivateRobustRegressor":
        from dpkit_irls.estimator.estimator import PrivateRobustRegressor

        return PrivateRobustRegressor
    if name == "PrivateLogisticRegression":
        from dpkit_irls.estimator.logistic_regression import PrivateLogisticRegression

        return PrivateLogisticRegression
    if name in ("PrivatePoissonRegressor", "PrivateQuantileRegressor"):
        from dpkit_irls.estimator import regressors

        return getattr(regressors, name)
    if name == "SpendsAgainWarning":
        from dpkit_irls.estimator.spending_again import SpendsAgainWarning

        return SpendsAgainWarning
    raise AttributeError(f"module 'dpkit_irls' has no attribute {name!r}")
