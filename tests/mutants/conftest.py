"""Mutants need one counterexample each, not the smallest: no shrinking here."""

import pytest
from hypothesis import Phase, settings


@pytest.fixture(autouse=True)
def _no_shrinking():
    before = settings.get_current_profile_name()
    name = "the first counterexample will do"
    settings.register_profile(name, settings(), phases=[Phase.explicit, Phase.generate], report_multiple_bugs=False)
    settings.load_profile(name)
    yield
    settings.load_profile(before)
