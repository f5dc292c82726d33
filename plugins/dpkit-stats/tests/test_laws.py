"""The laws of queries and algorithms, on everything that this plugin adds; and of the exact sums behind its queries."""

import dpkit_stats
import pytest
from dpkit_stats import count_tree, counting, sums
from dpkit_stats.scaling import Interval

from dpkit.testing import EXACT_SUM_LAWS, laws_of_plugin, parametrize_with_laws

BOUNDS = Interval(lower=-2.0, upper=7.5)
RANGE = (BOUNDS.lower, BOUNDS.upper)
QUERIES = {
    "count": (counting.count_query(("x",)), [RANGE]),
    "sum": (sums.sum_query("x", BOUNDS), [RANGE]),
    "mean": (sums.mean_query("x", BOUNDS), [RANGE]),
    "mean without count": (sums.mean_query("x", BOUNDS, with_count=False), [RANGE]),
    "variance": (sums.variance_query("x", BOUNDS), [RANGE]),
    "variance without count": (sums.variance_query("x", BOUNDS, with_count=False), [RANGE]),
    "histogram": (counting.histogram_query("x", (-1.0, 0.0, 3.0)), [RANGE]),
    "categories": (counting.categories_query("x", 3), [(0.0, 2.0)]),
    "tree": (count_tree.tree_query("x", BOUNDS, 4), [RANGE]),
    "covariance": (sums.covariance_query(("x", "y"), (BOUNDS, Interval(lower=0.0, upper=1e-3))), [RANGE, (0.0, 1e-3)]),
}


CHECKS = laws_of_plugin(dpkit_stats, name="stats")
CHOSEN = ("algorithm median", "algorithm quantiles")
"""Their noise chooses quantiles one after the other, and an audit of it takes many draws: it is tried once in a short run."""
LONG = [check for check in CHECKS if check.subject in CHOSEN and check.law == "its_noise_obeys_the_laws"]


@parametrize_with_laws([check for check in CHECKS if check not in LONG])
def test_what_the_plugin_adds_obeys(check):
    check()


def test_the_noise_of_a_median_obeys():
    law, (case,) = LONG[0].run.func, LONG[0].run.args
    whole = type(case)
    first = type("FirstSetting", (whole,), {"__slots__": (), "subjects": lambda self, limit=4: whole.subjects(self, limit)[:1]})
    law(first(factory=case.factory, registry=case.registry, seed=case.seed))


@pytest.mark.slow
@parametrize_with_laws(LONG)
def test_the_noise_of_chosen_quantiles_obeys_in_every_setting(check):
    check()


@pytest.mark.parametrize("law", EXACT_SUM_LAWS)
@pytest.mark.parametrize("name", QUERIES)
def test_the_sums_are_exact(name, law):
    law(*QUERIES[name])
