"""A name that the registry does not have is answered with the nearest."""

import pytest

import dpkit


def test_removing_an_unknown_rule_offers_the_nearest():
    with pytest.raises(dpkit.UnknownNameError, match="laplace-zcdp"):
        dpkit.default_registry().without("laplace-zdcp")
