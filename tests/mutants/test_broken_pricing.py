"""The laws of pricing, profiles, calibration and JSON catch code that was broken in the way which they forbid."""

import json
import math

import pytest

import dpkit
from dpkit import ApproxDP, Compose, LaplaceEvent, PureEvent, Repeat
from dpkit.core import assess, calibrate, events, serialise
from dpkit.core.conversions import gaussian_delta
from dpkit.testing.profile_laws import profile_falls_no_faster_than_the_odds, profile_is_convex_and_decreasing


def test_a_flattening_that_forgets_the_outer_count_is_caught(monkeypatch):
    def forgetful(event):
        counts = {}
        pending = [(event, 1)]
        while pending:
            current, times = pending.pop()
            if isinstance(current, events.Repeat):
                pending.append((current.event, current.times))  # not times * current.times
            elif isinstance(current, events.Compose):
                pending.extend((inner, times) for inner in current.events)
            else:
                counts[current] = counts.get(current, 0) + times
        return counts

    nested = Repeat(event=Repeat(event=PureEvent(epsilon=0.5), times=3), times=4)
    flat = Repeat(event=PureEvent(epsilon=0.5), times=12)

    def law():
        assert dpkit.account(nested, "pure").epsilon(delta=0) == dpkit.account(flat, "pure").epsilon(delta=0)

    law()
    monkeypatch.setattr(assess, "flatten", forgetful)
    with pytest.raises(AssertionError):
        law()


def test_a_flattening_that_merges_equal_events_without_counting_is_caught(monkeypatch):
    monkeypatch.setattr(assess, "flatten", lambda event: dict.fromkeys(events.flatten(event), 1))
    doubled = Compose(events=(PureEvent(epsilon=0.5), PureEvent(epsilon=0.5)))
    assert dpkit.account(doubled, "pure").epsilon(delta=0) != 1.0


def test_a_calibration_that_returns_the_wrong_end_is_caught(monkeypatch):
    def family(scale):
        return Repeat(event=LaplaceEvent(ratio=1.0 / scale), times=7)

    budget = ApproxDP(epsilon=1.0, delta=1e-6)

    def law():
        scale = dpkit.calibrate(family, budget, "zcdp")
        assert dpkit.account(family(scale), "zcdp").epsilon(delta=1e-6) <= 1.0

    law()
    right = calibrate.first_true
    monkeypatch.setattr(calibrate, "first_true", lambda *a, **k: tuple(reversed(right(*a, **k))))
    with pytest.raises(AssertionError):
        law()


@pytest.mark.parametrize(
    "broken",
    [
        lambda epsilon: gaussian_delta(1.0, epsilon=epsilon) + 0.01 * math.sin(5 * epsilon),  # rises and falls
        lambda epsilon: max(0.0, gaussian_delta(1.0, epsilon=epsilon) - 0.02 * epsilon * (4 - epsilon)),  # dented
        lambda epsilon: 1.0 - gaussian_delta(1.0, epsilon=epsilon),  # the other event
        lambda epsilon: math.sqrt(gaussian_delta(1.0, epsilon=epsilon)) - 0.7,  # not a probability
    ],
)
def test_a_bent_profile_is_caught(broken):
    with pytest.raises(AssertionError):
        profile_is_convex_and_decreasing(broken, largest=4.0)


def test_a_profile_that_falls_too_fast_is_caught():
    with pytest.raises(AssertionError):
        profile_falls_no_faster_than_the_odds(lambda epsilon: math.exp(-100.0 * epsilon), largest=0.5)


def test_a_writer_that_rounds_floats_is_caught(monkeypatch):
    event = LaplaceEvent(ratio=0.1 + 0.2)
    assert dpkit.from_json(dpkit.to_json(event)) == event
    right = json.dumps

    def rounding(document, **options):
        return right(json.loads(right(document), parse_float=lambda text: float(f"{float(text):.12g}")), **options)

    monkeypatch.setattr(serialise.json, "dumps", rounding)
    assert dpkit.from_json(dpkit.to_json(event)) != event
