"""Releases of other libraries as targets of `dpkit audit`: see docs/found-in-libraries.md.

diffprivlib needs an older scikit-learn: `pip install dpkit diffprivlib "scikit-learn<1.6"` in an environment of its own.
"""

import diffprivlib
import numpy as np


def linear_regression(rows):
    """The coefficient of LinearRegression, by rows of (x, y) in [0, 1]."""
    table = np.array(rows)
    model = diffprivlib.models.LinearRegression(epsilon=1.0, bounds_X=(0, 1), bounds_y=(0, 1))
    return model.fit(table[:, :1], table[:, 1]).coef_


def naive_bayes(rows):
    """The means of GaussianNB, by rows of (x, label) with x in [0, 1]."""
    table = np.array(rows)
    model = diffprivlib.models.GaussianNB(epsilon=1.0, bounds=(0, 1))
    return model.fit(table[:, :1], table[:, 1].astype(int)).theta_


def histogram(rows):
    """Three bins of histogram."""
    return diffprivlib.tools.histogram(np.array(rows), epsilon=1.0, bins=3, range=(0, 1))[0]


def count(rows):
    """count_nonzero, whose answer is never above the number of rows."""
    return diffprivlib.tools.count_nonzero(np.array(rows), epsilon=1.0)
