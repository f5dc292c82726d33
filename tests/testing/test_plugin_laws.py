"""The built-in mechanisms pass the kit that third parties' mechanisms must pass."""

import pytest

from dpkit.testing.plugin_laws import laws_of_installed
from dpkit.testing.run_laws import parametrize_with_laws

OF_MECHANISMS = [check for check in laws_of_installed("dpkit") if check.subject.startswith("mechanism")]
LONG = ("claims_survive_a_quick_audit", "density_keeps_the_claims", "noise_is_never_zero", "release_many_is_many_releases")
"""Laws that take seconds for each mechanism. In a short run they are tried on one; the zoo is audited there as well."""
QUICK = ("mechanism discrete-laplace",)
# each draw of a random search is many draws: tests/mechanisms/test_random_search.py tries it in a short run


def is_long(check):
    return (check.law in LONG and check.subject not in QUICK) or check.subject == "mechanism random-search"


@parametrize_with_laws(check for check in OF_MECHANISMS if not is_long(check))
def test_the_built_ins_obey(check):
    check()


@pytest.mark.slow
@parametrize_with_laws(check for check in OF_MECHANISMS if is_long(check))
def test_the_built_ins_obey_the_long_laws(check):
    check()
