"""Everything serialises to versioned JSON and back, equal; nothing else comes out of a text."""

import json
from dataclasses import dataclass

import pytest
from hypothesis import given
from laws.event_strategies import any_events, claims, distances

import dpkit
from dpkit import Citation, Event, LossRule, Neighbours, PureDP, PureEvent, SerialisationError
from dpkit.testing.strategies import examples, losses

SETTINGS = examples(80)


@SETTINGS
@given(value=any_events())
def test_events_survive(value):
    assert dpkit.from_json(dpkit.to_json(value)) == value


@SETTINGS
@given(value=losses())
def test_losses_survive(value):
    assert dpkit.from_json(dpkit.to_json(value)) == value


@SETTINGS
@given(value=claims())
def test_claims_survive(value):
    assert dpkit.from_json(dpkit.to_json(value)) == value


@SETTINGS
@given(value=distances())
def test_distances_survive(value):
    assert dpkit.from_json(dpkit.to_json(value)) == value


def test_the_text_is_strict_json_with_a_version():
    document = json.loads(dpkit.to_json(PureEvent(epsilon=0.5)))
    assert document == {"dpkit": 1, "value": {"is": "PureEvent", "epsilon": 0.5}}


def wrap(value, version=1):
    return json.dumps({"dpkit": version, "value": value})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "keys"),
        ('{"dpkit": 1}', "keys"),
        (wrap({"is": "PureEvent", "epsilon": 1.0}, version=2), "version 2"),
        (wrap({"is": "PureEvent", "epsilon": 1.0}, version="1"), "version '1'"),
        (wrap({"is": "Surprise"}), "nothing installed defines"),
        (wrap({"is": "Registry", "rules": [], "accountants": []}), "nothing installed defines"),
        (wrap({"epsilon": 1.0}), "nothing installed defines"),
        (wrap({"is": "PureEvent"}), "epsilon"),
        (wrap({"is": "PureEvent", "epsilon": 1.0, "delta": 0.0}), "delta"),
        (wrap({"is": "PureEvent", "epsilon": -1.0}), "refuses its fields"),
        (wrap({"is": "PureEvent", "epsilon": "1"}), "refuses its fields"),
        ('{"dpkit": 1, "value": {"is": "PureEvent", "epsilon": NaN}}', "not JSON"),
        (wrap({"is": "fraction", "value": "1/0"}), "fraction"),
        (wrap({"is": "neighbours", "value": "friends"}), "friends"),
        (wrap({"is": "float", "value": "x"}), "float"),
        (wrap({"is": "PureEvent", "epsilon": 1.0}, version=True), "version True"),
        ('{"dpkit": 1, "value": {"is": "PureEvent", "epsilon": 1.0, "epsilon": 2.0}}', "not JSON"),
    ],
)
def test_what_was_not_written_by_dpkit_is_refused(text, reason):
    with pytest.raises(SerialisationError, match=reason):
        dpkit.from_json(text)


def test_what_is_not_a_value_is_not_written():
    with pytest.raises(SerialisationError, match="no JSON form"):
        dpkit.to_json({1, 2})


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginEvent(Event):
    """An event of a plugin."""

    strength: float


def test_a_plugin_s_event_is_read_where_the_plugin_is_registered():
    rule = LossRule(
        name="plugin",
        event=PluginEvent,
        loss=PureDP,
        neighbours=tuple(Neighbours),
        because=Citation(key="dpkit", locator="a test"),
        bound=lambda event: PureDP(epsilon=event.strength),
    )
    registry = dpkit.default_registry().extended(rules=[rule])
    guarantee = dpkit.account([PluginEvent(strength=0.5), PureEvent(epsilon=1.0)], "best", registry=registry)
    text = dpkit.to_json(guarantee)
    assert dpkit.from_json(text, registry=registry) == guarantee
    with pytest.raises(SerialisationError, match="Install the plugin"):
        dpkit.from_json(text)


def edited(guarantee, change):
    document = json.loads(dpkit.to_json(guarantee))
    change(document["value"])
    return json.dumps(document)


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value["state"].update(rho={"is": "fraction", "value": "1/1000"}),
        lambda value: value.update(parts=[]),
        lambda value: value["parts"][0].update(times=1),
        lambda value: value["parts"][0].update(accepted=[]),
        lambda value: value.update(neighbours=None),
        lambda value: value.update(accountant="zcdp"),
        lambda value: value.update(state=None),
        lambda value: value.update(event=5),
        lambda value: value["event"].update(times=2),
    ],
)
def test_a_guarantee_is_priced_again_when_it_is_read(change):
    rule = LossRule(
        name="wishful",
        event=PluginEvent,
        loss=PureDP,
        neighbours=tuple(Neighbours),
        because=Citation(key="dpkit", locator="a test"),
        status="refuted",
        bound=lambda event: PureDP(epsilon=event.strength),
    )
    registry = dpkit.default_registry().extended(rules=[rule])
    event = dpkit.Repeat(event=PluginEvent(strength=0.5), times=10)
    guarantee = dpkit.account(event, "zcdp", registry=registry, accept=["wishful"])
    assert dpkit.from_json(dpkit.to_json(guarantee), registry=registry) == guarantee
    with pytest.raises(SerialisationError):
        dpkit.from_json(edited(guarantee, change), registry=registry)


def test_what_is_nested_too_deeply_is_a_clear_error():
    event = PureEvent(epsilon=1.0)
    for _ in range(5000):
        event = dpkit.Compose(events=(event,))
    with pytest.raises(SerialisationError, match="deep"):
        dpkit.to_json(event)
