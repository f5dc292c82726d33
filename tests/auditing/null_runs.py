"""True claims at their boundary, audited along one path that samples: how often is one refuted?"""

from dataclasses import dataclass

import numpy as np

from dpkit import GDP, ApproxDP, Gaussian, Laplace, PureDP, RandomizedResponse, SymmetricGaussian, audit


@dataclass(frozen=True)
class Uniform:
    """Noise in [0, 1): moved by a tenth, a tenth of the outputs is impossible, which is delta exactly."""

    def release_many(self, value, n, rng):
        return np.asarray(value) + rng.random((n, *np.shape(value)))

    def log_density(self, output, value):
        moved = np.asarray(output) - np.asarray(value)
        return np.where((moved >= 0.0) & (moved < 1.0), 0.0, -np.inf)


LAPLACE = (Laplace(scale=1.0), PureDP(epsilon=1.0), (0.0, 1.0))
GAUSSIAN = (Gaussian(scale=1.0), GDP(mu=1.0), (0.0, 1.0))
MATRIX = (SymmetricGaussian(scale=1.0), GDP(mu=1.0), (np.zeros((2, 2)), np.diag([1.0, 0.0])))
RESPONSE = (RandomizedResponse(epsilon=0.5, categories=2), PureDP(epsilon=0.5), (np.int64(0), np.int64(1)))
UNIFORM = (Uniform(), ApproxDP(epsilon=0.0, delta=0.1), (0.0, 0.1))
PATHS = {
    "white box": (LAPLACE, GAUSSIAN, MATRIX, RESPONSE, UNIFORM),
    "noise law": (LAPLACE, GAUSSIAN, MATRIX),
    "support": (UNIFORM,),
    "floating point": (LAPLACE, GAUSSIAN),
}


def refutations(path, runs, *, confidence, samples, first_seed):
    """How many of the runs refute a claim that holds."""
    found = 0
    for i in range(runs):
        law, claim, pair = PATHS[path][i % len(PATHS[path])]
        certificates = audit(
            law.release_many,
            claim,
            pair,
            confidence,
            samples,
            first_seed + i,
            density=law,
            falsifiers=[path],
            floating_point=path == "floating point",
        )
        assert path in {name for one in certificates for name in one.tried}
        found += any(one.refuted for one in certificates)
    return found
