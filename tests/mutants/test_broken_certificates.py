"""Pins, signatures, names and confirmations with one line changed: what makes a certificate believable has its mutants."""

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpkit import InvalidValueError, PureDP, audit
from dpkit.auditing import independence, plan_audit, successive
from dpkit.auditing.certificates import certificate as certificates
from dpkit.auditing.certificates import confirm as confirming
from dpkit.auditing.certificates import pins, signing
from dpkit.auditing.certificates import replay as replaying
from dpkit.auditing.targets.programs import CommandTarget

sys.path.insert(0, str(Path(__file__).parent))
from test_broken_audits import mutated

ONE = PureDP(epsilon=1.0)
PAIR = (0.0, 1.0)


def half(value, n, rng):
    return value + rng.laplace(scale=0.5, size=n)


def other(value, n, rng):
    return value + rng.laplace(scale=0.5, size=n)


@pytest.fixture(scope="module")
def refuted():
    (found,) = audit(half, ONE, PAIR, rng=1)
    assert found.refuted
    return found


def relabelled(found, **named):
    """Another name, sealed anew by whoever wrote it."""
    return replace(found, **named, digest="")


# --- pins


def sees_a_change(module, folder, monkeypatch):
    monkeypatch.syspath_prepend(folder)
    name = f"pinned_{abs(hash(folder))}"
    place = folder / f"{name}.py"
    place.write_text("import click\n\ndef fn(d, n, rng):\n    return d\n")
    code = importlib.import_module(name).fn
    before = module.pins_of(code)
    place.write_text("import click\n\ndef fn(d, n, rng):\n    return 2 * d\n")
    return "click" in before and module.pins_of(code) != before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("hashlib.sha256(file.read())", "hashlib.sha256(path.encode())"),
        ("found[distribution] = installed_version(distribution)", "installed_version(distribution)"),
    ],
)
def test_pins_that_see_no_change_are_caught(old, new, tmp_path, monkeypatch):
    for place in ("right", "wrong"):
        (tmp_path / place).mkdir()
    assert sees_a_change(pins, tmp_path / "right", monkeypatch)
    assert not sees_a_change(mutated(pins, old, new), tmp_path / "wrong", monkeypatch)


def sees_another_program(module, folder):
    program = folder / "release.sh"
    program.write_text("echo 1\n")
    target = CommandTarget(f"sh {program} {{data}}")
    before = module.pins_of(target)
    program.write_text("echo 2\n")
    return "source of release.sh" in before and module.pins_of(target) != before


def test_pins_of_programs_that_see_no_change_are_caught(tmp_path):
    assert sees_another_program(pins, tmp_path)
    assert not sees_another_program(
        mutated(pins, "hashlib.sha256(path.read_bytes())", "hashlib.sha256(word.encode())"), tmp_path
    )


def test_a_replay_that_believes_a_changed_source_is_caught(refuted):
    """The recipe pins another source than what is run: the numbers are the same, and the replay still says no."""
    recipe = json.loads(refuted.recipe)
    recipe["pinned"]["source"] = "sha256:" + "0" * 64
    found = relabelled(refuted, recipe=json.dumps(recipe))
    assert replaying.replay(found, half).differences == ("source",)
    assert mutated(replaying, 'different.append("source")', "pass").replay(found, half).confirmed


# --- signatures


def trusts_only_the_signed_text(module, found, folder):
    pytest.importorskip("cryptography", reason="signing needs the extra dpkit[signing]")
    public = module.make_key(folder / "mine")
    stranger = module.make_key(folder / "stranger")
    signed = module.sign(found, folder / "mine")
    if not module.is_signed_by(signed, public):
        return False
    forged = [
        relabelled(signed, target="another"),
        replace(signed, target="another"),
        replace(signed, signature="00" * 64),
        replace(module.sign(found, folder / "stranger"), signer=public),
    ]
    return not any(module.is_signed_by(one, public) for one in forged) and not module.is_signed_by(signed, stranger)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return _CONTEXT + certificate.digest.encode()", "return _CONTEXT"),
        ("if not certificate.intact or not certificate.signature", "if not certificate.signature"),
        (
            "    except (InvalidSignature, ValueError):\n        return False",
            "    except (InvalidSignature, ValueError):\n        pass",
        ),
    ],
)
def test_signatures_that_vouch_for_another_text_are_caught(old, new, refuted, tmp_path):
    for place in ("right", "wrong"):
        (tmp_path / place).mkdir()
    assert trusts_only_the_signed_text(signing, refuted, tmp_path / "right")
    assert not trusts_only_the_signed_text(mutated(signing, old, new), refuted, tmp_path / "wrong")


# --- names


def believes_another_name(module, found):
    """Whether a certificate of one function, named after another, is confirmed by that other."""
    return module.replay(relabelled(found, target="bank:mean"), half).confirmed


def test_a_replay_that_believes_the_name_is_caught(refuted):
    assert not believes_another_name(replaying, refuted)
    mutant = mutated(replaying, "if part.name not in ignored and", 'if part.name not in (*ignored, "target") and')
    assert believes_another_name(mutant, refuted)


@pytest.mark.parametrize("said", [{"relation": "replace one of 10 rows"}, {"note": "checked by the maintainers"}])
def test_a_replay_that_believes_the_relation_or_the_note_is_caught(said, refuted):
    (field,) = said
    assert not replaying.replay(relabelled(refuted, **said), half).confirmed
    mutant = mutated(replaying, "if part.name not in ignored and", f'if part.name not in (*ignored, "{field}") and')
    assert mutant.replay(relabelled(refuted, **said), half).confirmed


