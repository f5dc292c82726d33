"""Parts of the audit with one line changed: each law that its tests state is broken by the mutant, and kept by the part."""

import math
import random
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas
import pytest
from scipy.stats import binom

from dpkit import PureDP, audit, record
from dpkit.auditing import draw_outputs, independence, outcomes, single_calls
from dpkit.auditing.betting import campaign, column_scores, joint_bets, lower_bound
from dpkit.auditing.betting.bets import Bet
from dpkit.auditing.betting.learned_columns import BinnedRatio, CategoryRatio, TreeRatio
from dpkit.auditing.betting.narrow_columns import NarrowCells, Ties
from dpkit.auditing.betting.profile import Point
from dpkit.auditing.canaries import guesses, one_run_bound
from dpkit.auditing.recording import record as recording
from dpkit.auditing.recording import shown_answers as shown
from dpkit.auditing.recording import tape

sys.path.insert(0, str(Path(__file__).parent))
from test_broken_audits import mutated

ONE = PureDP(epsilon=1.0)
HALF = Point(epsilon=0.5, delta=0.0)


def allows_what_happens(module):
    """Answers kept by coins of the claim itself: as many are right as a binomial law says, and that must be allowed."""
    least = module.least_by_points((Point(epsilon=1.0, delta=0.0),))
    chance = 1.0 / (1.0 + math.exp(-1.0))
    return all(
        module.may_be_right(least, canaries=m, guesses=m, right=right, level=float(binom.sf(right - 1, m, chance)))
        for m in (1, 2, 5, 30)
        for right in range(1, m + 1)
    )


def test_a_bound_of_one_run_that_asks_for_too_much_is_caught():
    assert allows_what_happens(one_run_bound)
    assert not allows_what_happens(mutated(one_run_bound, "r += k / (guesses - k)", "r += (k + 1) / (guesses - k)"))


def shares_add_up(module):
    return all(sum(one.share for one in module.guessings(m)) <= 1.0 + 1e-12 for m in (1, 2, 3, 10, 40, 999, 20_000))


def test_guesses_that_spend_their_error_probability_twice_are_caught():
    assert shares_add_up(guesses)
    assert not shares_add_up(mutated(guesses, "_IN_ALONE / len(highest)", "_IN_ALONE"))


def pays_more_than_it_may(module):
    """The mean of a factor of two bets at random laws that keep a claim with a delta."""
    point = Point(epsilon=0.7, delta=0.05)
    ways = [Bet(column=0, upper=up, cut=cut, forward=up, point=point, growth=0.1) for up, cut in ((True, 2.0), (False, 0.0))]
    cells = np.array([[0.0], [1.0], [2.0]])
    past = cells[[0, 1, 2, 2, 2, 2]], cells[[0, 0, 0, 0, 1, 2]]
    together = module.JointBets([module.Asked(bets=tuple(ways), caution=0.5)], [past])
    factors = np.exp([[together.log_factors(cells[[x]], cells[[y]])[0, 0] for y in range(3)] for x in range(3)])
    laws = np.random.default_rng(2).dirichlet(np.ones(3), size=(2_000, 2))
    excess = np.maximum(laws - point.ratio * laws[:, ::-1], 0.0).sum(axis=2).max(axis=1)
    return any(p @ factors @ q > 1.0 for p, q in laws[excess <= point.delta])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("within = outside / bet.point.ratio", "within = outside"),
        ("outside = 2.0 * bet.point.ratio / (bet.point.ratio + bet.point.delta)", "outside = 2.0"),
        ("shares = CAUTION * shares / shares.sum", "shares = 1.1 * shares / shares.sum"),
        ("staked[:, :, 1] - staked[:, :, 0]", "staked[:, :, 1]"),
    ],
)
def test_a_bet_that_pays_more_than_it_may_is_caught(old, new):
    assert not pays_more_than_it_may(joint_bets)
    assert pays_more_than_it_may(mutated(joint_bets, old, new))


def covers(module):
    """The chance that the lower end passes the truth, exactly."""
    low = [module.proportion_bounds(hits, 40, alpha=0.05)[0] for hits in range(41)]
    high = [module.proportion_bounds(hits, 40, alpha=0.05)[1] for hits in range(41)]
    for p in np.linspace(0.01, 0.99, 99):
        law = binom.pmf(range(41), 40, p)
        if law @ (np.array(low) > p) > 0.05 or law @ (np.array(high) < p) > 0.05:
            return False
    return True


@pytest.mark.parametrize(
    ("old", "new"),
    [("betaincinv(hits, trials - hits + 1, alpha)", "betaincinv(hits + 1, trials - hits, alpha)"),
     ("betaincinv(hits + 1, trials - hits, 1.0 - alpha)", "betaincinv(hits, trials - hits + 1, 1.0 - alpha)")],
)  # fmt: skip
def test_an_interval_that_does_not_cover_is_caught(old, new):
    assert covers(lower_bound)
    if "betaincinv(hits, trials - hits + 1, 1.0" in new:
        new = f"({new} if hits else 0.0)"
    assert not covers(mutated(lower_bound, old, new))


