"""Every accountant obeys every law of accountants."""

import pytest

from dpkit.accountants.advanced import AdvancedAccountant
from dpkit.accountants.cdp import MeanCDPAccountant
from dpkit.accountants.zcdp import ZCDPAccountant
from dpkit.hooks.manager import default_registry
from dpkit.testing.accountant_composition_laws import LARGE_LAWS
from dpkit.testing.accountant_laws import ACCOUNTANT_LAWS
from dpkit.testing.run_laws import LawNotApplicable

VARIANTS = [
    *default_registry().accountants,
    AdvancedAccountant(theorems=("basic", "dwork-roth")),
    MeanCDPAccountant(constants="tight"),
    ZCDPAccountant(constants="usual", conversion="simple"),
]


@pytest.mark.parametrize("law", ACCOUNTANT_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("accountant", VARIANTS, ids=repr)
def test_accountant_obeys(accountant, law):
    law(accountant)


QUICK = [accountant for accountant in VARIANTS if accountant.name not in ("pld", "best")]
"""Loss distributions take a second for each reading of a mixture, and are cross-checked with these."""


@pytest.mark.parametrize("law", LARGE_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("accountant", QUICK, ids=repr)
def test_accountant_obeys_on_mixtures_and_large_counts(accountant, law):
    try:
        law(accountant)
    except LawNotApplicable as reason:
        pytest.skip(str(reason))
