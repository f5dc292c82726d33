"""The problems that reading a changed analysis reports."""

import pytest

from dpkit.errors import SpecError


def problems(loaded, *changes):
    with pytest.raises(SpecError) as caught:
        loaded(*changes)
    return caught.value.problems
