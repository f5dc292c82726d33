"""Mutants need one counterexample each, not the smallest: no shrinking here."""

import pytest
from hypothesis import Phase, settings

settings.register_profile(
    "the first counterexample will do", phases=[Phase.explicit, Phase.generate], report_multiple_bugs=False
)


@pytest.fixture(autouse=True)
def _no_shrinking():
    before = settings.get_current_profile_name()
    settings.load_profile("the first counterexample will do")
    yield
    settings.load_profile(before)
