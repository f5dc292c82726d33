"""`account`, `calibrate` and JSON obey every law of pricing, under every accountant that the law speaks of."""

import pytest
from laws.pricing_laws import PRICING_LAWS, pricing_cases

import dpkit

CASES = pricing_cases(dpkit.default_registry())


@pytest.mark.parametrize(("law", "accountant"), CASES, ids=lambda item: getattr(item, "__name__", item))
def test_pricing_obeys(law, accountant):
    law(dpkit.account, accountant)


def test_every_law_and_every_accountant_is_tried():
    assert {law for law, _ in CASES} == set(PRICING_LAWS)
    assert {accountant for _, accountant in CASES} == set(dpkit.default_registry().accountant_names)
