"""Scores weighted by exp(score / scale) and priced as if by exp(score / 2 scale), though a score may rise while others fall."""

import numpy as np

from tests.mutants.scaled import Choice, hooks_of

CAUGHT_BY = "density_keeps_the_claims"


class WholeExponent(Choice):
    def log_density(self, output, value):
        logits = np.asarray(value, dtype=np.float64) / self.scale
        return (logits - np.logaddexp.reduce(logits))[np.asarray(output)]


dpkit_mechanisms, dpkit_loss_rules = hooks_of(WholeExponent, metrics=("linf",), values="scores", shapes=((3,), (5,)))