def one_draw_for_all(value, n, rng):
    """Right, were it asked for one output at a time: a batch shares its noise."""
    return value + rng.laplace(scale=1.0) + np.zeros(n)


def alarms(seeds):
    return sum(audit(one_draw_for_all, ONE, (0.0, 1.0), 0.999, 1_200, seed)[0].refuted for seed in range(seeds))


def test_an_audit_that_does_not_look_for_dependence_is_caught(monkeypatch):
    assert alarms(4) == 0
    running = sys.modules["dpkit.auditing.audit"]
    monkeypatch.setattr(
        running,
        "find_dependence",
        mutated(independence, "_LEVEL = 2e-3", "_LEVEL = 0.0").find_dependence,
    )
    assert alarms(4) == 0, "the look at successive outputs sees it, too"
    monkeypatch.setattr("dpkit.auditing.betting.campaign.find_succession", lambda source, wait: "")
    assert alarms(4) > 0


def test_an_audit_that_believes_what_single_calls_do_not_support_is_caught(monkeypatch):
    running = sys.modules["dpkit.auditing.audit"]
    blind = mutated(independence, "_LEVEL = 2e-3", "_LEVEL = 0.0")
    monkeypatch.setattr(running, "find_dependence", blind.find_dependence)
    monkeypatch.setattr("dpkit.auditing.betting.campaign.find_succession", lambda source, wait: "")

    def refuted(seed):
        return audit(one_draw_for_all, ONE, (0.0, 1.0), 0.999, 12_000, seed)[0].refuted

    assert not any(refuted(seed) for seed in range(4))
    monkeypatch.setattr(running._Audit, "_doubted", lambda self, subject, found: False)
    assert any(refuted(seed) for seed in range(4))


def fails_otherwise(rows, rng):
    if rng.random() < 0.3:
        raise (KeyError if len(rows) > 1 else ValueError)
    return len(rows) + rng.laplace(scale=1.5)


def test_outcomes_that_forget_which_exception_it_was_are_caught(monkeypatch):
    assert audit(fails_otherwise, ONE, ([1], [1, 2]), samples=1_500, rng=1)[0].refuted
    mutant = mutated(outcomes, 'f"raised {type(value).__name__}"', '"raised"')
    monkeypatch.setattr(single_calls, "canonical", mutant.canonical)
    assert not audit(fails_otherwise, ONE, ([1], [1, 2]), samples=1_500, rng=1)[0].refuted


class Fitted:
    def __init__(self, weight):
        self.weight = weight


def releases_an_object(rows, rng):
    return Fitted(len(rows) + rng.laplace(scale=0.5))


def test_outcomes_that_see_the_type_of_an_object_alone_are_caught(monkeypatch):
    assert audit(releases_an_object, ONE, ([1], [1, 2]), samples=1_500, rng=1)[0].refuted
    mutant = mutated(outcomes, 'held = getattr(value, "__dict__", None)', "return CanonicalOutcome(name)")
    monkeypatch.setattr("dpkit.auditing.draw_outputs.canonical", mutant.canonical)
    assert not audit(releases_an_object, ONE, ([1], [1, 2]), samples=1_500, rng=1)[0].refuted


def labels_tell(rows, rng):
    return pandas.DataFrame({"a": rng.integers(9, size=2)}, index=[0, len(rows)])


def test_outcomes_without_the_labels_of_rows_are_caught(monkeypatch):
    assert audit(labels_tell, ONE, ([1], [1, 2, 3]), samples=600, rng=1)[0].refuted
    monkeypatch.setattr("dpkit.auditing.targets.one_release.labels_of", lambda table: 0.0)
    assert not audit(labels_tell, ONE, ([1], [1, 2, 3]), samples=600, rng=1)[0].refuted


def test_bets_that_stake_on_little_news_are_caught():
    def stake(module):
        past = np.full((5, 1), 2.0), np.zeros((5, 1))
        ways = [Bet(column=0, upper=up, cut=cut, forward=up, point=HALF, growth=0.1) for up, cut in ((True, 2.0), (False, 0.0))]
        return module.JointBets([module.Asked(bets=tuple(ways), caution=2.0)], [past]).shares[2:].sum()

    assert stake(joint_bets) < 0.1 < stake(mutated(joint_bets, "_DOUBT = 12.0", "_DOUBT = 0.0"))


def test_an_engine_without_ties_and_repeats_misses_a_rare_value(monkeypatch):
    def leaking(value, n, rng):
        return value + rng.laplace(size=n) * (rng.random(n) >= 0.05)

    assert audit(leaking, ONE, (0.0, 1.0), samples=4_000, rng=1)[0].refuted
    monkeypatch.setattr("dpkit.auditing.falsifiers.black_box.columns_for", without_repeats)
    assert not audit(leaking, ONE, (0.0, 1.0), samples=4_000, rng=1)[0].refuted


