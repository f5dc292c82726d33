"""The audit engine itself, with one line of it changed: each mutant either raises false alarms or misses what it must find."""

import importlib.util
import inspect
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from dpkit import PureDP, RandomizedResponse
from dpkit.auditing import audit as runner
from dpkit.auditing.betting import bets as betting
from dpkit.auditing.betting import processes
from dpkit.auditing.falsifiers import noise_law, support, white_box

sys.path.insert(0, str(Path(__file__).parent.parent / "auditing"))
from null_runs import UNIFORM, refutations

RESPONSE = RandomizedResponse(epsilon=0.5, categories=2)
BITS = (np.int64(0), np.int64(1))
PAIRS, RUNS, ALLOWED = 24, 20, 16
"""At confidence 0.5, more than 16 of 20 runs are refuted with a probability of about 1e-3, if levels are split."""


def mutated(module, old, new):
    """The module with one piece of its text replaced; the piece must be there, so that a mutant cannot quietly be right."""
    source = inspect.getsource(module)
    assert old in source, f"{module.__name__} no longer contains {old!r}: the mutant must follow it"
    made = types.ModuleType(f"{module.__name__}_mutant")
    made.__spec__ = importlib.util.spec_from_loader(made.__name__, loader=None)
    sys.modules[made.__name__] = made  # dataclasses look their module up
    exec(compile(source.replace(old, new), made.__name__, "exec"), made.__dict__)
    return made


def false_alarms(audit):
    """How many of the runs refute a claim that holds, at its boundary, at many pairs."""
    alarms = 0
    law, claim, pair = UNIFORM
    for seed in range(RUNS):
        pairs = [pair] * (PAIRS - 1)
        found = audit(law.release_many, claim, pair, 0.5, 200, seed, pairs=pairs, density=law, falsifiers=["support"])
        alarms += any(one.refuted for one in found)
    return alarms


def levels(audit):
    """The error probabilities that one audit hands out, in all."""
    found = audit(
        RESPONSE.release_many, PureDP(epsilon=0.5), BITS, 0.999, 20, 1, pairs=[BITS] * 7, density=RESPONSE,
        falsifiers=["white box"],
    )  # fmt: skip
    assert len(found) == 8
    return sum(one.level for one in found)


def test_the_engine_splits_its_level():
    assert levels(runner.audit) <= 0.001
    assert false_alarms(runner.audit) <= ALLOWED


def test_an_engine_that_does_not_split_its_level_is_caught():
    mutant = mutated(runner, "- _BOUND_SHARE - auditor_share) / len(plan.subjects)", "- _BOUND_SHARE - auditor_share)")
    assert levels(mutant.audit) > 0.001
    assert false_alarms(mutant.audit) > ALLOWED


def backward_only(value, n, rng):
    """0.4 / 0.02 is a violation against the first dataset; 0.98 / 0.6 is within e^0.5, so no event speaks the other way."""
    return (rng.random(n) < (0.4 if value else 0.02)).astype(np.int64)


FORWARD_ONLY = (
    "grows = hit > ratio[:, None, None] * miss + delta[:, None, None]",
    "grows = (hit > ratio[:, None, None] * miss + delta[:, None, None]) & np.array([True, False])[:, None, None, None]",
)


@pytest.mark.parametrize("pair", [(0, 1), (1, 0)], ids=["backward", "forward"])
def test_the_engine_looks_in_both_directions(pair):
    assert runner.audit(backward_only, PureDP(epsilon=0.5), pair, samples=1_000, rng=1)[0].refuted


@pytest.mark.parametrize(("pair", "found"), [((0, 1), False), ((1, 0), True)], ids=["backward", "forward"])
def test_an_engine_that_forgets_a_direction_is_caught(pair, found, monkeypatch):
    monkeypatch.setattr(processes, "bets_each_way", mutated(betting, *FORWARD_ONLY).bets_each_way)
    assert runner.audit(backward_only, PureDP(epsilon=0.5), pair, samples=1_000, rng=1)[0].refuted is found


def test_a_white_box_that_forgets_a_direction_is_caught(monkeypatch):
    class Law:
        def log_density(self, output, value):
            chance = 0.4 if value else 0.02
            return np.log(np.where(np.asarray(output) == 1, chance, 1.0 - chance))

    options = {"samples": 300, "rng": 1, "density": Law(), "falsifiers": ["white box"]}
    assert runner.audit(backward_only, PureDP(epsilon=0.5), (0, 1), **options)[0].refuted
    mutant = mutated(white_box, "for forward in (True, False)", "for forward in (True,)")
    monkeypatch.setattr(processes, "bets_each_way", mutated(betting, *FORWARD_ONLY).bets_each_way)
    monkeypatch.setattr(white_box, "LikelihoodRatio", mutant.LikelihoodRatio)
    assert not runner.audit(backward_only, PureDP(epsilon=0.5), (0, 1), **options)[0].refuted


OVERDRAWN = {
    "noise law": (
        noise_law,
        "noise_law_of",
        "- self._dimension * math.log(scale)",
        "- 2.0 * self._dimension * math.log(scale)",
    ),
    "support": (support, "Support", "self._delta = subject.delta", "self._delta = 0.1 * subject.delta"),
    "white box": (
        white_box,
        "LikelihoodRatio",
        "subject.points, opening=opening",
        "[type(p)(epsilon=0.3 * p.epsilon, delta=0.3 * p.delta) for p in subject.points], opening=opening",
    ),
}


@pytest.mark.parametrize("path", OVERDRAWN)
def test_a_falsifier_that_overdraws_shows_in_null_runs(path, monkeypatch):
    module, name, old, new = OVERDRAWN[path]
    monkeypatch.setattr(module, name, getattr(mutated(module, old, new), name))
    assert refutations(path, 30, confidence=0.95, samples=400, first_seed=60_000) > 9
