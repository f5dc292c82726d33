"""`dpkit.account` keeps the laws of records that take part by chance."""

import pytest
from laws.chance_laws import LAWS

import dpkit


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_account_keeps_the_law(law):
    law(dpkit.account)