def refuses(module, found, fn):
    try:
        module.confirm(found, fn, samples=2_000, rng=2)
    except InvalidValueError:
        return True
    return False


def test_a_confirmation_that_takes_any_target_is_caught(refuted):
    assert refuses(replaying, refuted, other)
    assert refuses(replaying, relabelled(refuted, target="bank:mean"), half)
    mutant = mutated(replaying, 'if certificate.target not in (called, f"{label}: {called}"):', "if False:")
    assert not refuses(mutant, refuted, other)
    assert not refuses(mutant, relabelled(refuted, target="bank:mean"), half)


def test_a_name_of_somebodys_choice_is_caught():
    """What was audited is named by itself, also where a label stands before it."""

    def called(module):
        asked = {"at": None, "neighbours": None, "pairs": (), "density": None, "falsifiers": None, "floating_point": None}
        return module.plan_audit(half, ONE, PAIR, 0.999, 100, 1, **asked, registry=registry(), name="bank").target

    assert called(plan_audit).endswith(":half")
    mutant = mutated(plan_audit, 'else f"{name}: {called}"', "else name")
    assert called(mutant) == "bank"


def registry():
    from dpkit.hooks.manager import default_registry

    return default_registry()


# --- fresh draws


def test_a_confirmation_that_counts_nothing_is_caught(refuted):
    """A right target is not confirmed by the event of a wrong one: the certificate's own counts are no fresh draws."""

    def right(value, n, rng):
        return value + rng.laplace(scale=1.0, size=n)

    count = {"density": None, "confidence": 0.999, "drifted": (), "seed": 3, "samples": 20_000}
    assert not confirming.count_event(refuted, right, PAIR, **count).confirmed
    assert confirming.count_event(refuted, half, PAIR, **count).confirmed
    honest = "confirmed=lower > point.epsilon and not dependence and not contradicted"
    mutant = mutated(confirming, honest, "confirmed=certificate.epsilon_lower > point.epsilon")
    assert mutant.count_event(refuted, right, PAIR, **count).confirmed


def test_a_refutation_that_no_fresh_count_supports_is_not_called_confirmed(refuted):
    def unsupported(module):
        text = json.loads(refuted.to_json())
        text["witness"]["hits"], text["witness"]["trials"], text["epsilon_lower"], text["digest"] = [10, 10], 100, 0.0, ""
        return module.AuditCertificate.from_json(json.dumps(text)).confirmed

    assert not unsupported(certificates)
    assert unsupported(mutated(certificates, "self.epsilon_lower > point.epsilon", "self.epsilon_lower >= 0.0"))


# --- independence


def shared(value, n, rng):
    return value + rng.laplace() + np.zeros(n)


@pytest.mark.parametrize(("old", "new"), [("if _clusters(batch[:, :, entry], rng) <= level:", "if False:")])
def test_a_look_at_calls_that_sees_no_clusters_is_caught(old, new):
    seed = np.random.SeedSequence(1)
    assert independence.find_dependence(shared, PAIR, 4, seed).found
    assert "depend on each other" not in mutated(independence, old, new).find_dependence(shared, PAIR, 4, seed).found


@pytest.mark.parametrize(
    ("old", "new", "outputs"),
    [
        ("if _repeats(places):", "if False:", np.repeat(np.random.default_rng(1).laplace(size=20), 20)),
        ("any(_correlated(rows[:, entry])", "any(False", np.cumsum(np.random.default_rng(1).laplace(size=400))),
    ],
)
def test_a_look_at_successive_outputs_that_sees_nothing_is_caught(old, new, outputs):
    assert successive.depend(outputs[:, None])
    assert not mutated(successive, old, new).depend(outputs[:, None])


# --- what a certificate says beside its event


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"epsilon_lower": 1.95}, "certificate.epsilon_lower > most * (1.0 + 1e-9) + 1e-9"),
        ({"samples": 8, "pilot_samples": 0}, "evidence > 0.5 * betting * _MOST_PAIR + 1e-9"),
        ({"confidence": 0.9999999}, "certificate.level > (1.0 - certificate.confidence) * (1.0 + 1e-9)"),
        ({"hypothesis": "floating point"}, 'by_rounding != (certificate.hypothesis == "floating point")'),
    ],
)
def test_a_confirmation_that_believes_the_certificate_is_caught(refuted, change, line):
    forged = relabelled(refuted, **change)
    assert confirming.contradictions(refuted) == ()
    assert confirming.contradictions(forged)
    assert not set(mutated(confirming, line, "False").contradictions(forged)) & {"samples", "level", "hypothesis"}


def test_a_confirmation_that_does_not_compare_counts_is_caught(refuted):
    wider = relabelled(refuted, witness=replace(refuted.witness, code="lambda y: y >= 0.4"))
    assert not replaying.confirm(wider, half, rng=1).confirmed
    blind = mutated(confirming, "if max(low for low, _ in sides) > min(high for _, high in sides):", "if False:")
    arguments = {"density": None, "confidence": 0.999, "samples": 200_000, "seed": 1}
    assert blind.count_event(wider, half, PAIR, **arguments).confirmed


def test_a_confirmation_of_any_relation_is_caught(refuted):
    forged = relabelled(refuted, relation="add-remove, as stated")
    assert not replaying.confirm(forged, half, rng=1).confirmed
    blind = mutated(replaying, 'return () if certificate.relation in words else ("relation",)', "return ()")
    assert blind.confirm(forged, half, rng=1).confirmed
