"""The built-in mechanisms pass the kit that third parties' mechanisms must pass."""

from dpkit.testing.plugin_laws import laws_of_installed
from dpkit.testing.run_laws import parametrize_with_laws


@parametrize_with_laws(check for check in laws_of_installed("dpkit") if check.subject.startswith("mechanism"))
def test_the_built_ins_obey(check):
    check()
