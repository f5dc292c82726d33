"""A line in the debug log, left over from the first day."""

import logging

import dpkit
from dpkit.numerics.noise.exact_rounding import LAPLACE
from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "nothing_is_written_of_the_value"


class LogsTheValue(Scaled):
    def release(self, value, rng):
        logging.getLogger(__name__).debug("releasing %s", value)
        return dpkit.exactly_rounded(value, scale=self.scale, law=LAPLACE, rng=rng)


dpkit_mechanisms, dpkit_loss_rules = hooks_of(LogsTheValue)
