"""What of the five jobs diffprivlib does: functions of arrays, and estimators."""

import numpy as np
from diffprivlib import __version__, models, tools

VERSION = __version__


def mean(rows):
    return tools.mean(np.array(rows.arr_delay), epsilon=1.0, bounds=(-60.0, 180.0))


def counts(rows):
    codes = [rows.carriers.index(name) for name in rows.carrier]
    return tools.histogram(codes, epsilon=1.0, bins=len(rows.carriers), range=(0, len(rows.carriers)))[0]


def median(rows):
    return tools.median(np.array(rows.arr_delay), epsilon=1.0, bounds=(-60.0, 180.0))


def regression(rows):
    x = np.column_stack([rows.dep_delay, rows.distance, rows.hour])
    low, high = np.array([-30.0, 0.0, 0.0]), np.array([180.0, 3000.0, 24.0])
    fit = models.LinearRegression(epsilon=1.0, bounds_X=(low, high), bounds_y=(-60.0, 180.0)).fit(x, np.array(rows.arr_delay))
    return [*fit.coef_, fit.intercept_]
