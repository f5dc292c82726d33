"""A plan is priced before any data is read, says what it relies on, and is refused when it cannot be run."""

from dataclasses import replace

import numpy as np
import pytest

import dpkit
from dpkit.analysis.ledger_standing import rounded_down
from dpkit.analysis.reading.load import load
from dpkit.errors import LedgerDisagreementError, PlanExceededError, PlanRefusedError, SpecError
from tests.analysis.conftest import YAML

SECOND = "  - id: again\n    run: total\n    share: 3\n    with: {column: age}\nreport:"


def make_ledger(folder, epsilon=1.0, **terms):
    given = {"dataset": "people", "budget": dpkit.ApproxDP(epsilon=epsilon, delta=1e-6), **terms}
    dpkit.Ledger.create(folder / "people.ledger", **given).close()
    return ("accountant: zcdp", "accountant: zcdp\n  ledger: people.ledger")


def test_a_plan_needs_no_data_and_just_meets_the_budget(loaded, folder):
    spec = loaded()
    (folder / "people.csv").unlink()
    plan = spec.plan()
    assert 1.0 - 1e-6 < plan.epsilon <= 1.0
    assert plan.guarantee.holds
    step = plan.steps[0]
    assert step.part == pytest.approx(1.0)
    (release,) = step.releases
    assert (release.query, release.mechanism, release.times) == ("total", "Gaussian", 2)
    assert release.scale == pytest.approx(step.noise)
    assert step.errors["total"] == pytest.approx(100 * dpkit.Gaussian(scale=step.noise).accuracy((), 0.95))


def test_shares_divide_the_price(loaded):
    plan = loaded(("report:", SECOND)).plan()
    first, second = plan.steps
    assert second.part == pytest.approx(0.6, abs=1e-6)  # two passes against one at three times the share
    assert first.part + second.part == pytest.approx(1.0)
    assert plan.epsilon <= 1.0
    assert max(first.epsilon, second.epsilon) < plan.epsilon


@pytest.mark.parametrize("accountant", ["best", "rdp", "gdp", "pld"])
def test_any_accountant_may_add_up(loaded, accountant):
    plan = loaded(("accountant: zcdp", f"accountant: {accountant}")).plan()
    assert plan.epsilon <= 1.0
    assert plan.steps[0].noise < loaded().plan().steps[0].noise * 1.001


def test_it_says_what_it_relies_on_and_what_others_would_charge(loaded):
    plan = loaded().plan()
    text = str(plan)
    for piece in (
        "relies on",
        "[proved]",
        "BS16",
        "gdp",
        "pure      cannot price it",
        "error at 95%",
        "differentially private",
    ):
        assert piece in text
    document = plan.as_json()
    assert set(document["accountants"]) | set(document["cannot_price"]) == set(dpkit.default_registry().accountant_names)
    assert all(claim["status"] == "proved" for claim in document["relies_on"])
    assert "<table>" in plan._repr_html_()


def test_a_pure_budget_refuses_gaussian_noise_and_says_what_would_do(loaded):
    with pytest.raises(PlanRefusedError, match="Laplace"):
        loaded(("delta: 1e-6", "delta: 0")).plan()
    plan = loaded(("delta: 1e-6", "delta: 0"), ("accountant: zcdp", "accountant: pure"), ("passes: 2", "noise: laplace")).plan()
    assert plan.epsilon <= 1.0


def test_an_accountant_that_cannot_price_the_plan_is_refused_with_those_that_can(loaded):
    with pytest.raises(PlanRefusedError, match="gdp"):
        loaded(("accountant: zcdp", "accountant: pure")).plan()


def test_an_algorithm_that_asks_for_more_than_it_planned_is_found_before_data_is_read(loaded, folder):
    spec = loaded(("run: total", "run: greedy"), (", passes: 2", ""))
    (folder / "people.csv").unlink()
    with pytest.raises(PlanExceededError):
        spec.plan()


def test_the_ledger_s_balance_is_in_the_plan(loaded, folder):
    plan = loaded(make_ledger(folder, epsilon=2.0)).plan()
    assert not plan.ledger.is_paid
    assert plan.ledger.price.rho < plan.ledger.balance.remaining.rho
    assert "left" in str(plan)


def test_a_plan_over_budget_is_refused_with_the_nearest_that_fits(loaded, folder):
    change = make_ledger(folder, epsilon=0.5)
    with pytest.raises(PlanRefusedError, match=r"asked .* spent .* left ") as caught:
        loaded(change).plan()
    offered = float(caught.value.nearest.rstrip(".").split()[-1])
    assert 0.45 < offered <= 0.5
    loaded(change, ("epsilon: 1.0", f"epsilon: {offered}")).plan()


