"""The laws of dpkit's kit, on everything that this plugin adds."""

import dpkit_irls

from dpkit.testing import laws_of_plugin, parametrize_with_laws


@parametrize_with_laws(laws_of_plugin(dpkit_irls, name="irls"))
def test_what_the_plugin_adds_obeys(check):
    check()
