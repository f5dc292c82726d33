"""The attack on the paper: who knows all other rows proves, from one released B, that somebody is not in the data."""

import argparse
import math

import numpy as np
from dpkit_irls.paper.published_noise import WishartAsPublished


def success_rate(epsilon, features, trials, rng):
    """How often one release proves the absence of a record; never wrong when it is present."""
    record = np.zeros(features)
    record[0] = 1.0  # the largest contribution that the bounds allow
    others = rng.normal(size=(50, features)) / math.sqrt(features) / 2
    known = others.T @ others
    noise = WishartAsPublished(scale=1.0 / (2.0 * epsilon))
    rates = []
    for truth in (known, known + np.outer(record, record)):
        outputs = np.asarray(noise.release_many((truth + truth.T) / 2, trials, rng))
        left = np.linalg.eigvalsh(outputs - known - np.outer(record, record))[:, 0]
        rates.append(float(np.mean(left < -1e-6)))
    return rates


def main(arguments=None):
    """Print the rates beside the theory, 1 - e^(-epsilon')."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=4_000)
    trials = parser.parse_args(arguments).trials
    rng = np.random.default_rng(1)
    print("epsilon'  d   proved absent   theory   falsely proved")
    for epsilon in (0.045, 0.3, 0.9):
        for features in (3, 10):
            absent, present = success_rate(epsilon, features, trials, rng)
            print(f"{epsilon:7.3f} {features:3d} {absent:14.4f} {-math.expm1(-epsilon):9.4f} {present:13.4f}")


if __name__ == "__main__":
    main()
