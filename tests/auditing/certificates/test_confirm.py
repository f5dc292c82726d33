"""A frozen event is counted again on fresh draws: a target with randomness of its own can be confirmed, a right one cannot."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from dpkit import ApproxDP, AuditCertificate, InvalidValueError, Laplace, PureDP, audit, confirm, l1
from dpkit.auditing.certificates.certificate import _read
from dpkit.auditing.certificates.confirm import event_of
from dpkit.auditing.certificates.replay import replay
from dpkit.auditing.zoo import ZOO, entry_named

OWN = np.random.default_rng(7)


def own_randomness(value, n, rng):
    return value + OWN.laplace(scale=0.5, size=n)


def right(value, n, rng):
    return value + OWN.laplace(size=n)


CLAIM = PureDP(epsilon=1.0)


def test_a_target_with_its_own_randomness_is_confirmed():
    (certificate,) = audit(own_randomness, CLAIM, (0.0, 1.0), rng=1)
    assert certificate.confirmed
    assert not replay(certificate, own_randomness).confirmed
    found = confirm(AuditCertificate.from_json(certificate.to_json()), own_randomness, rng=2)
    assert found.confirmed
    assert 1.0 < found.epsilon_lower < 2.0
    assert "confirmed on fresh draws" in str(found)


def test_a_right_target_is_not_confirmed_by_a_forged_refutation():
    (certificate,) = audit(own_randomness, CLAIM, (0.0, 1.0), rng=1)
    here = right.__module__
    recipe = certificate.recipe.replace("own_randomness", "right")
    forged = replace(certificate, target=f"{here}:right", recipe=recipe, digest="")
    assert forged.intact
    assert not any(confirm(forged, right, rng=seed).confirmed for seed in range(20))


def test_a_resealed_certificate_with_another_target_confirms_nothing():
    (certificate,) = audit(own_randomness, CLAIM, (0.0, 1.0), rng=1)
    relabelled = replace(certificate, target="famous_library:mean", digest="")
    with pytest.raises(InvalidValueError, match="famous_library"):
        confirm(relabelled, own_randomness)
    assert "target" in replay(relabelled, own_randomness).differences
    for change in ({"relation": "replace-one"}, {"note": "a flaw of somebody"}):
        assert set(change) <= set(replay(replace(certificate, **change, digest=""), own_randomness).differences)
    moved = replace(certificate.claim, neighbours=type(certificate.claim.neighbours).REPLACE_ONE)
    assert not replay(replace(certificate, claim=moved, digest=""), own_randomness).confirmed


RESEALED = {
    "claim": {"claim": {"neighbours": "replace-one"}},
    "because": {"claim": {"status": "proved"}},
    "relation": {"relation": "add-remove, as stated"},
    "hypothesis": {"hypothesis": "floating point"},
    "level": {"confidence": 0.99999},
    "e-value": {"log_e_value": math.inf},
    "samples": {"samples": 4, "pilot_samples": 0},
    "lower bound": {"epsilon_lower": 1.9},
    "delta": {"delta": 0.01},
    "counts": {"witness": {"hits": [1490, 3]}},
    "more counts": {"bound_samples": 10},
    "another event": {"witness": {"code": "lambda y: y <= 0.6"}},
}


@pytest.mark.parametrize("part", RESEALED)
def test_what_recipe_counts_or_draws_contradict_is_not_confirmed(part):
    (certificate,) = audit(own_randomness, CLAIM, (0.0, 1.0), rng=1)
    body = json.loads(certificate.to_json())
    for name, value in RESEALED[part].items():
        if name == "claim":
            inner = {"neighbours": {"is": "neighbours", "value": "replace-one"}} if "neighbours" in value else value
            body["claim"] |= inner
        else:
            body[name] = body[name] | value if isinstance(value, dict) else "inf" if value == math.inf else value
    forged = resealed(body)
    found = confirm(forged, own_randomness, rng=2)
    assert not found.confirmed
    name = {"because": "claim", "more counts": "counts", "another event": "counts"}.get(part, part)
    assert name in found.contradicted
    assert f"its {name}" in str(found)
    assert confirm(certificate, own_randomness, rng=2).contradicted == ()


def resealed(body):
    """The certificate of a changed text, with a digest that fits."""
    return replace(_read(json.dumps(body)), digest="")


def test_other_software_and_a_source_that_is_not_pinned_are_told():
    (certificate,) = audit(own_randomness, CLAIM, (0.0, 1.0), rng=1)
    older = replace(certificate, software=(("dpkit", "0.0.1"), *certificate.software[1:]), digest="")
    assert confirm(older, own_randomness, rng=1).drifted == ("dpkit",)
    assert "dpkit" in replay(older, own_randomness).drifted
    recipe = json.loads(certificate.recipe)
    recipe["pinned"] = {}
    bare = replace(certificate, recipe=json.dumps(recipe), digest="")
    assert confirm(bare, own_randomness, rng=1).drifted == ("source, which is not pinned",)
    assert "source" in replay(bare, own_randomness).differences


def test_a_changed_source_is_named():
    (certificate,) = audit(own_randomness, CLAIM, (0.0, 1.0), rng=1)
    recipe = json.loads(certificate.recipe)
    recipe["pinned"]["source"] = "sha256:0"
    other = replace(certificate, recipe=json.dumps(recipe), digest="")
    assert "source" in replay(other, own_randomness).differences
    assert confirm(other, own_randomness, rng=1).drifted == ("source",)


LONG = ("sparse vector 3", "sparse vector 4", "gaussian half, black box")


@pytest.mark.parametrize(
    "entry",
    [pytest.param(one, marks=pytest.mark.slow if one.name in LONG else ()) for one in ZOO if one.broken],
    ids=lambda one: one.name,
)
def test_every_refutation_of_the_zoo_names_an_event_that_runs(entry):
    certificate = entry.audit(samples=60_000, rng=3)
    if not certificate.refuted:
        pytest.skip("needs more samples than a fast test has")
    density = None
    if "log_density(" in certificate.witness.code:
        assert entry.density is not None
        density = lambda outputs, side: np.zeros(len(outputs))  # noqa: E731
    assert event_of(certificate, density)


@pytest.mark.parametrize("name", ["gaussian half, noise law", "mean that leaks N"])
def test_entries_of_the_zoo_are_confirmed_by_name(name):
    assert confirm(entry_named(name).audit(rng=3), rng=4).confirmed


def test_what_cannot_be_confirmed_is_refused():
    survived = audit(Laplace(scale=1.0), at=l1(1.0), samples=100, rng=1)[0]
    with pytest.raises(InvalidValueError, match=r"not refuted|inconclusive"):
        confirm(survived)
    (certificate,) = audit(own_randomness, CLAIM, (0.0, 1.0), rng=1)
    with pytest.raises(InvalidValueError, match="changed"):
        confirm(replace(certificate, samples=3), own_randomness)
    with pytest.raises(InvalidValueError, match="event"):
        event_of(replace(certificate, witness=replace(certificate.witness, code="")))


def test_counts_of_a_profile_claim_are_held_against_its_own_point():
    def leaks(value, n, rng):
        return np.where(rng.random(n) < 0.05, 100.0 * value, value + rng.laplace(size=n))

    (certificate,) = audit(leaks, ApproxDP(epsilon=1.0, delta=1e-3), (0.0, 1.0), rng=1)
    assert certificate.confirmed
    assert confirm(certificate, leaks, rng=1).confirmed


def test_outcomes_of_any_kind_are_confirmed():
    def raises(rows, n, rng):
        if OWN.random() < 0.3 * len(rows):
            raise ValueError("private")
        return [float(OWN.laplace())] * n

    (certificate,) = audit(raises, CLAIM, ([], [1.0]), rng=1)
    assert certificate.refuted
    assert confirm(certificate, raises, ([], [1.0]), rng=1).confirmed


def test_a_rare_exception_beside_numbers_is_confirmed():
    def sometimes(rows):
        if OWN.random() < 0.05 and len(rows) > 1:
            raise KeyError(rows[1])
        return len(rows) + OWN.laplace()

    (certificate,) = audit(sometimes, CLAIM, ([1], [1, 1]), samples=8_000, rng=3)
    assert certificate.confirmed
    assert confirm(certificate, sometimes, rng=1).confirmed
