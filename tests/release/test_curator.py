"""The curator is the only door: it prices, charges, then releases; nothing leaks, is paid twice or goes unpaid."""

import pickle
import traceback
from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from release.algorithms import Averaging, total_query

import dpkit
from dpkit import Neighbours, Number, PrivacyUnit, Schema
from dpkit.data.setting import DeclaredSetting
from dpkit.errors import PlanExceededError, ReleaseFailedError
from dpkit.release.curator import DataCurator, Purse, planned_event
from dpkit.release.run_algorithms import charged_event, run_algorithms, trace_json

CANARY = 0.4093817261
SCHEMA = dpkit.Schema(columns=(dpkit.Number(name="x", lower=0.0, upper=1.0, missing=0.0),))
SETTING = DeclaredSetting(schema=SCHEMA, neighbours=dpkit.Neighbours.ADD_REMOVE)
NOISE = dpkit.Gaussian(scale=2.0)


def engine(values=(0.5, 0.25, CANARY)):
    return dpkit.BlockEngine(dpkit.open_source({"x": list(values)}, SCHEMA))


class Recording:
    """A purse that notes the order of things."""

    def __init__(self, log):
        self.log = log
        self.inner = Purse(dpkit.Repeat(event=planned_event(SETTING, total_query(), NOISE), times=100))

    def charge(self, event, *, key):
        self.log.append("charge")
        return self.inner.charge(event, key=key)

    def released(self, charge, value):
        self.log.append("recorded")

    def failed(self, charge, reason):
        self.log.append(f"failed {reason}")


class Watching:
    """An engine that notes when it is asked, and can break."""

    def __init__(self, log, inner, breaks=None):
        self.log, self.inner, self.breaks = log, inner, breaks

    def check(self, queries):
        self.log.append("check")
        self.inner.check(queries)

    def evaluate(self, queries):
        self.log.append("evaluate")
        if self.breaks is not None:
            raise self.breaks
        return self.inner.evaluate(queries)


def test_charging_happens_before_the_data_is_read_and_recording_before_the_release():
    log = []
    curator = DataCurator(engine=Watching(log, engine()), setting=SETTING, purse=Recording(log))
    curator.release(total_query(), NOISE)
    assert log == ["check", "charge", "evaluate", "recorded"]


def test_a_crash_after_the_charge_costs_budget_and_shows_nothing():
    log = []
    broken = Watching(log, engine(), breaks=RuntimeError(f"cell {CANARY}"))
    curator = DataCurator(engine=broken, setting=SETTING, purse=Recording(log))
    with pytest.raises(ReleaseFailedError) as caught:
        curator.release(total_query(), NOISE)
    assert log == ["check", "charge", "evaluate", "failed RuntimeError"]
    shown = "".join(traceback.format_exception(caught.value))
    assert str(CANARY) not in shown
    assert curator.trace == []


def test_what_the_plan_does_not_hold_is_refused_before_the_data_is_read():
    log = []
    event = planned_event(SETTING, total_query(), NOISE)
    curator = DataCurator(engine=Watching(log, engine()), setting=SETTING, purse=Purse(event))
    with pytest.raises(PlanExceededError):
        curator.release(total_query(), dpkit.Gaussian(scale=1.0))  # less noise than planned
    curator.release(total_query(), dpkit.Gaussian(scale=3.0))  # more noise is cheaper
    with pytest.raises(PlanExceededError):
        curator.release(total_query(), NOISE)  # the plan is used up
    assert log.count("evaluate") == 1


@pytest.mark.parametrize(
    "pairs",
    [[], [(total_query(column="y"), NOISE)], [(total_query(), dpkit.Gaussian(scale=2.0**120))]],
    ids=["nothing", "unknown column", "noise too coarse"],
)
def test_bad_input_costs_nothing(pairs):
    log = []
    curator = DataCurator(engine=Watching(log, engine()), setting=SETTING, purse=Recording(log))
    with pytest.raises((dpkit.InvalidValueError, dpkit.UnknownNameError)):
        curator.release_all(pairs)
    assert "charge" not in log


