"""Lower laws laid beside the lattice stay below the loss that they are of, and see what lies closer together than a step."""

import math

import numpy as np
import pytest

from dpkit.accountants.pld import lattice_reader
from dpkit.accountants.pld.large_losses import LawPart
from dpkit.accountants.pld.lattice_reader import _lower_law, _lower_laws
from dpkit.mechanisms.subsampled_gaussian import SubsampledGaussianPair
from dpkit.numerics.lattice_laws import lower_masses
from dpkit.privacy.gaussian_dp import GaussianPair

PAIRS = (SubsampledGaussianPair(rate=0.3, ratio=1.5), SubsampledGaussianPair(rate=1e-3, ratio=3.0), GaussianPair(mu=0.8))


def excess(direction, *, step, offset):
    """By how much a lower law is above the profile anywhere: 0 but for rounding, where it is one."""
    law = _lower_law(direction, direction.reach(1e-12), step, offset)
    losses = (law.first + np.arange(law.masses.size)) * step + offset
    places = np.linspace(losses[0] - 1.0, losses[-1], 300)
    below = np.sum(law.masses * -np.expm1(np.minimum(places[:, None] - losses, 0.0)), axis=1)
    value, error = direction.profile(places)
    return float(np.max(below - value - error))


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("part", [-0.5, -0.1, 0.3, 0.5])
@pytest.mark.parametrize("step", [0.7, 0.05])
def test_a_law_beside_the_lattice_is_below_the_loss(pair, part, step):
    for direction in (pair.forward(), pair.backward() or pair.forward()):
        assert excess(direction, step=step, offset=part * step) <= 1e-13


def test_a_mutant_that_forgets_to_scale_the_slopes_is_found(monkeypatch):
    def forgetful(middles, errors, slopes, *, first, step, **others):
        return lower_masses(middles, errors, slopes * math.exp(0.35), first=first, step=step, **others)

    monkeypatch.setattr(lattice_reader, "lower_masses", forgetful)
    assert excess(GaussianPair(mu=0.8).forward(), step=0.7, offset=-0.35) > 1e-3


def test_what_lies_closer_together_than_a_step_is_seen():
    """Of 300,000 steps at rate 1e-5 nothing was left from below: each was rounded down by more than it costs."""
    direction, tilt = SubsampledGaussianPair(rate=1e-5, ratio=3.0).forward(), 1.3
    terms, reach = [(direction, 300_000)], direction.reach(1e-15)
    exact = float(direction.real_log_moment(np.array([tilt]))[0])
    step, [found] = _lower_laws(terms, [reach], step=1.7e-4, tilt=tilt, enough=math.inf, cut=None)
    assert 0.99 * exact <= found.moment(step, tilt) <= exact
    plain = LawPart(law=_lower_law(direction, reach, 1.7e-4), count=1, offset=0.0)
    assert found.offset != 0.0
    assert plain.moment(1.7e-4, tilt) < 0.0
