"""The exact delta of two output laws, for the tests of mechanisms."""

import math

import numpy as np
from scipy.special import ndtr


def exact_delta(log_p, log_q, epsilon):
    """sup_S P(S) - e^epsilon Q(S), from log masses."""
    return float(np.sum(np.maximum(0.0, np.exp(log_p) - math.exp(epsilon) * np.exp(log_q))))


def stop_loss_of_one(ratio, points, side="call"):
    """E[(X - a)_+] and E[(a - X)_+] of a ratio X = e^(m w - m^2/2): the formula of Black and Scholes."""
    place = np.log(points) / ratio + 0.5 * ratio
    if side == "call":
        return ndtr(ratio - place) - points * ndtr(-place)
    return points * ndtr(place) - ndtr(place - ratio)