def test_several_queries_share_one_pass_and_one_charge():
    log = []
    curator = DataCurator(engine=Watching(log, engine()), setting=SETTING, purse=Recording(log))
    values = curator.release_all([(total_query("a"), NOISE), (total_query("b"), NOISE)])
    assert len(values) == 2
    assert float(values[0]) != float(values[1])
    assert log == ["check", "charge", "evaluate", "recorded"]
    assert len(dpkit.privacy.events.flatten(charged_event(curator.trace))) == 1


def test_a_seeded_curator_stamps_what_it_releases_and_a_secure_one_does_not():
    for rng, stamped in ((np.random.default_rng(1), True), (None, False)):
        curator = DataCurator(engine=engine(), setting=SETTING, purse=Recording([]), rng=rng)
        value = curator.release(total_query(), NOISE)
        assert isinstance(value, dpkit.Simulated) is stamped
        assert curator.trace[0].simulation is stamped


def test_no_attribute_of_the_door_leads_to_rows():
    curator = DataCurator(engine=engine(), setting=SETTING, purse=Recording([]))
    door = curator.door
    public = [name for name in dir(door) if not name.startswith("_")]
    assert public == ["release", "release_all", "release_keys"]
    for name in ("_engine", "engine", "source", "_source", "_curator", "rows", "data", "__dict__", "_table"):
        with pytest.raises(AttributeError):
            getattr(door, name)
    with pytest.raises(AttributeError):
        door.anything = 1
    for attempt in (lambda: pickle.dumps(door), lambda: pickle.dumps(curator)):
        with pytest.raises(TypeError, match="does not leave its process"):
            attempt()
    assert str(CANARY) not in repr(door) + repr(curator)


def test_the_trace_reprices_and_holds_no_row():
    algorithm = Averaging(SETTING)
    result = run_algorithms({"mean": (algorithm, 2.0)}, engine=engine(), setting=SETTING)
    text = trace_json(result.releases, plan=result.plan, neighbours=SETTING.neighbours, accountant="zcdp")
    assert str(CANARY) not in text
    charged = charged_event(result.releases)
    assert dpkit.account(charged).epsilon(delta=1e-6) == dpkit.account(result.plan).epsilon(delta=1e-6)
    import json

    parsed = json.loads(text)
    assert len(parsed["releases"]) == 3
    events = [dpkit.from_json(json.dumps(item["event"])) for item in parsed["releases"]]
    assert dpkit.account(events).epsilon(delta=1e-6) == dpkit.account(result.plan).epsilon(delta=1e-6)


@pytest.mark.parametrize("values", [[], [0.5], [float("nan")] * 3, [1e308, -1e308, float("inf")], [0.7] * 5000])
def test_degenerate_data_gives_a_noisy_answer(values):
    result = run_algorithms({"mean": (Averaging(SETTING), 2.0)}, engine=engine(values), setting=SETTING)
    assert result.outcomes["mean"].ending == "finished"
    assert np.isfinite(result.outcomes["mean"].result)
    truth = sum(min(1.0, max(0.0, value)) if value == value else 0.0 for value in values)
    assert abs(result.outcomes["mean"].result - truth) < 30.0


class TakesOne:
    """A mechanism of a third party that takes one distance at a time, in these metrics; in any, where there are none."""

    def __init__(self, *metrics):
        self.metrics = metrics

    def event(self, at):
        if self.metrics and at.metric not in self.metrics:
            raise dpkit.InvalidValueError(field="at", found=at.metric, allowed="another metric", where="TakesOne")
        return dpkit.LaplaceEvent(ratio=at.value)


