"""A certificate can be run again, and says the same; a tampered one does not pass."""

import json
from dataclasses import dataclass
from dataclasses import replace as changed
from types import SimpleNamespace

import numpy as np
import pytest

from dpkit import (
    AuditCertificate,
    InvalidValueError,
    Laplace,
    MechanismFactory,
    Parameter,
    PureDP,
    RandomizedResponse,
    audit,
    hookimpl,
    l1,
    records,
)
from dpkit.auditing.certificates.replay import function_path, replay
from dpkit.auditing.zoo import entry_named
from dpkit.hooks.manager import load_plugins


def half(value, n, rng):
    return value + rng.laplace(scale=0.5, size=n)


def test_a_function_is_replayed_from_its_seed():
    (certificate,) = audit(half, PureDP(epsilon=1.0), (0.0, 1.0), rng=np.random.default_rng())
    assert replay(certificate, half).confirmed
    assert replay(certificate, half, (0.0, 1.0)).confirmed


def test_another_function_is_not_confirmed():
    (certificate,) = audit(half, PureDP(epsilon=1.0), (0.0, 1.0), rng=1)
    result = replay(certificate, lambda value, n, rng: value + rng.laplace(scale=0.6, size=n))
    assert not result.confirmed
    assert "log_e_value" in result.differences


def test_an_edited_certificate_is_not_confirmed_even_when_sealed_anew():
    (certificate,) = audit(half, PureDP(epsilon=1.0), (0.0, 1.0), rng=1)
    assert replay(changed(certificate, samples=10), half).differences == ("digest",)
    resealed = changed(certificate, samples=10, digest="")
    assert resealed.intact
    assert replay(resealed, half).differences == ("samples",)


def test_mechanisms_and_zoo_entries_are_found_by_name():
    first, *_, last = audit(RandomizedResponse(epsilon=1.0), at=records(1), samples=1_000, rng=1)
    assert replay(first).confirmed
    assert replay(last).confirmed
    assert replay(entry_named("gaussian half, noise law").audit(rng=3)).confirmed


def test_an_entry_of_the_zoo_is_not_found_by_where_its_function_was_written():
    certificate = entry_named("mean that leaks N").audit(rng=3)
    moved = changed(certificate, recipe=certificate.recipe.replace("zoo.entries", "zoo.additive"), digest="")
    assert function_path(moved) is None
    assert replay(moved).confirmed


@dataclass(frozen=True)
class Weak:
    """Half of the noise that it claims."""

    scale: float
    note: str = "a"

    def event(self, at):
        return Laplace(scale=self.scale).event(at)

    def claims(self, at):
        return Laplace(scale=self.scale).claims(at)

    def release(self, value, rng):
        return self.release_many(value, 1, rng)[0]

    def release_many(self, value, n, rng):
        return np.asarray(value) + rng.laplace(scale=0.5 * self.scale, size=(n, *np.shape(value)))


def with_weak(**more):
    parameters = (Parameter(name="scale", kind="number", doc="The scale."), Parameter(name="note", kind="text", doc="A note."))
    factory = MechanismFactory(name="weak", doc="A test.", make=Weak, metrics=("l1",), parameters=parameters)
    plugin = SimpleNamespace(dpkit_mechanisms=hookimpl(lambda: [factory]), **more)
    loaded = load_plugins(discover=False, extra={"weak": plugin})
    assert loaded.plugins[-1].healthy, loaded.plugins[-1].problems
    return loaded.registry


def test_a_mechanism_of_a_plugin_is_made_again_by_the_registry():
    registry = with_weak()
    pairs = [(np.zeros(3), np.array([0.0, 0.0, 1.0])), (np.float64(5.0), np.float64(6.0))]
    found = audit(Weak(1.0, note="b"), at=l1(1.0), pairs=pairs, samples=2_000, rng=1, registry=registry)
    refuted = next(one for one in found if one.refuted)
    for one in (refuted, found[-1]):  # each is the whole audit again
        read = AuditCertificate.from_json(one.to_json())
        result = replay(read, registry=registry)
        assert result.confirmed, result.differences
        assert result.certificate.recipe == one.recipe
    other = json.loads(found[0].recipe)
    other["target"]["parameters"]["scale"]["value"] = 2.0
    forged = changed(found[0], recipe=json.dumps(other), digest="")
    assert not replay(forged, registry=registry).confirmed


def test_what_a_text_cannot_hold_is_asked_for_by_name():
    (certificate,) = audit(
        lambda value, n, rng: value + rng.laplace(size=n), PureDP(epsilon=1.0), (0.0, 1.0), samples=40, rng=1
    )
    with pytest.raises(InvalidValueError, match=r"target=.*module:function"):
        replay(certificate)
    stranger = Weak(1.0)
    for one in audit(stranger, at=l1(1.0), samples=40, rng=1):
        with pytest.raises(InvalidValueError, match="target"):
            replay(one)
        assert replay(one, stranger).confirmed

    class Odd:
        def log_density(self, output, value):
            return -np.abs(np.asarray(output) - value)

    for one in audit(half, PureDP(epsilon=1.0), (0.0, 1.0), samples=400, rng=1, density=Odd()):
        with pytest.raises(InvalidValueError, match="density"):
            replay(one, half)
        assert replay(one, half, density=Odd()).confirmed
    long = (np.zeros(5_000), np.eye(1, 5_000)[0])
    (one,) = audit(lambda data, n, rng: data.sum() + rng.laplace(size=n), PureDP(epsilon=1.0), long, samples=40, rng=1)
    assert len(one.to_json()) < 4_000
    with pytest.raises(InvalidValueError, match="pair"):
        replay(one, lambda data, n, rng: data.sum() + rng.laplace(size=n))


def test_auditors_that_shared_the_error_probability_must_be_there_again():
    class Silent:
        name = "silent"

        def falsify(self, target, claim, pair, *, samples, alpha, rng):
            return None

    registry = with_weak(dpkit_auditors=hookimpl(lambda: [Silent()]))
    one = audit(Weak(1.0), at=l1(1.0), samples=40, rng=1, registry=registry)[0]
    assert replay(one, registry=registry).confirmed
    with pytest.raises(InvalidValueError, match="silent"):
        replay(one, registry=with_weak())
