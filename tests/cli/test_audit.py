"""`dpkit audit`: exit codes, formats, replay."""

import json

import pytest
from click.testing import CliRunner

from dpkit.cli import main


@pytest.fixture
def run():
    return lambda *arguments: CliRunner().invoke(main, ["audit", *arguments])


def test_a_right_mechanism_exits_with_zero(run):
    result = run("Laplace(scale=1.0)", "--at", "l1(1.0)", "--samples", "1000", "--seed", "1")
    assert result.exit_code == 0, result.output
    assert "REFUTED" in result.output


def test_a_refuted_claim_exits_with_one_and_can_be_replayed(run, tmp_path):
    path, junit, sarif = tmp_path / "certificate.json", tmp_path / "junit.xml", tmp_path / "audit.sarif"
    target = "dpkit.auditing.zoo.entries:leaking_mean"
    result = run(
        target, "--epsilon", "1", "--pair", "[[0.0], [0.0, 1.0]]", "--seed", "1", "--json", "--junit", junit, "--sarif", sarif
    )
    assert result.exit_code == 1, result.output
    path.write_text(result.stdout, encoding="utf-8")
    assert json.loads(result.stdout)["certificates"][0]["verdict"] == "refuted"
    assert "failure" in junit.read_text(encoding="utf-8")
    assert json.loads(sarif.read_text(encoding="utf-8"))["version"] == "2.1.0"
    replayed = run("replay", str(path))
    assert replayed.exit_code == 0, replayed.output
    path.write_text(result.stdout.replace('"samples": ', '"samples": 1'), encoding="utf-8")
    assert run("replay", str(path)).exit_code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("Nonsense(scale=1.0)", "--at", "l1(1.0)"),
        ("no.such.module:fn", "--epsilon", "1", "--pair", "[0, 1]"),
        ("math:floor", "--epsilon", "1", "--mu", "1", "--pair", "[0, 1]"),
        ("operator:setitem", "--epsilon", "1", "--pair", "[0, 1]"),
        ("math:floor", "--epsilon", "1", "--pair", "3"),
        ("Laplace(scale=1.0)",),
        ("Laplace(1.0)", "--at", "l1(1.0)"),
        ("Laplace(scale=)", "--at", "l1(1.0)"),
        ("Laplace(scale=1.0)", "--at", "one"),
        ("Laplace(scale=1.0)", "--at", "l1(one)"),
    ],
)
def test_wrong_input_exits_with_two(run, arguments):
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output


def test_a_plugin_is_audited_with_all_its_mechanisms_and_replayed(run, monkeypatch, tmp_path):
    from types import SimpleNamespace

    import dpkit
    from dpkit.hooks import manager

    def plugin(make):
        factory = dpkit.MechanismFactory(name="small", doc="A test.", make=make, metrics=("l1",), shapes=((),))
        hook = dpkit.hookimpl(lambda: [factory])
        return dpkit.load_plugins(discover=False, extra={"tiny": SimpleNamespace(dpkit_mechanisms=hook)})

    class Half:
        def event(self, at):
            return dpkit.Laplace(scale=1.0).event(at)

        def claims(self, at):
            return dpkit.Laplace(scale=1.0).claims(at)

        def release(self, value, rng):
            return dpkit.Laplace(scale=0.5).release(value, rng)

        def release_many(self, value, n, rng):
            return dpkit.Laplace(scale=0.5).release_many(value, n, rng)

    class Whole(Half):
        def release_many(self, value, n, rng):
            return dpkit.Laplace(scale=1.0).release_many(value, n, rng)

    for make, code in ((Half, 1), (Whole, 0)):
        loaded = plugin(make)
        monkeypatch.setattr(manager, "installed_plugins", lambda loaded=loaded: loaded)
        result = run("tiny", "--samples", "300", "--seed", "1", "--json")
        assert result.exit_code == code, result.output
        assert json.loads(result.stdout)["certificates"]
        monkeypatch.setattr(manager, "default_registry", lambda loaded=loaded: loaded.registry)
        monkeypatch.setattr("dpkit.auditing.certificates.replay.default_registry", lambda loaded=loaded: loaded.registry)
        path = tmp_path / "tiny.json"
        path.write_text(result.stdout, encoding="utf-8")
        again = run("replay", str(path))
        assert again.exit_code == 0, again.output
    path.write_text(result.stdout.replace('"seed": ', '"seed": 1'), encoding="utf-8")
    assert run("replay", str(path)).exit_code == 2


def test_a_ledger_file_and_a_trace_file_are_audited(run, tmp_path):
    import dpkit
    from dpkit.release.run_algorithms import trace_json

    path, trace = tmp_path / "a.ledger", tmp_path / "run.json"
    event = dpkit.Gaussian(scale=2.0).event(dpkit.l2(1.0))
    with dpkit.Ledger.create(path, budget=dpkit.ZCDP(rho=1.0), dataset="tests") as ledger:
        ledger.reserve("one", event)
        ledger.released(ledger.charge("one", event, key="a"), 1.5)
    result = run(str(path))
    assert result.exit_code == 0, result.output
    assert "ledger replay" in result.output
    certificate = tmp_path / "certificate.json"
    certificate.write_text(run(str(path), "--json").stdout, encoding="utf-8")
    assert run("replay", str(certificate)).exit_code == 0
    certificate.write_text("not JSON", encoding="utf-8")
    assert run("replay", str(certificate)).exit_code == 2
    trace.write_text(trace_json([], plan=event, neighbours=dpkit.Neighbours.ADD_REMOVE, accountant="zcdp"), encoding="utf-8")
    assert run(str(trace)).exit_code == 0
    trace.write_text("not a trace", encoding="utf-8")
    result = run(str(trace))
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output


