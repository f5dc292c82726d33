"""Wrong accountants: dpkit's own with one method overridden."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from dpkit.accountants.advanced import AdvancedAccountant, AdvancedState
from dpkit.accountants.pure import BasicState, PureAccountant
from dpkit.accountants.zcdp import ZCDPAccountant, ZCDPState
from dpkit.contracts.accountant import Reading
from dpkit.privacy.claims import Citation, Conversion
from dpkit.privacy.losses import GDP, ZCDP
from tests.mutants.little import wrong

CITED = Citation(key="DR14", locator="Theorem 3.20")
LARGE = "never_below_the_truth_of_mixed_responses"


def adds(kind):
    """A plugin of this one accountant, under a name of its own."""
    named = dataclass(frozen=True, slots=True, kw_only=True)(
        type(kind.__name__, (kind,), {"name": property(lambda self: kind.__name__.lower()), "__annotations__": {}})
    )
    return {"accountants": [named()]}


def read_by(formula):
    """An advanced accountant whose epsilon is this function of the terms and of ln(1/delta)."""

    class Read(AdvancedAccountant):
        def reading(self, state, *, delta):
            honest = AdvancedAccountant.reading(self, state, delta=delta)
            if not state.terms or not math.isfinite(honest.epsilon) or not 0.0 < delta < 1.0:
                return honest
            basic = math.fsum(epsilon * count for epsilon, count in state.terms)
            return Reading(epsilon=min(basic, formula(state.terms, math.log(1.0 / delta))), because=CITED)

    return Read


@wrong(LARGE)
def drift_dropped_above_a_thousand():
    """k e (e^e - 1) is negligible, somebody thought, and left it out where there are many releases."""

    def formula(terms, log):
        count = sum(times for _, times in terms)
        squares = math.fsum(epsilon * epsilon * times for epsilon, times in terms)
        drift = math.fsum(epsilon * math.expm1(epsilon) * times for epsilon, times in terms) if count <= 1000 else 0.0
        return math.sqrt(2.0 * log * squares) + drift

    class DriftDropped(read_by(formula)):
        pass

    return adds(DriftDropped)


@wrong("a_release_added_to_many_never_lowers_the_price")
def advanced_by_the_mean():
    """The theorem for equal epsilons, applied to their mean."""

    def formula(terms, log):
        count = sum(times for _, times in terms)
        mean = math.fsum(epsilon * times for epsilon, times in terms) / count
        return math.sqrt(2.0 * count * log) * mean + count * mean * math.expm1(mean)

    class ByTheMean(read_by(formula)):
        pass

    return adds(ByTheMean)


@wrong("every_loss_costs_something")
def small_losses_dropped():
    """Losses below 1e-9 are taken for rounding errors."""

    class SmallDropped(ZCDPAccountant):
        def state_of(self, loss):
            return self.zero() if loss.rho < 1e-9 else ZCDPAccountant.state_of(self, loss)

    return adds(SmallDropped)


@wrong("grouping_does_not_matter")
def count_capped_at_a_million():
    """Nobody releases more often than a million times."""

    class Capped(ZCDPAccountant):
        def repeat(self, state, times):
            return ZCDPAccountant.repeat(self, state, min(times, 10**6))

    return adds(Capped)


@wrong("doubling_is_repeating")
def small_sums_dropped():
    """What is below 1e-8 when it is added is taken for a rounding error; what is repeated is not."""

    class SmallSumsDropped(ZCDPAccountant):
        def combine(self, *states):
            return ZCDPAccountant.combine(self, *[state for state in states if state.rho > 1e-8])

    return adds(SmallSumsDropped)


@wrong("doubling_is_repeating")
def slack_capped_at_a_million():
    """Of the slacks of more than a million repetitions only a million are counted."""

    class SlackCapped(ZCDPAccountant):
        def repeat(self, state, times):
            whole, some = (ZCDPAccountant.repeat(self, state, count) for count in (times, min(times, 10**6)))
            return replace(whole, log_slack=some.log_slack)

    return adds(SlackCapped)


@wrong("a_long_list_is_repeating")
def a_long_list_is_cut():
    """Fifty releases are enough for anybody."""

    class ListCut(PureAccountant):
        def combine(self, *states):
            return PureAccountant.combine(self, *states[:50])

    return adds(ListCut)


@wrong("repeat_equals_unrolled")
def equal_states_counted_once():
    """Combining takes a set."""

    class AsASet(PureAccountant):
        def combine(self, *states):
            return PureAccountant.combine(self, *set(states))

    return adds(AsASet)


@wrong("never_below_gaussian_truth")
def gaussian_by_half():
    """mu-GDP as mu^2/4-zCDP."""

    class HalfRho(ZCDPAccountant):
        @property
        def conversions(self):
            arrow = Conversion(
                name="half", source=GDP, target=ZCDP, because=CITED, apply=lambda loss: ZCDP(rho=loss.mu**2 / 4.0)
            )
            return {**ZCDPAccountant.conversions.fget(self), GDP: arrow}

    return adds(HalfRho)


@wrong("never_below_gaussian_truth")
def small_deltas_rounded_up():
    """Below 1e-9 every delta is read as 1e-9."""

    class Rounded(ZCDPAccountant):
        def reading(self, state, *, delta):
            return ZCDPAccountant.reading(self, state, delta=max(delta, 1e-9))

    return adds(Rounded)


@wrong("join_covers_each")
def join_takes_the_mean():
    """Of two releases, one of which happens, the mean."""

    class MeanJoin(ZCDPAccountant):
        def join(self, *states):
            return ZCDPState(
                rho=sum((state.rho for state in states), Fraction(0)) / max(1, len(states)),
                log_slack=max((state.log_slack for state in states), default=Fraction(0)),
            )

    return adds(MeanJoin)


@wrong(LARGE)
def counts_in_thirty_two_bits():
    """Counts wrap around at 2**32."""

    class Wraps(AdvancedAccountant):
        def combine(self, *states):
            whole = AdvancedAccountant.combine(self, *states)
            return AdvancedState(
                terms=tuple((epsilon, count % 2**32 or 1) for epsilon, count in whole.terms), log_slack=whole.log_slack
            )

        def repeat(self, state, times):
            return self.combine(AdvancedAccountant.repeat(self, state, times))

    return adds(Wraps)


@wrong("never_below_the_truth_of_mixtures")
def largest_of_a_mixture():
    """Of different losses the largest, of equal ones the sum."""

    class Largest(ZCDPAccountant):
        def combine(self, *states):
            whole = ZCDPAccountant.combine(self, *states)
            if len({state.rho for state in states if state.rho}) > 1:
                return ZCDPState(rho=max(state.rho for state in states), log_slack=whole.log_slack)
            return whole

    return adds(Largest)


@wrong("deltas_add_up")
def deltas_of_many_are_one():
    """The deltas of equal releases are counted once."""

    class DeltaOnce(PureAccountant):
        def repeat(self, state, times):
            return BasicState(epsilon=state.epsilon * times, delta=state.delta if times else Fraction(0))

    return adds(DeltaOnce)


@wrong("never_below_the_truth_of_mixtures")
def losses_averaged_over_kinds():
    """Of losses of several sizes the mean rho, times how many there are in the tuple."""

    class Averaged(ZCDPAccountant):
        def combine(self, *states):
            whole = ZCDPAccountant.combine(self, *states)
            sizes = sorted(state.rho for state in states)
            return ZCDPState(rho=sizes[len(sizes) // 2] * len(sizes), log_slack=whole.log_slack) if len(sizes) > 2 else whole

    return adds(Averaged)


@wrong(LARGE)
def square_root_law_for_everything():
    """k releases cost sqrt(k) times one, at every delta."""

    def formula(terms, log):
        return math.sqrt(math.fsum(epsilon * epsilon * times for epsilon, times in terms))

    class SquareRoot(read_by(formula)):
        pass

    return adds(SquareRoot)


@wrong("epsilon_and_delta_agree")
def delta_of_another_theorem():
    """delta(epsilon) is read from half the rho."""

    class OtherDelta(ZCDPAccountant):
        def delta(self, state, *, epsilon):
            return ZCDPAccountant.delta(self, state, epsilon=epsilon / 2.0)

    return adds(OtherDelta)


@wrong("never_below_gaussian_truth")
def cheaper_under_replace_one():
    """Under replace-one half of each loss is charged."""

    class CheaperReplaced(ZCDPAccountant):
        def lift_under(self, loss, neighbours):
            state = self.lift(loss)
            return state if neighbours.name == "ADD_REMOVE" else ZCDPState(rho=state.rho / 2, log_slack=state.log_slack)

    return adds(CheaperReplaced)


@wrong("no_delta_is_below_the_truth")
def delta_by_a_wrong_tail():
    """epsilon is read right; delta by a formula of its own, with 2 rho for 4 rho."""

    class WrongTail(ZCDPAccountant):
        def delta(self, state, *, epsilon):
            honest = ZCDPAccountant.delta(self, state, epsilon=epsilon)
            rho = float(state.rho)
            if not rho or epsilon <= rho:
                return honest
            return min(honest, math.exp(-((epsilon - rho) ** 2) / (2.0 * rho)))

    return adds(WrongTail)


@wrong("every_delta_counts")
def small_deltas_dropped():
    """Deltas below 1e-12 are taken for rounding errors."""

    class DeltasDropped(PureAccountant):
        def state_of(self, loss):
            return PureAccountant.state_of(self, loss if loss.delta > 1e-12 else replace(loss, delta=0.0))

    return adds(DeltasDropped)
