"""The finder finds: each law catches an accountant that was broken in the way which the law forbids."""

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

import pytest

from dpkit.accountants.advanced import AdvancedAccountant
from dpkit.accountants.best import BestAccountant
from dpkit.accountants.gdp import GaussianDPAccountant
from dpkit.accountants.pure import PureAccountant
from dpkit.accountants.rdp import RenyiAccountant
from dpkit.accountants.zcdp import ZCDPAccountant, ZCDPState
from dpkit.privacy.conversions import arrows_to
from dpkit.privacy.losses import ZCDP, ApproxDP, PureDP
from dpkit.privacy.neighbours import Neighbours
from dpkit.testing import accountant_laws as laws


@dataclass(frozen=True, slots=True, kw_only=True)
class DropsTheCount(ZCDPAccountant):
    """100 releases at the price of one: the mistake of a library of good repute."""

    def repeat(self, state, times):
        return state if times else self.zero()


@dataclass(frozen=True, slots=True, kw_only=True)
class DropsTheCountEverywhere(ZCDPAccountant):
    """The same, and unrolling forgets too, so that the two agree: only the truth tells."""

    def repeat(self, state, times):
        return state if times else self.zero()

    def combine(self, *states):
        return self.join(*states)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddsDeltaOnce(ZCDPAccountant):
    """The slack of many releases counted as that of one."""

    def combine(self, *states):
        total = ZCDPAccountant.combine(self, *states)
        return replace(total, log_slack=max((s.log_slack for s in states), default=Fraction(0)))

    def repeat(self, state, times):
        return self.combine(*[state] * times)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetsTheSlack(RenyiAccountant):
    """An approximate loss enters as if it were pure."""

    def lift(self, loss):
        return replace(RenyiAccountant.lift(self, loss), log_slack=Fraction(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundsDown(GaussianDPAccountant):
    """The exact answer, cut to four digits: below the truth nearly always."""

    def reading(self, state, *, delta):
        reading = GaussianDPAccountant.reading(self, state, delta=delta)
        if not math.isfinite(reading.epsilon):
            return reading
        return replace(reading, epsilon=math.floor(reading.epsilon * 1e4) / 1e4)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertsTheWrongWay(ZCDPAccountant):
    """rho-zCDP read as sqrt(2 rho)-DP: the arrow of pure losses, reversed."""

    def reading(self, state, *, delta):
        reading = ZCDPAccountant.reading(self, state, delta=delta)
        return replace(reading, epsilon=min(reading.epsilon, math.sqrt(2.0 * float(state.rho))))


@dataclass(frozen=True, slots=True, kw_only=True)
class TooSmallAConstant(ZCDPAccountant):
    """e^2/8 for every pure loss: right for bounded range, wrong here."""

    @property
    def conversions(self):
        wrong = replace(arrows_to(ZCDP)[PureDP], apply=lambda loss: ZCDP(rho=loss.epsilon**2 / 8))
        return {**ZCDPAccountant.conversions.__get__(self), PureDP: wrong}


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefersTheFirst(ZCDPAccountant):
    """The first release counts double."""

    def combine(self, *states):
        total = ZCDPAccountant.combine(self, *states)
        return replace(total, rho=total.rho + (states[0].rho if len(states) > 1 else 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargesForNothing(ZCDPAccountant):
    """An empty composition has a price."""

    def zero(self):
        return ZCDPState(rho=Fraction(1, 10), log_slack=Fraction(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapsDelta(ZCDPAccountant):
    """The tail is taken at 1 - delta."""

    def reading(self, state, *, delta):
        return ZCDPAccountant.reading(self, state, delta=1.0 - delta)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRises(PureAccountant):
    """delta grows with epsilon."""

    def delta(self, state, *, epsilon):
        return 1.0 - PureAccountant.delta(self, state, epsilon=epsilon)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportsHalfOfEpsilon(PureAccountant):
    """epsilon(delta) and delta(epsilon) tell different stories."""

    def reading(self, state, *, delta):
        reading = PureAccountant.reading(self, state, delta=delta)
        return replace(reading, epsilon=reading.epsilon / 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinsTheSmallest(PureAccountant):
    """Of disjoint cells the cheapest is charged."""

    def join(self, *states):
        return min(states, key=lambda state: state.epsilon, default=self.zero())


@dataclass(frozen=True, slots=True, kw_only=True)
class Refunds(PureAccountant):
    """A second release gives budget back."""

    def combine(self, *states):
        total = PureAccountant.combine(self, *states)
        return replace(total, epsilon=total.epsilon / 2) if len(states) > 1 else total


@dataclass(frozen=True, slots=True, kw_only=True)
class BasicWithoutCount(AdvancedAccountant):
    """The optimal theorem at a count of one."""

    def repeat(self, state, times):
        return state if times else self.zero()

    def combine(self, *states):
        return states[0] if states else self.zero()


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerousBudget(PureAccountant):
    """A budget that is passed by a tenth still counts as kept."""

    def within(self, state, budget):
        if isinstance(budget, ApproxDP | PureDP):
            return self.epsilon(state, delta=getattr(budget, "delta", 0.0)) <= budget.epsilon * 1.1
        return PureAccountant.within(self, state, budget)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharesOfNothing(PureAccountant):
    """Shares that are weights, not shares."""

    def shares(self, states, total, *, delta):
        return [2.0 * float(state.epsilon) for state in states]


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifiesItsOwnBound(ZCDPAccountant):
    """An interval that begins at an upper bound."""

    def interval(self, state, *, delta):
        return (self.epsilon(state, delta=delta),) * 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargesOnce(ZCDPAccountant):
    """What was charged for before is free."""

    seen: set = field(default_factory=set)

    def lift(self, loss):
        known = loss in self.seen
        self.seen.add(loss)
        return self.zero() if known else ZCDPAccountant.lift(self, loss)


@dataclass(frozen=True, slots=True, kw_only=True)
class HalvesUnderReplaceOne(ZCDPAccountant):
    """`lift` is right, and is not what prices."""

    def lift_under(self, loss, neighbours):
        state = self.lift(loss)
        return replace(state, rho=state.rho / 4) if neighbours is Neighbours.REPLACE_ONE else state


@dataclass(frozen=True, slots=True, kw_only=True)
class HalvesDelta(GaussianDPAccountant):
    """delta(epsilon) is half of what epsilon(delta) says."""

    def delta(self, state, *, epsilon):
        return GaussianDPAccountant.delta(self, state, epsilon=epsilon) / 2


BROKEN = [
    (HalvesDelta(), laws.no_delta_is_below_the_truth),
    (DropsTheCount(), laws.repeat_equals_unrolled),
    (DropsTheCountEverywhere(), laws.never_below_gaussian_truth),
    (DropsTheCountEverywhere(), laws.never_below_pure_truth),
    (BasicWithoutCount(), laws.never_below_pure_truth),
    (AddsDeltaOnce(), laws.deltas_add_up),
    (ForgetsTheSlack(), laws.deltas_add_up),
    (RoundsDown(), laws.never_below_gaussian_truth),
    (ConvertsTheWrongWay(), laws.never_below_gaussian_truth),
    (TooSmallAConstant(), laws.never_below_pure_truth),
    (PrefersTheFirst(), laws.order_does_not_matter),
    (ChargesForNothing(), laws.nothing_changes_nothing),
    (SwapsDelta(), laws.epsilon_falls_as_delta_grows),
    (ProfileRises(), laws.delta_falls_as_epsilon_grows),
    (ReportsHalfOfEpsilon(), laws.epsilon_and_delta_agree),
    (JoinsTheSmallest(), laws.join_covers_each),
    (Refunds(), laws.more_releases_never_cost_less),
    (GenerousBudget(), laws.within_means_the_reported_number),
    (SharesOfNothing(), laws.shares_sum_to_one),
    (CertifiesItsOwnBound(), laws.the_interval_holds_the_truth),
    (ChargesOnce(), laws.an_accountant_remembers_nothing),
    (HalvesUnderReplaceOne(), laws.never_below_gaussian_truth),
    (HalvesUnderReplaceOne(), laws.never_below_pure_truth),
    (BestAccountant(components=(PureAccountant(), DropsTheCount())), laws.repeat_equals_unrolled),
]


@pytest.mark.parametrize(("mutant", "law"), BROKEN, ids=lambda item: getattr(item, "__name__", type(item).__name__))
def test_the_law_catches_the_mutant(mutant, law):
    with pytest.raises(AssertionError):
        law(mutant)


def test_every_law_has_a_mutant():
    assert {law for _, law in BROKEN} == set(laws.ACCOUNTANT_LAWS)
