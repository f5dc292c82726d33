"""The noise of a statistic: a mechanism by name, whose standard deviation is a multiple of the sensitivity."""

from __future__ import annotations

import math

import dpkit

CONTINUOUS = ("gaussian", "laplace")
FOR_COUNTS = (*CONTINUOUS, "discrete-gaussian", "discrete-laplace")

_METRIC = {"gaussian": "l2", "discrete-gaussian": "l2", "laplace": "l1", "discrete-laplace": "l1"}
_FREE = 2.0**-29
"""The scale where nobody can move the total: such a release is free, and this little noise leaves it as good as exact."""

Noise = dpkit.Gaussian | dpkit.Laplace | dpkit.DiscreteGaussian | dpkit.DiscreteLaplace


def noise_for(setting: dpkit.Setting, query: dpkit.Query, name: str, multiplier: float) -> Noise:
    """The mechanism of this name with a standard deviation of `multiplier` times the query's sensitivity in this setting.

    The standard deviation of Laplace noise of scale b is b times the root of 2. For integer noise the scale is what counts: the
    deviation of small noise is smaller than that of its continuous kin.
    """
    (moved,) = [distance.value for distance in setting.distances(query) if distance.metric == _METRIC[name]]
    deviation = multiplier * moved if moved > 0.0 else _FREE
    match name:
        case "gaussian":
            return dpkit.Gaussian(scale=deviation)
        case "discrete-gaussian":
            return dpkit.DiscreteGaussian(scale=deviation)
        case "laplace":
            return dpkit.Laplace(scale=deviation / math.sqrt(2.0))
        case _:
            return dpkit.DiscreteLaplace(scale=max(deviation / math.sqrt(2.0), 2.0**-30))