def test_scores_of_canaries_are_audited(run, tmp_path):
    members, others = tmp_path / "members.csv", tmp_path / "others.csv"
    members.write_text("score\n" + "1.0\n" * 100)
    others.write_text("0.0\n" * 100)
    assert run("scores", str(members), str(others), "--epsilon", "1").exit_code == 1
    found = run("scores", str(members), str(others), "--epsilon", "9", "--delta", "1e-5", "--json")
    assert found.exit_code == 0
    assert json.loads(found.output)["verdict"] == "inconclusive"
    assert run("scores", str(members), str(others)).exit_code == 2
    others.write_text("0.0\nsesame\n")
    refused = run("scores", str(members), str(others), "--mu", "1")
    assert refused.exit_code == 2
    assert "sesame" not in refused.output


def test_a_program_is_audited_confirmed_and_its_relation_stated(run, tmp_path):
    script = tmp_path / "leaks.sh"
    script.write_text('#!/bin/sh\ngrep -c . "$1"\n')
    script.chmod(0o755)
    for name, rows in (("a.csv", "x\n1\n"), ("b.csv", "x\n1\n2\n")):
        (tmp_path / name).write_text(rows)
    data, command = [str(tmp_path / name) for name in ("a.csv", "b.csv")], f"{script} {{data}}"
    badge = tmp_path / "badge.svg"
    result = run("--command", command, "--epsilon", "1", "--data", *data, "--samples", "100", "--json", "--badge", badge)
    assert result.exit_code == 1, result.output
    (found,) = json.loads(result.stdout)["certificates"]
    assert found["relation"].startswith("add-remove, as the datasets are: one row more")
    assert badge.read_text().startswith("<svg")
    path = tmp_path / "c.json"
    path.write_text(result.stdout)
    again = run("confirm", str(path), "--command", command, "--data", *data, "--samples", "60")
    assert again.exit_code == 0, again.output
    other = run("confirm", str(path), "--command", f"/bin/cat {{data}} {script}", "--data", *data)
    assert other.exit_code == 2
    wrong = run("--command", command, "--epsilon", "1", "--data", *data, "--neighbours", "replace-one")
    assert wrong.exit_code == 2
    assert "one row more" in wrong.output


def test_pairs_are_searched_by_a_function_of_a_file(run, tmp_path):
    (tmp_path / "searched.py").write_text(
        "def pairs(rng):\n    return [1.0], [1.0, float(rng.uniform(-9, 9))]\n"
        "def total(data, n, rng):\n    return sum(min(d, 1.0) for d in data) + rng.laplace(size=n)\n"
    )
    file = f"{tmp_path}/searched.py"
    options = ("--epsilon", "1", "--samples", "4000", "--seed", "1", "--tries", "12", "--neighbours", "add-remove")
    result = run(f"{file}:total", "--search", f"{file}:pairs", *options)
    assert result.exit_code == 1, result.output
    assert "add-remove, as stated" in result.output


def test_certificates_are_signed_and_verified(run, tmp_path):
    key, path = tmp_path / "k", tmp_path / "c.json"
    assert run("keygen", str(key)).exit_code == 0
    result = run("Laplace(scale=1.0)", "--at", "l1(1.0)", "--samples", "100", "--seed", "1", "--json", "--sign", str(key))
    path.write_text(result.stdout)
    assert run("verify", str(path), "--key", f"{key}.pub").exit_code == 0
    path.write_text(result.stdout.replace('"budget": 100', '"budget": 101'))
    assert run("verify", str(path), "--key", f"{key}.pub").exit_code == 2


@pytest.mark.parametrize("options", [("x:y", "--zoo"), ("--command", "a {data}", "--http", "http://x"), ()])
def test_one_target_at_a_time(run, options):
    assert run(*options).exit_code == 2


def test_a_pair_is_tested_by_the_curve_of_its_noise(run, tmp_path, monkeypatch):
    (tmp_path / "half_the_noise.py").write_text("def fn(value, n, rng):\n    return value + rng.normal(scale=0.5, size=n)\n")
    monkeypatch.chdir(tmp_path)
    given = ("half_the_noise:fn", "--pair", "[0.0, 1.0]", "--samples", "4000", "--seed", "1", "--family", "gaussian")
    assert run(*given, "--epsilon", "4.9", "--delta", "1e-6").exit_code == 1
    assert run(*given, "--epsilon", "4.9").exit_code == 2


def test_hard_pairs_of_a_table_are_searched(run, tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    (tmp_path / "forgets_nan.py").write_text(
        "def fn(table, n, rng):\n    return table['age'].clip(0.0, 1.0).sum(skipna=False) + rng.laplace(size=n)\n"
    )
    (tmp_path / "example.csv").write_text("age\n0.5\n")
    monkeypatch.chdir(tmp_path)
    given = ("forgets_nan:fn", "--epsilon", "1", "--samples", "2000", "--seed", "1", "--table", "example.csv", "--tries", "20")
    assert run(*given, "--bounds", '{"age": [0, 1]}').exit_code == 1
    assert run(*given).exit_code == 2
    assert run(*given, "--bounds", "[0, 1]").exit_code == 2
