"""The finder finds: each way of breaking `pld` is caught by a law or an oracle."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from laws import loss_laws as laws

from dpkit.accountants.pld import accountant as loss_distribution
from dpkit.accountants.pld import composition as loss_composition
from dpkit.accountants.pld import contour, lattice_reader
from dpkit.accountants.pld import lattice as loss_lattice
from dpkit.accountants.pld.accountant import LossDistributionAccountant
from dpkit.mechanisms.discrete import DiscreteLaplace
from dpkit.mechanisms.discrete_laplace_pair import DiscreteLaplacePair
from dpkit.mechanisms.laplace import LaplacePair
from dpkit.mechanisms.subsampled_gaussian import SubsampledGaussianPair
from dpkit.numerics import lattice_laws
from dpkit.numerics.lattice_laws import LatticeLaw
from dpkit.privacy.gaussian_dp import GaussianPair
from dpkit.privacy.loss_pairs import PurePair
from dpkit.privacy.loss_table import PLD
from dpkit.privacy.losses import ApproxDP
from dpkit.privacy.neighbours import Neighbours

SKEWED = PLD(
    losses=(-0.2, 0.1, 1.3),
    masses=tuple(np.linalg.solve([[1, 1, 1], np.exp([0.2, -0.1, -1.3]), [0, 0, 1]], [1.0, 1.0, 0.06]).tolist()),
)
LAPLACE = LaplacePair(ratio=1.0).forward()
EPSILONS = np.linspace(-0.5, 2.0, 26).tolist()


def lattice_brackets_profiles():
    for direction in (
        LaplacePair(ratio=1.0).forward(),
        GaussianPair(mu=0.7).forward(),
        SubsampledGaussianPair(rate=0.2, ratio=1.0).forward(),
        SubsampledGaussianPair(rate=0.2, ratio=1.0).backward(),
        SKEWED.forward(),
    ):
        laws.lattice_brackets_the_profile(direction, EPSILONS, delta=1e-3, width=1e-2)


def integer_noise_has_its_law():
    outputs, noise = np.arange(-90, 97), DiscreteLaplace(scale=2.0)
    for steps in (1, 3, 6):
        pair = DiscreteLaplacePair(ratio=steps / 2.0, sensitivity=steps)
        laws.profile_is_that_of(pair, noise.log_density(outputs, 0), noise.log_density(outputs, steps), EPSILONS)


def integer_noise_composes_as_its_law():
    h, q = 0.2, math.exp(-0.2)
    masses = [1.0 / (1.0 + q), (1.0 - q) / (1.0 + q) * q, (1.0 - q) / (1.0 + q) * q**2, q**3 / (1.0 + q)]
    exact = laws.enumerated([([((3 - 2 * j) * h, mass) for j, mass in enumerate(masses)], 6)])
    pair = DiscreteLaplacePair(ratio=0.6, sensitivity=3)
    found = loss_composition.reader([(pair.forward(), 6)], delta=0.1, width=1e-6)
    for at in (0.8 * found.start, 0.9 * found.start, found.start):
        laws.bounds_hold(found, at, exact(at), 0.0)


def compositions_bracket_enumeration():
    laws.composition_brackets_enumeration([(SKEWED, 3)], EPSILONS, width=1e-5)


def lattices_bracket_enumeration():
    with pytest.MonkeyPatch.context() as patch:  # a smoothed contour would be taken before a lattice
        patch.setattr(loss_composition, "smoothed_reader", lambda *_, **__: None)
        for direction in (SKEWED.forward(), SKEWED.backward()):
            assert loss_composition.reader([(direction, 3)], delta=1e-3, width=1e-5).route == "lattice"
        laws.composition_brackets_enumeration([(SKEWED, 3)], EPSILONS, width=1e-5)


def small_deltas_are_bracketed():
    found = loss_composition.reader([(PurePair(epsilon=0.5).forward(), 20)], delta=1e-9, width=1e-6)
    tables = [(0.5, 1.0 / (1.0 + math.exp(-0.5))), (-0.5, 1.0 / (1.0 + math.exp(0.5)))]
    up, down = tables[0][1], tables[1][1]
    for at in (0.7, 2.2, 4.0, 5.7, 7.0, 8.2, 9.2, 9.7):
        exact = math.fsum(
            math.comb(20, n) * up ** (20 - n) * down**n * -math.expm1(min(at - 0.5 * (20 - 2 * n), 0.0)) for n in range(21)
        )
        laws.bounds_hold(found, at, exact, 0.0)


def sums_hold_far_from_their_tilt():
    # a tilt that suits epsilon 1 leaves little but rounding at epsilon 19, and the sum says so
    up = 1.0 / (1.0 + math.exp(-1.0))
    law = LatticeLaw(first=-1, masses=np.array([1.0 - up, 0.0, up]))
    total = loss_lattice.LatticeSum([(law, 20)], step=1.0, tilt=0.05, size=4096, near=1.0)
    for at in (1.5, 18.5, 19.5):
        exact = math.fsum(
            math.comb(20, n) * up ** (20 - n) * (1.0 - up) ** n * -math.expm1(min(at - (20 - 2 * n), 0.0)) for n in range(21)
        )
        value, error, log_scale = total.scaled_delta(at)
        assert abs(value * math.exp(log_scale) - exact) <= error * math.exp(log_scale) + 1e-14 * exact


def add_remove_covers_both_directions():
    accountant = LossDistributionAccountant()
    for pair in (SKEWED, PLD(losses=SKEWED.backward().losses, masses=SKEWED.backward().masses)):
        for delta in (0.1, 0.03, 1e-3):
            epsilon = accountant.reading(accountant.repeat(accountant.lift(pair), 2), delta=delta).epsilon
            for turned in (False, True):
                assert laws.enumerated([(laws.table_of(pair, turned=turned), 2)])(epsilon) <= delta * (1.0 + 1e-12)


def replace_one_covers_mixed_directions():
    accountant = LossDistributionAccountant()
    state = accountant.repeat(accountant.lift_under(SKEWED, Neighbours.REPLACE_ONE), 2)
    ahead, back = laws.table_of(SKEWED), laws.table_of(SKEWED, turned=True)
    for delta in np.geomspace(1e-3, 0.2, 30).tolist():
        epsilon = accountant.reading(state, delta=delta).epsilon
        assert laws.enumerated([(ahead, 1), (back, 1)])(epsilon) <= delta * (1.0 + 1e-12)


def slack_is_counted():
    accountant = LossDistributionAccountant()
    assert accountant.reading(accountant.lift(ApproxDP(epsilon=0.1, delta=1e-3)), delta=1e-4).epsilon == math.inf


LAWS = (
    integer_noise_has_its_law,
    integer_noise_composes_as_its_law,
    lattice_brackets_profiles,
    compositions_bracket_enumeration,
    lattices_bracket_enumeration,
    small_deltas_are_bracketed,
    sums_hold_far_from_their_tilt,
    add_remove_covers_both_directions,
    replace_one_covers_mixed_directions,
    slack_is_counted,
)


def drops_aliases(patch):
    patch.setattr(loss_composition, "alias_period", lambda *_, **__: 0.9)
    patch.setattr(loss_composition, "lattice_tilt", lambda *_, saddle, **__: (saddle, 0.9))
    patch.setattr(lattice_reader, "alias_bound", lambda *_, **__: 0.0)


def drops_aliases_of_a_contour(patch):
    patch.setattr(contour, "alias_period", lambda *_, **__: 0.9)
    patch.setattr(contour, "alias_bound", lambda *_, **__: 0.0)


def drops_rounding_of_a_coarse_transform(patch):
    whole = np.fft.rfft
    patch.setattr(np.fft, "rfft", lambda values, *rest: whole(values, *rest).astype(np.complex64).astype(np.complex128))


def drops_the_rounding_term(patch):
    whole = loss_lattice.LatticeSum.scaled_delta

    def scaled_delta(self, epsilon):
        value, _, log_scale = whole(self, epsilon)
        return value, 0.0, log_scale

    patch.setattr(loss_lattice.LatticeSum, "scaled_delta", scaled_delta)


def forgets_the_tail(patch):
    direction = GaussianPair(mu=1.0).forward().__class__
    patch.setattr(direction, "reach", lambda self, tail: (self.mu**2 / 2 - 2 * self.mu, self.mu**2 / 2 + 2 * self.mu))
    patch.setattr(lattice_reader, "_beyond", lambda *_: 0.0)


def puts_dots_in_the_middle(patch):
    whole = lattice_laws.upper_masses

    def halved(profile, errors, *, first, step):
        law = whole(profile, errors, first=first, step=step)
        moved = 0.5 * (law.masses + np.append(law.masses[1:], 0.0))
        return LatticeLaw(first=first, masses=moved)

    patch.setattr(lattice_reader, "upper_masses", halved)


def takes_chords_for_tangents(patch):
    def chords(middles, errors, slopes, *, first, step, **_):
        return lattice_laws.upper_masses(0.5 * (middles[1:] + middles[:-1]), errors[1:], first=first, step=step)

    patch.setattr(lattice_reader, "lower_masses", chords)


def reads_one_direction(patch):
    whole = loss_distribution.loss_directions
    patch.setattr(loss_distribution, "loss_directions", lambda terms: whole(terms)[:1])


def takes_the_larger_direction_after_composing(patch):
    patch.setattr(LossDistributionAccountant, "lift_under", lambda self, loss, neighbours: self.lift(loss))


def forgets_the_slack(patch):
    whole = LossDistributionAccountant.lift

    def lift(self, loss):
        return dataclasses.replace(whole(self, loss), log_slack=Fraction(0))

    patch.setattr(LossDistributionAccountant, "lift", lift)


def one_step_too_many(patch):
    whole = DiscreteLaplacePair.forward
    patch.setattr(
        DiscreteLaplacePair, "forward", lambda pair: whole(dataclasses.replace(pair, sensitivity=pair.sensitivity + 1))
    )


def takes_laplace_noise_for_integer_noise(patch):
    patch.setattr(DiscreteLaplacePair, "forward", lambda pair: LaplacePair(ratio=pair.ratio).forward())


def counts_one_loss_too_few(patch):
    direction = type(DiscreteLaplacePair(ratio=1.0, sensitivity=2).forward())
    whole = direction._below

    def below(self, epsilons):
        depth, between = whole(self, epsilons)
        return depth, np.maximum(between - self._step, 0.0)

    patch.setattr(direction, "_below", below)


def forgets_the_steps_of_a_moment(patch):
    direction = type(DiscreteLaplacePair(ratio=1.0, sensitivity=2).forward())
    patch.setattr(direction, "total_log_moment", type(LAPLACE).total_log_moment)


BROKEN = {
    one_step_too_many: integer_noise_has_its_law,
    takes_laplace_noise_for_integer_noise: integer_noise_has_its_law,
    counts_one_loss_too_few: integer_noise_has_its_law,
    forgets_the_steps_of_a_moment: integer_noise_composes_as_its_law,
    drops_aliases: lattices_bracket_enumeration,
    drops_aliases_of_a_contour: compositions_bracket_enumeration,
    drops_rounding_of_a_coarse_transform: sums_hold_far_from_their_tilt,
    drops_the_rounding_term: sums_hold_far_from_their_tilt,
    forgets_the_tail: lattice_brackets_profiles,
    puts_dots_in_the_middle: lattice_brackets_profiles,
    takes_chords_for_tangents: lattice_brackets_profiles,
    reads_one_direction: add_remove_covers_both_directions,
    takes_the_larger_direction_after_composing: replace_one_covers_mixed_directions,
    forgets_the_slack: slack_is_counted,
}


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_the_laws_hold_of_the_real_one(law):
    law()


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_each_mutant_is_caught(broken, monkeypatch):
    broken(monkeypatch)
    with pytest.raises(AssertionError):
        BROKEN[broken]()
