"""The core of the accountant interface is narrow."""

import dpkit


def test_the_core_of_an_accountant_is_narrow():
    assert dpkit.Accountant.__abstractmethods__ == {"name", "native", "zero", "state_of", "combine", "repeat", "reading"}
