"""A plan is priced before any data is read, says what it relies on, and is refused when it cannot be run."""

from dataclasses import replace

import numpy as np
import pytest

import dpkit
from dpkit.analysis.reading.load import load
from dpkit.errors import PlanRefusedError, SpecError
from tests.analysis.conftest import YAML

SECOND = "  - id: again\n    run: total\n    share: 3\n    with: {column: age}\nreport:"


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
