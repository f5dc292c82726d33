"""The laws of dpkit's kit, on everything that this plugin adds."""

import sys
from dataclasses import replace
from functools import cache, partial

import dpkit_irls
import pytest

from dpkit.testing import laws_of_plugin, parametrize_with_laws

CHECKS = laws_of_plugin(dpkit_irls, name="irls")
FAMILIES = ("irls", "irls-moments", "irls-paper", "logistic", "multinomial", "poisson", "quantile-regression")
LONG = [check for check in CHECKS if check.subject in {f"algorithm {name}" for name in FAMILIES}]
"""Hundreds of fits each."""
OWN_CODE = ("irls", "irls-moments")
"""The others are `irls` with another score, or as published: a short run tries two of their settings, one a relation."""
DEAR = ("the_plan_covers_what_is_charged", "degenerate_data_gives_an_answer", "equal_answers_give_equal_runs")
"""Laws of dozens of fits a setting: in a short run, one setting of each algorithm whose code is its own."""
OF_THE_SAMPLER = ("no_release_is_the_value_itself", "noise_is_never_zero", "sampler_follows_its_declared_law")
"""What `wishart` and the noise as published share."""
BY_SAMPLES = [
    check
    for check in CHECKS
    if check.law in ("the_rule_holds_for_its_mechanisms", "claims_survive_a_quick_audit")
    or (check.subject.endswith("-as-published") and check.law in OF_THE_SAMPLER)
]
"""Laws that draw many samples. In a short run, built-in mechanisms and rules are tried by them, and `wishart`."""


@pytest.fixture(autouse=True, scope="module")
def _ask_once():
    """Two laws look at what an algorithm asks under the same scripts: each of these algorithms is asked once."""
    asked = {}

    def asked_under_scripts(algorithm, setting, noise, *, rng):
        if id(algorithm) not in asked:
            asked[id(algorithm)] = algorithm, ask(algorithm, setting, noise, rng=rng)
        return asked[id(algorithm)][1]

    with pytest.MonkeyPatch.context() as patch:
        laws = sys.modules[LONG[0].run.func.__module__]
        ask = laws.asked_under_scripts
        patch.setattr(laws, "asked_under_scripts", asked_under_scripts)
        yield


def each_setting_once(check):
    """The same law with one choice of parameters in each setting, by turns, and each choice at least once; see `OWN_CODE`."""
    law, (case,) = check.run.func, check.run.args
    whole = type(case)

    def subjects(self, limit=4):
        found = every_subject(self.factory.name, limit)
        settings = {id(subject.setting): [] for subject in found}
        for subject in found:
            settings[id(subject.setting)].append(subject)
        chosen = [choices[turn % len(choices)] for turn, choices in enumerate(settings.values())]
        if self.factory.name not in OWN_CODE:
            chosen = list({subject.setting.neighbours: subject for subject in chosen}.values())
        if check.law in DEAR:
            return chosen[FAMILIES.index(self.factory.name) % len(chosen) :][:1]
        if self.factory.name not in OWN_CODE:
            return chosen
        met = {str(subject.parameters) for subject in chosen}
        others = {str(subject.parameters): subject for subject in found if str(subject.parameters) not in met}
        return [*chosen, *others.values()]

    fewer = type("EachSettingOnce", (whole,), {"__slots__": (), "subjects": subjects})
    return replace(check, run=partial(law, fewer(factory=case.factory, registry=case.registry, seed=case.seed)))


@parametrize_with_laws([check for check in CHECKS if check not in LONG and check not in BY_SAMPLES])
def test_what_the_plugin_adds_obeys(check):
    check()


@pytest.mark.slow
@parametrize_with_laws(BY_SAMPLES)
def test_what_the_plugin_adds_obeys_by_many_samples(check):
    check()


@cache
def every_subject(name, limit):
    """All choices of parameters in each setting, prepared once for all laws."""
    case = next(check.run.args[0] for check in LONG if check.run.args[0].factory.name == name)
    return case.subjects(limit)


SHORT = [check for check in LONG if check.law not in DEAR or check.subject in {f"algorithm {name}" for name in OWN_CODE}]


@parametrize_with_laws([each_setting_once(check) for check in SHORT])
def test_an_algorithm_obeys_in_every_setting(check):
    check()


@pytest.mark.slow
@parametrize_with_laws(LONG)
def test_an_algorithm_obeys_in_every_setting_with_every_choice_of_parameters(check):
    check()


def test_the_short_run_meets_every_setting_and_every_choice():
    for check in {check.subject: check for check in LONG if check.law not in DEAR}.values():
        (whole,), (short,) = check.run.args, each_setting_once(check).run.args
        every, some = every_subject(whole.factory.name, 4), short.subjects()
        assert {subject.setting.neighbours for subject in some} == {subject.setting.neighbours for subject in every}
        if whole.factory.name not in OWN_CODE:
            continue
        assert {str(subject.setting) for subject in some} == {str(subject.setting) for subject in every}
        assert {str(subject.parameters) for subject in some} == {str(subject.parameters) for subject in every}
