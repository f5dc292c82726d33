"""Printed bounds are bounds: in text, explanations, pages and JSON; and a formatter that rounds to nearest is caught."""

import ast
import importlib.util
import math
import re
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpkit
from dpkit.analysis.showing.html import environment
from dpkit.analysis.showing.text import factor_text, odds
from dpkit.auditing.certificates.certificate import AuditCertificate, Witness
from dpkit.numerics import rounding
from dpkit.numerics.rounding import format_down, format_up, in_full, percent_down, percent_up
from dpkit.privacy.tradeoff import pair_power
from dpkit.testing.strategies import examples

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


def laws():
    spec = importlib.util.spec_from_file_location("printed_bounds", HERE / "printed_bounds.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LAWS = laws()
finite = st.floats(allow_nan=False, allow_infinity=False)
ODD = st.floats(1e-9, 1e-3).filter(lambda delta: len(repr(delta)) > 12)


@given(value=finite, digits=st.integers(1, 12))
def test_a_formatted_bound_is_on_its_side_and_near(value, digits):
    low, high = Fraction(format_down(value, digits=digits)), Fraction(format_up(value, digits=digits))
    assert low <= Fraction(value) <= high
    assert high - low <= abs(Fraction(value)) * Fraction(10) ** (1 - digits)
    assert float(in_full(value)) == value


@given(share=st.floats(0.0, 1e6), places=st.integers(0, 6))
def test_a_percentage_is_on_its_side_and_near(share, places):
    low, high = (Fraction(form(share, places=places).rstrip("%")) for form in (percent_down, percent_up))
    assert low <= 100 * Fraction(share) <= high
    assert high - low <= Fraction(1, 10**places)


@given(epsilon=st.floats(0.0, 800.0), delta=st.floats(0.0, 0.5))
def test_odds_and_power_are_not_below_the_truth(epsilon, delta):
    truth, power = LAWS.odds_and_power(epsilon, delta)
    assert odds(epsilon) >= truth
    assert power <= Fraction(pair_power(epsilon, delta, 0.05)) <= power + Fraction(1, 10**12)
    shown = factor_text(epsilon)
    assert Fraction(shown.removeprefix("e^")) >= (Fraction(epsilon) if shown.startswith("e^") else truth)


CERTIFICATE = AuditCertificate(
    target="t",
    claim=dpkit.Claim(
        loss=dpkit.PureDP(epsilon=1.0), neighbours=dpkit.Neighbours.ADD_REMOVE, because=dpkit.Citation(key="k", locator="l")
    ),
    hypothesis="real arithmetic",
    verdict="not refuted",
    falsifier="f",
    tried=("f",),
    epsilon_lower=0.1234567,
    delta=1.23456789e-7,
    samples=100,
    bound_samples=10,
    confidence=0.9990000001,
    log_e_value=1.23456789,
    level=0.00123456789,
    witness=Witness(pair=("0", "1"), event="e", code="c"),
    power=1.2345678,
    note="",
    seed=1,
    budget=100,
    floating_point=False,
    software=(("dpkit", "0"),),
    power_event=0.0123456,
)


def printed_plan(loaded, delta=1.0000004e-6, epsilon=0.8000007):
    plan = loaded(("delta: 1e-6", f"delta: {delta!r}"), ("epsilon: 1.0", f"epsilon: {epsilon!r}")).plan()
    return plan, plan.simulate()


@examples(6)
@given(delta=ODD, epsilon=st.floats(0.01, 20.0))
def test_every_bound_of_a_plan_is_printed_on_the_safe_side(loaded, delta, epsilon):
    LAWS.assert_a_plan_prints_bounds(*printed_plan(loaded, delta, epsilon))


@examples(30)
@given(
    lower=st.floats(0.0, 50.0),
    delta=ODD,
    confidence=st.floats(0.5, 1.0),
    level=st.floats(1e-9, 1.0),
    log_e=st.floats(-9.0, 30.0),
)
def test_every_bound_of_a_certificate_is_printed_on_the_safe_side(lower, delta, confidence, level, log_e):
    from dataclasses import replace

    changes = {"epsilon_lower": lower, "delta": delta, "confidence": confidence, "level": level, "log_e_value": log_e}
    LAWS.assert_a_certificate_prints_bounds(replace(CERTIFICATE, digest="", **changes))


def nearest(value, digits, side):
    return f"{value:.{digits}g}" if math.isfinite(value) else str(value)


MUTANTS = {
    "digits to nearest": ("_formatted", nearest),
    "upper bounds down": ("format_up", format_down),
    "lower bounds up": ("format_down", format_up),
    "percentages to nearest": ("percent_up", lambda share, places=1: f"{share:.{places}%}"),
    "declared numbers cut to six digits": ("in_full", lambda value: f"{value:g}"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_formatter_that_rounds_otherwise_is_caught(name, monkeypatch, loaded):
    import sys

    function, mutant = MUTANTS[name]
    plan, result = printed_plan(loaded)
    right = getattr(rounding, function)
    for module in [module for key, module in sys.modules.items() if key.startswith("dpkit")]:
        if vars(module).get(function) is right:
            monkeypatch.setattr(module, function, mutant)
    environment.cache_clear()  # the templates of the page get the mutant, too
    try:
        with pytest.raises(AssertionError, match="is printed for the"):
            assert_both_print_bounds(plan, result)
    finally:
        environment.cache_clear()


def assert_both_print_bounds(plan, result):
    LAWS.assert_a_plan_prints_bounds(plan, result)
    LAWS.assert_a_certificate_prints_bounds(CERTIFICATE)


# What may be formatted to the nearest digit, because it bounds nothing: shares of a price, answers, drawing, names, progress,
# measurements.
NEAREST = {
    ("dpkit/accountants/pld/contour.py", "mu"),
    ("dpkit/accountants/pld/lattice_reader.py", "period / wanted"),
    ("dpkit/accountants/pld/lattice_reader.py", "step"),
    ("dpkit/accountants/rdp.py", "order"),
    ("dpkit/accountants/zcdp.py", "order"),
    ("dpkit/analysis/showing/text.py", "share"),
    ("dpkit/analysis/showing/text.py", "float(number)"),  # all digits of what was rounded before
    ("dpkit/analysis/public_warnings.py", "1.0 / rows"),  # no bound: what a declared delta is held against
    ("dpkit/data/columns/cells.py", "number"),  # how a cell is spelt
    ("dpkit/analysis/showing/text.py", "step.part"),
    ("dpkit/analysis/showing/text.py", "value"),
    ("dpkit/auditing/falsifiers/noise_law.py", "power"),
    ("dpkit/auditing/falsifiers/noise_law.py", "scale"),
    ("dpkit/auditing/search/pairs.py", "now"),
    ("dpkit/auditing/search/sensitivity.py", "number"),
    ("dpkit/cli/analyses.py", "step.part"),
    ("dpkit/cli/progress.py", "log_e"),
    ("dpkit/privacy/events.py", "MOST_REPETITIONS"),
    ("dpkit/pricing/explain.py", "line.share"),
    ("dpkit/pricing/explain.py", "self.excess"),
    ("dpkit/pricing/explain.py", "sum((line.share for line in rest))"),
    ("dpkit/mechanisms/mechanism_base.py", "MOST_DRAWS"),
    ("dpkit/report/pictures.py", "mark"),
    ("plugins/dpkit-dask/dpkit_dask/cluster.py", "timeout"),
    ("plugins/dpkit-irls/dpkit_irls/rows_needed.py", "needed / size"),
    ("dpkit/report/disclosure.py", "line.share"),
    ("plugins/dpkit-stats/dpkit_stats/weights.py", "bounds.upper"),
    ("plugins/dpkit-irls/dpkit_irls/bounded/notes_of_fit.py", "100.0 * state.total / declared"),
    ("plugins/dpkit-irls/dpkit_irls/bounded/notes_of_fit.py", "CUT"),
    ("plugins/dpkit-irls/dpkit_irls/bounded/notes_of_fit.py", "declared"),
    ("plugins/dpkit-irls/dpkit_irls/bounded/notes_of_fit.py", "half"),
    ("plugins/dpkit-irls/dpkit_irls/bounded/notes_of_fit.py", "half * per / now.threshold"),
    ("plugins/dpkit-irls/dpkit_irls/bounded/notes_of_fit.py", "score.quantile"),
    ("plugins/dpkit-irls/dpkit_irls/bounded/notes_of_fit.py", "state.link.dispersion"),
    ("plugins/dpkit-irls/dpkit_irls/bounded/notes_of_fit.py", "frame.far"),
    ("plugins/dpkit-irls/dpkit_irls/bounded/notes_of_fit.py", "frame.near"),
    ("plugins/dpkit-irls/dpkit_irls/bounded/notes_of_fit.py", "now.threshold"),
    ("plugins/dpkit-irls/dpkit_irls/bounded/notes_of_fit.py", "per"),
    ("plugins/dpkit-irls/dpkit_irls/measuring/answer_coverage.py", "LIMIT[1]"),
    ("plugins/dpkit-irls/dpkit_irls/measuring/answer_coverage.py", "epsilon"),
    ("plugins/dpkit-irls/dpkit_irls/measuring/answer_coverage.py", "found.least"),
    ("plugins/dpkit-irls/dpkit_irls/measuring/answer_coverage.py", "found.most"),
    ("plugins/dpkit-irls/dpkit_irls/measuring/answer_coverage.py", "max(gaps)"),
    ("plugins/dpkit-irls/dpkit_irls/measuring/answer_coverage.py", "self.epsilon"),
    ("plugins/dpkit-irls/dpkit_irls/measuring/answer_coverage.py", "summary(self.rows[case.key]).least"),
    ("plugins/dpkit-irls/dpkit_irls/public_facts.py", "LARGEST"),
    ("plugins/dpkit-irls/dpkit_irls/public_facts.py", "SMALLEST"),
}
# The same of templates; coordinates of pictures are told by their filter.
NEAREST_IN_TEMPLATES = {
    ("dpkit/analysis/showing/pieces.html", "step.part|percent"),
    ("dpkit/report/report.html", "share|percent"),
}
TO_NEAREST = re.compile(r"[\w.]+\s*\|\s*(?:percent|round|format|filesizeformat|int)\b|[\w.]+\s*\|\s*coordinate\b")
FLOAT_SPEC = re.compile(r"[^{}]*[0-9.,]*[gGeEfF%]$")
PERCENT_SPEC = re.compile(r"%[-+ #0-9.*]*[gGeEfF]")
BRACED_SPEC = re.compile(r"\{[^{}]*:[^{}]*[gGeEfF%]\}")
QUIET = (
    "dpkit/testing/",
    "plugins/dpkit-bench/dpkit_bench/",
    "plugins/dpkit-irls/dpkit_irls/family_laws.py",
    "plugins/dpkit-irls/dpkit_irls/measuring/accuracy_tables.py",
    "plugins/dpkit-irls/dpkit_irls/measuring/coverage.py",
    "plugins/dpkit-irls/dpkit_irls/measuring/foretelling.py",
    "plugins/dpkit-irls/dpkit_irls/measuring/gaps.py",
)


def float_formats(text):
    """What a module formats as a float: by a format after a colon, by `%` or by `format`."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            spec = "".join(str(part.value) for part in node.format_spec.values if isinstance(part, ast.Constant))
            if FLOAT_SPEC.fullmatch(spec):
                yield ast.unparse(node.value)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and PERCENT_SPEC.search(str(constant(node.left))):
            yield ast.unparse(node.right)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "format" and len(node.args) == 2:
            yield ast.unparse(node.args[0])
        elif isinstance(node, ast.Call) and BRACED_SPEC.search(str(constant(getattr(node.func, "value", None)))):
            yield ast.unparse(node)


def constant(node):
    return node.value if isinstance(node, ast.Constant) else ""


def test_no_other_float_is_formatted_where_bounds_are_printed():
    files = [path for top in ("dpkit/**/*.py", "plugins/*/dpkit_*.py", "plugins/*/dpkit_*/**/*.py") for path in ROOT.glob(top)]
    named = [(path.relative_to(ROOT).as_posix(), path) for path in files]
    shown = [(name, path) for name, path in named if not name.startswith(QUIET) and path.name != "rounding.py"]
    found = {(name, value) for name, path in shown for value in float_formats(path.read_text(encoding="utf-8"))}
    assert found == NEAREST


def test_no_other_float_is_formatted_in_a_template():
    found = set()
    for path in (path for ending in ("html", "svg") for path in ROOT.glob(f"dpkit/**/*.{ending}")):
        text = path.read_text(encoding="utf-8")
        assert not any(PERCENT_SPEC.search(literal) for literal in re.findall(r"\{\{.*?\}\}", text, flags=re.DOTALL)), path
        found |= {(path.relative_to(ROOT).as_posix(), shown) for shown in TO_NEAREST.findall(text)}
    assert {(name, shown) for name, shown in found if name != "dpkit/report/pictures.svg"} == NEAREST_IN_TEMPLATES
    assert all(shown.endswith("|coordinate") for name, shown in found if name == "dpkit/report/pictures.svg")


@pytest.mark.parametrize(
    "text", ['f"{x:.3f}"', 'f"{x:g}"', 'f"{x:,.{n}f}"', '"%.3f" % x', 'format(x, ".3f")', '"{:.3g}".format(x)']
)
def test_a_float_is_noticed_however_it_is_formatted(text):
    assert list(float_formats(text))
