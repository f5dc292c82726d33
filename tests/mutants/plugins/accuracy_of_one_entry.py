"""The accuracy is that of a single entry, whatever the shape."""

import numpy as np

from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "accuracy_covers_the_error"


class AccuracyOfOneEntry(Scaled):
    def accuracy(self, shape, confidence):
        return -self.scale * float(np.log1p(-confidence))


dpkit_mechanisms, dpkit_loss_rules = hooks_of(AccuracyOfOneEntry, shapes=((), (20,)))
