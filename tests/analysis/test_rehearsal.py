"""A rehearsal finds an algorithm that asks for more than it planned, before data is read."""

import pytest

from dpkit.errors import PlanExceededError


def test_an_algorithm_that_asks_for_more_than_it_planned_is_found_before_data_is_read(loaded, folder):
    spec = loaded(("run: total", "run: greedy"), (", passes: 2", ""))
    (folder / "people.csv").unlink()
    with pytest.raises(PlanExceededError):
        spec.plan()
