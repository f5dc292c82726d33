"""An L2 distance is priced as if it were L1: too cheap by the root of the dimension."""

from tests.mutants.scaled import Scaled, hooks_of

CAUGHT_BY = "claims_survive_a_quick_audit"

dpkit_mechanisms, dpkit_loss_rules = hooks_of(Scaled, metrics=("l2",))
