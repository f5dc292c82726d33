"""The law of printed bounds: whatever an output says of a bound, it says on the safe side. For plans and certificates."""

import json
import re
from fractions import Fraction

import mpmath

from dpkit.auditing.certificates.formats import as_html, as_text
from dpkit.report.html import report_html

NUMBER = r"(-?[0-9][0-9.,]*(?:[eE][-+]?[0-9]+)?)"


def said(pattern, text):
    """Every number that the text has at `@` in the pattern, exactly."""
    found = re.findall(pattern.replace("@", NUMBER), text)
    assert found, (pattern, text[:2000])
    return [Fraction(number.replace(",", "").rstrip(".")) for number in found]


def not_below(pattern, text, truth):
    for number in said(pattern, text):
        assert number >= Fraction(truth), f"{pattern}: {float(number)!r} is printed for the upper bound {truth!r}"
        assert number <= Fraction(truth) * Fraction(12, 10) + Fraction(1, 1000), f"{pattern}: {number} is far from {truth!r}"


def not_above(pattern, text, truth):
    for number in said(pattern, text):
        assert number <= Fraction(truth), f"{pattern}: {float(number)!r} is printed for the lower bound {truth!r}"
        assert number >= Fraction(truth) * Fraction(8, 10) - Fraction(1, 1000), f"{pattern}: {number} is far from {truth!r}"


def exactly(pattern, text, truth):
    assert all(float(number) == truth for number in said(pattern, text)), (
        f"{pattern}: another is printed for the number {truth!r}"
    )


def odds_and_power(epsilon, delta):
    """e^epsilon and the most power of a test with 5% false alarms, to 40 digits, as fractions."""
    with mpmath.workdps(40):
        odds, slack = mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(delta)
        alarms = mpmath.mpf(5) / 100
        power = min(mpmath.mpf(1), odds * alarms + slack, 1 - (1 - alarms - slack) / odds)
        return tuple(Fraction(int(value * 10**30), 10**30) for value in (odds, power))


def assert_a_plan_prints_bounds(plan, result):
    """Text, explanation, page and JSON of a plan and its result."""
    text, explained, page, document = str(plan), str(plan.explanation), report_html(result), plan.as_json()
    odds, power = odds_and_power(plan.epsilon, plan.delta)
    for shown in (plan.sentence, text, str(result), page, document["guarantee"], plan._repr_html_()):
        not_below(r"\(epsilon = @, delta", shown, plan.epsilon)
        exactly(r"delta = @\)-differentially", shown, plan.delta)
        not_below(r"by a factor of at most @", shown, odds)
        exactly(r"an addition of @", shown, plan.delta)
    not_below(r"price       epsilon @ at", text, plan.epsilon)
    exactly(r"price .* at delta @", text, plan.delta)
    exactly(r"budget      epsilon @,", text, plan.spec.budget.epsilon)
    not_below(r"^epsilon = @ at delta", explained, plan.epsilon)
    exactly(r"at delta = @,", explained, plan.delta)
    for name, epsilon in plan.explanation.others:
        if epsilon < 1e300:
            not_below(rf"other accountants: .*\b{name} @", explained, epsilon)
            not_below(rf"\n  {name} +epsilon @", text, epsilon)
    not_below(r"power above @%", page, 100 * Fraction(plan.guarantee.power(0.05)))
    not_below(r"alone would say @%", page, 100 * power)
    not_below(r"probability at most\s@%", page, 100 * Fraction(plan.guarantee.posterior(0.5)))
    not_below(r"has at most @ p \+", page, odds)
    exactly(r" p \+ @ with", page, plan.delta)
    for step in plan.steps:
        for shown in (re.findall(rf"^{step.id} +total .*$", text, flags=re.M), [page]):
            assert shown
        row = next(line for line in text.splitlines() if line.startswith(f"{step.id} "))
        not_below(r"% +@ +[0-9.,e+-]+$", row, step.epsilon)
        not_below(r" @$", row, step.noise)
        for name, error in step.errors.items():
            not_below(rf"\n{step.id} +{name} +@\n", text + "\n", error)
            not_below(r"at 95%, before the run: @\.", page.replace("</p>", ""), error)
        for release in step.releases:
            if release.error is not None:
                not_below(rf"\n{step.id}/{release.query} .* @\n", text, release.error)
    read = json.loads(json.dumps(document))
    assert (read["epsilon"], read["delta"]) == (plan.epsilon, plan.delta)
    assert read["accountants"] == json.loads(json.dumps({**document["accountants"]}))


def assert_a_certificate_prints_bounds(certificate):
    """Text, page and JSON of a certificate."""
    for text in (as_text(certificate), re.sub("<[^>]*>", " ", as_html([certificate]).replace("&gt;", ">"))):
        not_above(r"epsilon >= @ at", text, certificate.epsilon_lower)
        exactly(r"epsilon >= .* at delta = @", text, certificate.delta)
        not_above(r"e-value @", text, certificate.e_value)
        not_below(r"refuted at @", text, 1.0 / certificate.level)
        not_below(r"epsilon = @ at that delta", text, certificate.power)
        not_below(r"event of probability @", text, certificate.power_event)
        exactly(r"confidence +@ over", text, certificate.confidence)
    assert json.loads(certificate.to_json())["epsilon_lower"] == certificate.epsilon_lower