def test_an_empty_ledger_offers_nothing(loaded, folder):
    change = make_ledger(folder, epsilon=0.5)
    with dpkit.Ledger.open(folder / "people.ledger") as ledger:
        ledger.reserve("all", dpkit.ZCDPEvent(rho=ledger.remaining().rho))
    with pytest.raises(PlanRefusedError, match="Nothing is left"):
        loaded(change).plan()


@pytest.mark.parametrize(
    ("terms", "field"),
    [
        ({"dataset": "flights"}, "dataset"),
        ({"neighbours": dpkit.Neighbours.REPLACE_ONE}, "neighbours"),
        ({"unit": {"column": "id", "at_most": 2}}, "unit"),
        ({"schema": "0" * 64}, "schema"),
    ],
)
def test_the_ledger_of_another_dataset_is_refused(loaded, folder, terms, field):
    with pytest.raises(LedgerDisagreementError) as caught:
        loaded(make_ledger(folder, epsilon=2.0, **terms)).plan()
    assert caught.value.field == field


def test_offers_are_rounded_down():
    for value in (0.49999, 0.5, 0.123456, 12.3499, 1e-5, 0.9999):
        assert value * 0.98 < rounded_down(value) <= value


def refuted_noise(name):
    """Laplace noise whose only claim is refuted; its event is dpkit's own, so that there is a price."""

    class Claimed(dpkit.Laplace):
        __slots__ = ()

        def claims(self, at, neighbours=dpkit.Neighbours.ADD_REMOVE):
            return [replace(claim, because=CITED[name], status="refuted") for claim in super().claims(at, neighbours)]

    scale = dpkit.Parameter(name="scale", kind="number", doc="The scale.", minimum=1e-6, maximum=1e6)
    return dpkit.MechanismFactory(name=name, doc="Noise.", make=Claimed, parameters=(scale,), metrics=("l1",))


def half():
    return dpkit.Query(
        name="half",
        columns=("age",),
        rows=lambda block: np.full(len(block), 0.5),
        shape=(),
        grid=0.5,
        bound=0.5,
        sensitivity=lambda neighbours: (dpkit.l1(0.5), dpkit.l2(0.5)),
        because=dpkit.Citation(key="DMNS06", locator="section 3.2"),
    )


CITED = {name: dpkit.Citation(key="DR14", locator=f"refuted: {name}") for name in ("false-noise", "other-noise")}


@pytest.fixture(scope="module")
def refuted():
    """A plugin of two noises whose claims are refuted, and of the rules that they rest on."""

    class Plugin:
        @staticmethod
        @dpkit.hookimpl
        def dpkit_mechanisms():
            return [refuted_noise(name) for name in CITED]

        @staticmethod
        @dpkit.hookimpl
        def dpkit_queries():
            return [dpkit.QueryFactory(name="half", doc="Halves.", make=half, width=lambda query: 1)]

        @staticmethod
        @dpkit.hookimpl
        def dpkit_loss_rules():
            return [
                dpkit.LossRule(
                    name=f"{name}-pure",
                    event=dpkit.LaplaceEvent,
                    loss=dpkit.PureDP,
                    neighbours=tuple(dpkit.Neighbours),
                    because=because,
                    status="refuted",
                    bound=lambda event: dpkit.PureDP(epsilon=event.ratio),
                )
                for name, because in CITED.items()
            ]

    return dpkit.load_plugins(discover=False, extra={"refuted": Plugin()})


def released_with(mechanism, accept, folder, installed):
    text = YAML.replace(
        "run: total\n    with: {column: age, passes: 2}", f"run: release\n    with: {{query: half, mechanism: {mechanism}}}"
    )
    (folder / "released.yaml").write_text(text.replace("accountant: zcdp", f"accept: [{accept}]"), encoding="utf-8")
    return load(folder / "released.yaml", installed=installed)


def test_a_refuted_claim_passes_only_where_its_own_rule_is_accepted(folder, refuted):
    for accept in ("", "other-noise-pure"):
        with pytest.raises(PlanRefusedError, match=r"refuted: false-noise.*accept: \[false-noise-pure\]"):
            released_with("false-noise", accept, folder, refuted).plan()
    assert released_with("false-noise", "false-noise-pure", folder, refuted).plan().epsilon <= 1.0


def test_what_is_refuted_is_not_offered(folder, refuted):
    with pytest.raises(SpecError, match="one that suits this query: laplace, gaussian\\.") as raised:
        released_with("discrete-laplace", "", folder, refuted)
    assert "false-noise" not in str(raised.value)
