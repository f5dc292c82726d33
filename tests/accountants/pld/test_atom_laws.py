"""Laws of few atoms lie above and below the profile that they are of, wherever they are cut, and near it."""

import math

import numpy as np
import pytest

from dpkit.accountants.pld import atom_laws
from dpkit.accountants.pld.atom_laws import ReadDirection
from dpkit.mechanisms.laplace import LaplacePair
from dpkit.mechanisms.replaced_records import ReplacedGaussianPair
from dpkit.mechanisms.subsampled_gaussian import SubsampledGaussianPair
from dpkit.privacy.gaussian_dp import GaussianPair
from dpkit.privacy.loss_pairs import PurePair
from dpkit.privacy.sampled_pairs import SampledPair

PAIRS = {
    "often": SubsampledGaussianPair(rate=0.3, ratio=1.5),
    "rarely": SubsampledGaussianPair(rate=1e-5, ratio=2.5),
    "noise": GaussianPair(mu=0.8),
    "laplace": LaplacePair(ratio=0.7),
    "sampled laplace": SampledPair(rate=1e-4, pair=LaplacePair(ratio=0.7)),
    "sampled pure": SampledPair(rate=1e-3, pair=PurePair(epsilon=1.2)),
    "replaced": ReplacedGaussianPair(rate=1e-3, absent=1.0, ratio=2.0),
}


def profile_of(law, epsilons):
    """The profile of the atoms, one by one; what is at the end goes on from there, as its own profile says."""
    total = np.zeros(epsilons.size)
    atoms = list(zip(law.losses.tolist(), law.masses.tolist(), strict=True))
    for loss, mass in atoms[:-1] if law.cut else atoms:
        total += mass * np.maximum(-np.expm1(epsilons - loss), 0.0)
    if law.cut:  # linear in e^epsilon between its mass under P and its profile, below the last place
        loss, mass = atoms[-1]
        total += np.where(epsilons <= loss, mass - (mass - law.end) * np.exp(epsilons - loss), np.nan)
    return total


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(("tilt", "share"), [(0.0, None), (3.0, None), (0.0, 0.4)])
def test_laws_are_above_and_below_the_profile(name, backward, tilt, share):
    pair = PAIRS[name]
    direction = (pair.backward() or pair.forward()) if backward else pair.forward()
    read = ReadDirection(direction, 5, tail=1e-20, atoms=800, tilt=tilt)
    low, high = read.places[0], read.places[-1]
    cut = None if share is None else share * high
    above, below = read.upper(cut), read.lower(cut)
    rng = np.random.default_rng(5)
    spread = (high - low) * 10.0 ** -rng.uniform(0.0, 9.0, 200)
    ends = (low - 0.1, high) if cut is None else (low - 0.1, above.losses[-1])
    epsilons = np.unique(np.clip(np.concatenate((spread, -spread, rng.uniform(*ends, 100), read.places[::97])), *ends))
    value, error = direction.profile(epsilons)
    # what lies beyond a law is counted apart; both are sums of a thousand products, rounded relatively to the masses
    upper, lower = profile_of(above, epsilons) + read.beyond(), profile_of(below, epsilons)
    assert np.all(upper >= (value - error) * (1.0 - 1e-12) - 1e-15)
    assert np.all(lower <= (value + error) * (1.0 + 1e-12) + 1e-15)
    assert np.max(upper - lower) <= 1e-4 * np.max(np.abs(epsilons)) + 1e-9


@pytest.mark.parametrize("tail", [1e-20, 1e-9, 1e-4, 0.02])
@pytest.mark.parametrize(("rate", "ratio"), [(0.3, 1.5), (4e-6, 0.47), (1e-3, 3.0)])
def test_losses_that_end_far_beyond_the_last_place_are_held_from_below(rate, ratio, tail):
    direction = SubsampledGaussianPair(rate=rate, ratio=ratio).backward()
    read = ReadDirection(direction, 5, tail=tail, atoms=800, tilt=0.0)
    below = read.lower(None)
    epsilons = np.linspace(read.places[0], direction.top(), 400)
    value, error = direction.profile(epsilons)
    lower = profile_of(below, epsilons)
    assert np.all(lower <= (value + error) * (1.0 + 1e-12) + 1e-15)
    assert np.max(value - lower) <= tail + 1e-4 * abs(read.places[0]) + 1e-9


def test_the_variance_that_atoms_add_falls_with_the_square_of_their_number():
    direction = SubsampledGaussianPair(rate=1e-6, ratio=1.0).forward()
    exact = 1e-12 * math.expm1(1.0)  # E_Q (P/Q - 1)^2, which E_P L^2 is but for a part in a million
    off = []
    for atoms in (1000, 4000):
        law = ReadDirection(direction, 1, tail=1e-30, atoms=atoms).upper(None)
        off.append(float(np.sum(law.masses * law.losses**2)) / exact - 1.0)
    assert 0.0 < off[0] < 1e-3
    assert off[1] < 0.2 * off[0]


def test_a_mutant_that_lifts_atoms_is_found(monkeypatch):
    plain = atom_laws.lower_masses_at

    def lifted(middles, errors, slopes, **others):
        return plain(middles, errors, 0.9 * slopes, **others)

    monkeypatch.setattr(atom_laws, "lower_masses_at", lifted)
    direction = GaussianPair(mu=0.8).forward()
    law = ReadDirection(direction, 1, tail=1e-12, atoms=200).lower(None)
    epsilons = np.linspace(-1.0, 2.0, 50)
    assert np.any(profile_of(law, epsilons) > direction.profile(epsilons)[0] * (1.0 + 1e-6))
