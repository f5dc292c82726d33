"""The kit finds: each wrong plugin fails the law that names its mistake, each right one passes every law, at every seed."""

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import dpkit
from dpkit.testing import check_plugin
from dpkit.testing.accountant_composition_laws import LARGE_LAWS
from dpkit.testing.algorithm_laws import ALGORITHM_LAWS
from dpkit.testing.plugin_laws import MECHANISM_LAWS, laws_of_plugin
from dpkit.testing.run_laws import run_check
from tests.mutants import little

HERE = Path(__file__).parent
WRONG = sorted(path.stem for path in (HERE / "plugins").glob("*.py"))
RIGHT = sorted(path.stem for path in (HERE / "right_plugins").glob("*.py"))
FAST_SEEDS = (1, 2, 3)
LONG_SEEDS = 200
FAST_LAWS = (
    "draws_are_independent",
    "outputs_lie_on_a_fixed_grid",
    "sampler_follows_its_declared_law",
    "accuracy_covers_the_error",
)
SEEDLESS = (
    "claims_are_what_the_rules_give",
    "price_grows_with_distance",
    "release_refuses_nan_and_infinity",
    "errors_show_no_value",
)
"""Laws that draw nothing: another seed asks them the same question again."""


@cache
def plugin(folder, name):
    """The module in that file, registered so that pickle finds its classes."""
    qualified = f"kit_quality_{folder}_{name}"
    spec = importlib.util.spec_from_file_location(qualified, HERE / folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[qualified] = module
    spec.loader.exec_module(module)
    return module


def results(folder, name, *, seed=0, laws=None, without=()):
    checks = laws_of_plugin(plugin(folder, name), name=name.replace("_", "-"), seed=seed)
    chosen = [check for check in checks if (laws is None or check.law in laws) and check.law not in without]
    return [run_check(check) for check in chosen]


def failures(outcomes):
    return [f"{found.subject}: {found.law}: {found.detail}" for found in outcomes if found.outcome == "failed"]


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_plugin_fails_the_law_that_names_its_mistake(name):
    wrong = plugin("plugins", name)
    outcomes = results("plugins", name, laws=(wrong.CAUGHT_BY,))
    outcomes = [found for found in outcomes if found.subject == getattr(wrong, "SUBJECT", found.subject)]
    assert [found.outcome for found in outcomes] == ["failed"]
    assert "raised" not in outcomes[0].detail or name == "rows_that_raise"  # it was judged, it did not merely crash


AUDITED = ("coin_response", "geometric", "gumbel_choice")
"""Of each form one, on which the law that costs as much as all others together is tried in every run."""


OF_EACH_FORM = (*AUDITED, "averaging", "concentrated_accountant", "queries", "sampled_count", "truncated_laplace")
"""Of each form one, on which every law is tried in a short run; the built-in mechanisms pass them there too."""


@pytest.mark.parametrize(
    "name", [name if name in OF_EACH_FORM else pytest.param(name, marks=pytest.mark.slow) for name in RIGHT]
)
def test_a_right_plugin_passes_every_law(name):
    outcomes = results("right_plugins", name, without=() if name in AUDITED else ("claims_survive_a_quick_audit",))
    assert failures(outcomes) == []
    assert all(found.detail for found in outcomes if found.outcome == "skipped")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in RIGHT if name not in AUDITED])
def test_a_right_plugin_survives_a_quick_audit(name):
    assert failures(results("right_plugins", name, laws=("claims_survive_a_quick_audit",))) == []


@pytest.mark.parametrize("name", [*RIGHT[:3], *(pytest.param(name, marks=pytest.mark.slow) for name in RIGHT[3:])])
def test_no_false_alarm_at_a_few_seeds(name):
    for seed in FAST_SEEDS:
        assert failures(results("right_plugins", name, seed=seed, laws=FAST_LAWS)) == []


