"""The plugin that dpkit itself is comes through the hooks that others use."""

from hooks.made_plugins import loaded


def test_the_built_ins_go_through_the_same_hooks():
    (own,) = loaded().plugins
    assert own.name == "dpkit"
    assert {"dpkit_mechanisms", "dpkit_loss_rules", "dpkit_accountants"} <= set(own.hooks)
    assert own.adds["mechanisms"][:2] == ("laplace", "gaussian")
