"""Releases of eeprivacy, multi-freq-ldpy and diffprivlib as targets of `dpkit audit`: see docs/found-in-libraries.md.

Each library is imported where it is asked for, so that one can be audited without the others.
"""

import numpy as np


def clamped_sum(rows):
    """eeprivacy's PrivateClampedSum of values in [10, 11]; epsilon is 1."""
    from eeprivacy.operations import PrivateClampedSum

    return PrivateClampedSum(lower_bound=10, upper_bound=11).execute(values=rows, epsilon=1.0)


def clamped_mean(rows):
    """eeprivacy's PrivateClampedMean of values that should be in [0, 1]; epsilon is 1."""
    from eeprivacy.operations import PrivateClampedMean

    return float(PrivateClampedMean(lower_bound=0, upper_bound=1).execute(values=rows, epsilon=1.0))


def vector_mean(rows):
    """eeprivacy's PrivateVectorClampedMeanLaplace of two vectors in [0, 1]; epsilon is 1."""
    from eeprivacy.operations import PrivateVectorClampedMeanLaplace

    return PrivateVectorClampedMeanLaplace(lower_bound=0, upper_bound=1, k=2, N=2).execute(vectors=rows, epsilon=1.0, delta=0.0)


def subset(category):
    """multi-freq-ldpy's subset selection among seven categories; epsilon is 1."""
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client

    return SS_Client(category, 7, 1.0)


def quantile(rows):
    """diffprivlib's quantile of values in [0, 1], in which a missing value is None; epsilon is 1."""
    from diffprivlib import tools

    return tools.quantile(np.array(rows, dtype=float), 0.25, bounds=(0, 1), epsilon=1.0)