@pytest.mark.parametrize("name", little.WRONG)
def test_a_little_wrong_plugin_is_caught(name):
    law, outcome = little.WRONG[name]
    checks = [check for check in laws_of_plugin(little.module_of(name), name=name.replace("_", "-")) if check.law == law]
    found = [run_check(check) for check in checks]
    assert outcome in [result.outcome for result in found]
    assert not any("raised" in result.detail for result in found)  # it was judged, it did not merely crash


QUICK = ("wide_staircase", "income_of_the_data_page", "amplification_as_proved")


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in little.RIGHT]
)
def test_a_little_right_plugin_is_left_alone(name):
    assert failures(check_plugin(little.module_of(name))) == []


def test_check_plugin_tells_subject_law_outcome_and_detail():
    found = check_plugin(little.module_of("half_price_without_a_mechanism"))
    assert [(subject, law, outcome) for subject, law, outcome, _ in found] == [
        ("loss rule half-price", "the_rule_holds_for_its_mechanisms", "failed"),
        ("loss rule half-price", "a_curve_holds_at_every_order", "skipped"),
        ("loss rule half-price", "the_order_of_its_events_holds", "skipped"),
    ]
    assert all(detail for *_, detail in found)


def test_check_plugin_tells_why_a_module_cannot_be_loaded():
    ((subject, law, outcome, detail),) = check_plugin(ModuleType("empty_plugin"))
    assert (subject, law, outcome) == ("plugin empty-plugin", "the_plugin_loads", "failed")
    assert "implements no hook" in detail


def test_what_has_no_laws_is_unchecked():
    module = ModuleType("pairs_only")
    pairs = dpkit.NeighbourPairs(name="hard", mechanism="laplace", pairs=lambda mechanism, at: [])
    module.dpkit_neighbour_pairs = dpkit.hookimpl(lambda: [pairs])
    assert [(found.subject, found.outcome) for found in check_plugin(module)] == [("neighbour pairs hard", "unchecked")]


def test_there_are_enough_of_both():
    assert len(WRONG) + len(little.WRONG) >= 120
    assert len(RIGHT) + len(little.RIGHT) >= 20


def test_every_law_has_a_mutant():
    caught = {plugin("plugins", name).CAUGHT_BY for name in WRONG} | {law for law, _ in little.WRONG.values()}
    laws = {law.__name__ for law in (*ALGORITHM_LAWS, *LARGE_LAWS, *MECHANISM_LAWS)}
    assert laws - caught <= {"claims_survive_the_audit"}  # its mutants are in tests/testing/test_audit_laws.py


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_what_else_a_wrong_plugin_fails(name):
    failed = {found.law for found in results("plugins", name) if found.outcome == "failed"}
    print(f"{name}: {', '.join(sorted(failed))}")
    assert plugin("plugins", name).CAUGHT_BY in failed


SEEDED = [name for name in RIGHT if not name.endswith("accountant")]
"""The laws of accountants are derandomised: one run of them says all."""


@pytest.mark.slow
def test_no_false_alarm_at_many_seeds(tmp_path):
    """`python -m tests.mutants.long_run` says how; about 45 minutes."""
    from tests.mutants import long_run

    out = tmp_path / "seeds.jsonl"
    assert long_run.main(["--seeds", str(LONG_SEEDS), "--out", str(out)]) == 0, long_run.summary(out)
    assert {row["seed"] for row in long_run.records(out)} == set(range(LONG_SEEDS))


def test_a_long_run_goes_on_where_it_stopped(tmp_path, monkeypatch):
    from tests.mutants import long_run

    monkeypatch.setattr(long_run, "SEEDED", ["queries"])
    monkeypatch.setattr(long_run, "laws_of_plugin", lambda *given, **options: laws_of_plugin(*given, **options)[:2])
    out = tmp_path / "seeds.jsonl"
    long_run.run(out, seeds=2, minutes=5.0)
    first = long_run.records(out)
    long_run.run(out, seeds=3, minutes=5.0)
    assert long_run.records(out)[: len(first)] == first
    assert [row["seed"] for row in long_run.records(out)] == [0, 1, 1, 2, 2]
    assert "5 checks over 3 seeds and 1 plugins: 0 alarms" in long_run.summary(out)
