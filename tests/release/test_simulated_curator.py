"""The made-up curator prices and charges as the real one does, and answers what it is told."""

import numpy as np
import pytest
from release.algorithms import total_query

import dpkit
from dpkit.privacy.events import Compose
from dpkit.release.curator import Purse, planned_event
from dpkit.release.simulated_curator import SimulatedCurator

SETTING = dpkit.DeclaredSetting(schema=dpkit.Schema(columns=(dpkit.Number(name="x", lower=0.0, upper=1.0),)))
NOISE = dpkit.Laplace(scale=2.0)


def test_it_answers_by_turn_and_notes_what_was_asked():
    curator = SimulatedCurator(lambda request: np.asarray(float(request.turn)), setting=SETTING)
    answers = [float(curator.release(total_query(), NOISE)) for _ in range(2)]
    answers += [float(value) for value in curator.release_all([(total_query(), NOISE)] * 2)]
    assert answers == [0.0, 1.0, 2.0, 3.0]
    assert [query.name for query, _ in curator.asked] == ["total"] * 4


def test_what_is_not_in_the_plan_is_refused_before_it_is_answered():
    event = planned_event(SETTING, total_query(), NOISE)
    curator = SimulatedCurator(lambda request: np.zeros(()), setting=SETTING, purse=Purse(Compose(events=(event, event))))
    curator.release_all([(total_query(), NOISE)] * 2)
    with pytest.raises(dpkit.PlanExceededError):
        curator.release(total_query(), NOISE)
    assert len(curator.asked) == 2
