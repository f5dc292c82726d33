"""An explanation names theorems, shares, and the distance to the best accountant."""

import pytest

import dpkit
from dpkit import ApproxEvent, Compose, GaussianEvent, LaplaceEvent, PureEvent, Repeat

STUDY = Compose(
    events=(Repeat(event=LaplaceEvent(ratio=0.1), times=5), GaussianEvent(ratio=0.3), ApproxEvent(epsilon=0.2, delta=1e-9))
)


@pytest.mark.parametrize("accountant", ["zcdp", "rdp", "best"])
def test_every_part_has_a_rule_a_source_and_a_share(accountant):
    explanation = dpkit.account(STUDY, accountant).explain(delta=1e-6)
    assert {line.times for line in explanation.lines} == {1, 5}
    assert all(line.rule and line.because and line.share > 0.0 for line in explanation.lines)
    assert sum(line.share for line in explanation.lines) == pytest.approx(1.0)
    assert [line.share for line in explanation.lines] == sorted((line.share for line in explanation.lines), reverse=True)
    for word in ("LaplaceEvent(ratio=0.1)", "5 x", "pld.md" if accountant == "best" else "CKS20", accountant):
        assert word in explanation


def test_it_says_how_far_the_best_accountant_is():
    loose = dpkit.account(STUDY, "zcdp").explain(delta=1e-6)
    name, epsilon = loose.best
    assert name in ("pld", "best")
    assert loose.excess == pytest.approx(loose.epsilon / epsilon - 1.0)
    assert loose.excess > 0.0
    assert f"{loose.excess:.2%} above it" in loose
    assert "pure" in loose.refused
    assert dpkit.account(STUDY, "best").explain(delta=1e-6).excess == 0.0


def test_the_conversion_is_named_where_one_was_needed():
    line = dpkit.account(PureEvent(epsilon=1.0), "zcdp").explain().lines[0]
    assert line.conversion == "pure-to-zcdp"
    assert [citation.key for citation in line.because] == ["DMNS06", "dpkit"]
    direct = dpkit.account(LaplaceEvent(ratio=1.0), "zcdp").explain().lines[0]
    assert (direct.rule, direct.conversion) == ("laplace-zcdp", None)


def test_printed_numbers_are_never_below_the_bound():
    for ratio in (0.1, 0.123456789, 1 / 3, 2.0):
        explanation = dpkit.account(Repeat(event=LaplaceEvent(ratio=ratio), times=3), "pure").explain()
        printed = float(str(explanation).split("epsilon = ")[1].split(" ")[0])
        assert printed >= explanation.epsilon


def test_a_long_composition_is_summed_up():
    many = dpkit.account([LaplaceEvent(ratio=0.01 * (1 + i)) for i in range(50)], "zcdp").explain()
    assert len(many.lines) == 50
    assert "30 more parts" in many


def test_nothing_is_explained_as_nothing():
    explanation = dpkit.account(Compose(events=()), "best").explain()
    assert explanation.epsilon == 0.0
    assert explanation.lines == ()
    assert explanation.excess == 0.0


def test_a_bare_state_can_be_read_and_explained_too():
    accountant = dpkit.default_registry().accountant("zcdp")
    guarantee = accountant.guarantee(accountant.lift(dpkit.ZCDP(rho=0.1)))
    assert guarantee.epsilon(delta=1e-6) == accountant.epsilon(guarantee.state, delta=1e-6)
    assert "zcdp" in guarantee.explain()
