"""Lower laws on a lattice stay below the loss that they are of."""

import math

import numpy as np
import pytest

from dpkit.accountants.pld import lattice_reader
from dpkit.accountants.pld.lattice_reader import _lower_law
from dpkit.mechanisms.subsampled_gaussian import SubsampledGaussianPair
from dpkit.numerics.lattice_laws import lower_masses
from dpkit.privacy.gaussian_dp import GaussianPair

PAIRS = (SubsampledGaussianPair(rate=0.3, ratio=1.5), SubsampledGaussianPair(rate=1e-3, ratio=3.0), GaussianPair(mu=0.8))


def excess(direction, *, step):
    """By how much a lower law is above the profile anywhere: 0 but for rounding, where it is one."""
    law = _lower_law(direction, direction.reach(1e-12), step)
    losses = (law.first + np.arange(law.masses.size)) * step
    places = np.linspace(losses[0] - 1.0, losses[-1], 300)
    below = np.sum(law.masses * -np.expm1(np.minimum(places[:, None] - losses, 0.0)), axis=1)
    value, error = direction.profile(places)
    return float(np.max(below - value - error))


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("step", [0.7, 0.41, 0.05])
def test_a_law_on_the_lattice_is_below_the_loss(pair, step):
    for direction in (pair.forward(), pair.backward() or pair.forward()):
        assert excess(direction, step=step) <= 1e-13


def test_a_mutant_with_slopes_that_are_too_flat_is_found(monkeypatch):
    def forgetful(middles, errors, slopes, *, first, step, **others):
        return lower_masses(middles, errors, slopes * math.exp(-0.35), first=first, step=step, **others)

    monkeypatch.setattr(lattice_reader, "lower_masses", forgetful)
    assert excess(GaussianPair(mu=0.8).forward(), step=0.7) > 1e-3