def without_repeats(*asked):
    seeing = (Ties, NarrowCells, CategoryRatio, BinnedRatio, TreeRatio)
    return tuple(column for column in column_scores.columns_for(*asked) if not isinstance(column, seeing))


def spends_twice(rows, rng):
    return [sum(rows) + rng.laplace(scale=1.0), len(rows) + rng.laplace(scale=1.0)]


def test_a_record_that_counts_one_call_is_caught():
    pair = ([0.5], [0.5, 1.0])
    assert record(spends_twice, ONE, pair, rng=1).findings
    mutant = mutated(recording, "    for call in calls:\n", "    for call in list(calls)[:1]:\n")
    assert not mutant.record(spends_twice, ONE, pair, rng=1).findings


def by_inversion(rows):
    uniform = random.random() - 0.5
    return sum(rows) - np.sign(uniform) * np.log1p(-2.0 * abs(uniform))


def test_a_record_that_counts_answers_which_the_result_hides_is_caught():
    def largest(data, rng):
        return max(range(3), key=lambda place: data[0] + place + rng.laplace(scale=2.0))

    pair = ([1.0], [2.0])
    assert not record(largest, ONE, pair, rng=1, samples=2_000).refuted
    mutant = mutated(recording, "_cost(shown, subject", "_cost(kept.tape.certain, subject")
    assert mutant.record(largest, ONE, pair, rng=1, samples=2_000).refuted


def test_a_record_that_takes_any_number_for_an_answer_is_caught(monkeypatch):
    def hidden(data, rng):
        noisy = [data[0] + rng.laplace(scale=0.5) for _ in range(2)]
        return float(noisy[0] > noisy[1]), 3.0

    assert not record(hidden, ONE, ([1.0], [2.0]), rng=1, samples=2_000).findings
    changed = mutated(shown, "_same(numbers[j], one) and _same(others[j], other) and one != other", "True")
    monkeypatch.setattr(recording, "shown_answers", changed.shown_answers)
    assert record(hidden, ONE, ([1.0], [2.0]), rng=1, samples=2_000).findings


def test_a_record_that_takes_coins_for_noise_that_it_follows_is_caught(monkeypatch):
    pair = ([0.5], [0.5, 1.0])
    assert not record(by_inversion, ONE, pair, rng=1).refuted
    monkeypatch.setattr(tape.Call, "opaque", property(lambda call: call.escaped))
    assert record(by_inversion, ONE, pair, rng=1).refuted


class Held:
    generator = np.random.default_rng(3)


def draws_elsewhere(rows):
    return sum(rows) + Held.generator.laplace()


def test_a_record_that_overlooks_what_is_drawn_elsewhere_is_caught():
    pair = ([0.5], [0.5, 1.0])
    assert not record(draws_elsewhere, ONE, pair, rng=1).refuted
    mutant = mutated(recording, "if certain and not elsewhere", "if certain")
    assert mutant.record(draws_elsewhere, ONE, pair, rng=1).refuted


def test_an_audit_that_waits_for_a_slow_call_is_caught(monkeypatch):
    ended = []

    def slow(rows):
        time.sleep(0.05)
        ended.append(rows)

    def calls():
        ended.clear()
        audit(slow, ONE, ([1], [1, 2]), time=0.02, rng=1)
        return len(ended)

    assert calls() == 0
    monkeypatch.setattr(campaign, "call_until", lambda moment: nullcontext())
    assert calls() > 0


def exits_at_one(value, n, rng):
    return exit(0) if value else rng.laplace(size=n)


def test_outcomes_without_what_ends_a_program_are_caught(monkeypatch):
    assert audit(exits_at_one, ONE, (0, 1), samples=400, rng=1)[0].refuted
    mutant = mutated(draw_outputs, "except BaseException:  # noqa", "except Exception:  # noqa")
    monkeypatch.setattr("dpkit.auditing.audit.Drawing", mutant.Drawing)
    with pytest.raises(SystemExit):
        audit(exits_at_one, ONE, (0, 1), samples=400, rng=1)


def test_bets_that_do_not_reach_their_shares_are_caught():
    """Laplace noise that is 5% too small, by exact counts of the tails behind either value."""
    law = np.array([10_000, 6_510, 3_490])
    one, two = (np.repeat([[0.0], [1.0], [2.0]], counts, axis=0) for counts in (law, law[::-1]))
    ways = [(False, 0.0, True), (True, 2.0, False)]
    pure = Point(epsilon=1.0, delta=0.0)
    bets = tuple(Bet(column=0, upper=up, cut=cut, forward=forward, point=pure, growth=0.1) for up, cut, forward in ways)

    def earned(module):
        together = module.JointBets([module.Asked(bets=bets, caution=0.1)], [(one, two)])
        return together.log_factors(one, np.random.default_rng(1).permutation(two)).mean()

    assert earned(joint_bets) > 3e-4
    assert earned(mutated(joint_bets, "_STEPS_BY_NEWS * known", "0.0 * known")) < 2e-4
