"""`best`: its name is taken, and it chooses among dpkit's own accountants."""

from hooks.made_plugins import loaded, plugin, problem_of

import dpkit
from dpkit.accountants.zcdp import ZCDPAccountant


def test_the_name_best_is_taken():
    class Best(ZCDPAccountant):
        name = "best"

    assert "'best' is claimed" in problem_of("thief", loaded(thief=plugin(dpkit_accountants=lambda: [Best()])))


def test_best_chooses_among_dpkit_s_own_accountants_whatever_is_installed():
    class Free(ZCDPAccountant):
        name = "free"

        def repeat(self, state, times):
            return self.zero()

    registry = loaded(cheap=plugin(dpkit_accountants=lambda: [Free()])).registry
    event = dpkit.Repeat(event=dpkit.GaussianEvent(ratio=1.0), times=9)
    assert dpkit.account(event, "free", registry=registry).epsilon(delta=1e-6) == 0.0
    own = dpkit.account(event, "best", registry=loaded().registry).epsilon(delta=1e-6)
    assert dpkit.account(event, "best", registry=registry).epsilon(delta=1e-6) == own > 0.0
