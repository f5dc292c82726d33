"""The exact delta of two output laws, for the tests of mechanisms."""

import math

import numpy as np


def exact_delta(log_p, log_q, epsilon):
    """sup_S P(S) - e^epsilon Q(S), from log masses."""
    return float(np.sum(np.maximum(0.0, np.exp(log_p) - math.exp(epsilon) * np.exp(log_q))))