@pytest.mark.parametrize(("metrics", "ratio"), [(("l2",), 3.0), (("l1",), 4.0), ((), 4.0)])
def test_a_mechanism_that_takes_one_distance_gets_one_that_suits_it(metrics, ratio):
    """The L1 distance where it does not look at the metric: the L2 distance would price Laplace noise too low."""
    setting = SimpleNamespace(distances=lambda query: (dpkit.l2(3.0), dpkit.l1(4.0)))
    assert planned_event(setting, total_query(), TakesOne(*metrics)) == dpkit.LaplaceEvent(ratio=ratio)


@pytest.mark.parametrize("metrics", [("records",), ()])
def test_a_mechanism_without_a_distance_that_suits_is_refused(metrics):
    setting = SimpleNamespace(distances=lambda query: (dpkit.l2(3.0), dpkit.linf(1.0)))
    with pytest.raises(dpkit.InvalidValueError, match=r"known here .l2, linf.*distance_in"):
        planned_event(setting, total_query(), TakesOne(*metrics))


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignEvent(dpkit.Event):
    """A plugin's event, in which a smaller ratio may well cost more."""

    ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedEvent(dpkit.Event):
    """A plugin's event that declares in which field less is cheaper."""

    cheaper_below: ClassVar[tuple[str, ...]] = ("ratio",)

    ratio: float
    kind: int = 0


def test_less_of_a_built_in_noise_s_ratio_is_cheaper():
    assert dpkit.GaussianEvent(ratio=1.0).covers(dpkit.GaussianEvent(ratio=0.5))
    assert not dpkit.GaussianEvent(ratio=0.5).covers(dpkit.GaussianEvent(ratio=1.0))
    assert not dpkit.LaplaceEvent(ratio=1.0).covers(dpkit.GaussianEvent(ratio=0.5))


def test_a_plugin_s_event_without_an_order_must_be_the_one_that_was_planned():
    assert ForeignEvent(ratio=1.0).covers(ForeignEvent(ratio=1.0))
    assert not ForeignEvent(ratio=1.0).covers(ForeignEvent(ratio=0.5))


def test_a_plugin_s_event_is_covered_by_the_order_that_it_declares():
    planned = OrderedEvent(ratio=1.0)
    assert planned.covers(OrderedEvent(ratio=0.5))
    assert not planned.covers(OrderedEvent(ratio=2.0))
    assert not planned.covers(OrderedEvent(ratio=0.5, kind=1))
    assert not planned.covers(OrderedEvent(ratio=float("nan")))
    plan = Purse(dpkit.Compose(events=(OrderedEvent(ratio=2.0), planned)), run="r")
    plan.charge(OrderedEvent(ratio=0.5), key="one")  # from the cheapest that covers it
    plan.charge(OrderedEvent(ratio=1.5), key="one")


def test_a_refused_charge_takes_nothing():
    plan = Purse(dpkit.Repeat(event=dpkit.GaussianEvent(ratio=1.0), times=2), run="r")
    with pytest.raises(PlanExceededError):
        plan.charge(dpkit.Repeat(event=dpkit.GaussianEvent(ratio=1.0), times=3), key="one")
    plan.charge(dpkit.Repeat(event=dpkit.GaussianEvent(ratio=1.0), times=2), key="one")
    with pytest.raises(PlanExceededError):
        plan.charge(dpkit.GaussianEvent(ratio=0.1), key="one")


@pytest.mark.parametrize(
    "setting",
    [
        DeclaredSetting(schema=SCHEMA, neighbours=Neighbours.REPLACE_ONE),
        DeclaredSetting(schema=SCHEMA, unit=PrivacyUnit(column="id", at_most=5)),
        DeclaredSetting(schema=Schema(columns=(Number(name="x", lower=0.0, upper=2.0),))),
    ],
    ids=["relation", "unit", "schema"],
)
def test_a_plan_for_other_data_is_refused(setting):
    engine = dpkit.BlockEngine(dpkit.open_source({"x": [0.5]}, SCHEMA))
    with pytest.raises(dpkit.InvalidValueError, match="what the source declares"):
        DataCurator(engine=engine, setting=setting, purse=Purse(dpkit.PureEvent(epsilon=1.0)))
