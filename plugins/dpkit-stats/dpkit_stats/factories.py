"""What the plugin adds, by name: the queries with their sensitivities, and the statistics as algorithms."""

from __future__ import annotations

import dpkit
from dpkit_stats import averages, count_tree, counting, covariances, quantiles, sums, totals
from dpkit_stats.count_and_histogram import count, histogram
from dpkit_stats.scaling import Interval

Parameter = dpkit.Parameter


def _column(**options: object) -> Parameter:
    return Parameter(name="column", kind="text", doc="A declared column.", examples=("x",), **options)  # type: ignore[arg-type]


def _noise(*examples: str) -> Parameter:
    doc = (
        "The noise: any registered mechanism whose metric suits. Gaussian suits budgets with a delta and many entries; Laplace "
        "is pure; the discrete ones keep counts whole."
    )
    return Parameter(name="mechanism", kind="mechanism", doc=doc, default="gaussian", examples=examples)


def _bound(name: str, *examples: float) -> Parameter:
    return Parameter(name=name, kind="number", doc=f"The {name} bound of the column.", examples=examples)


_BOUNDS = (_bound("lower", -2.0, 1.0, 0.0), _bound("upper", 7.0, 3.0, 1.0))
_WITH_COUNT = Parameter(
    name="with_count", kind="boolean", doc="Whether the number of rows comes out as well.", default=True, examples=(True, False)
)
_CENTRED = Parameter(
    name="centred",
    kind="boolean",
    doc="Whether the middle of the bounds is taken off each value.",
    default=False,
    examples=(True, False),
)
_EDGES = "Where cells begin and end: each holds its lower edge, the last one its upper edge, too."


def queries() -> list[dpkit.QueryFactory]:
    """The queries: contributions on the unit scale, one row's at most one."""

    def one_column(name: str, doc: str, make: object, *parameters: Parameter) -> dpkit.QueryFactory:
        chosen = (_column(), *parameters)
        return dpkit.QueryFactory(name=name, doc=doc, make=make, parameters=chosen, width=lambda query: 1)  # type: ignore[arg-type]

    depth = Parameter(
        name="depth", kind="integer", doc="Levels of the tree.", minimum=1, maximum=count_tree.DEEPEST, examples=(3, 6)
    )
    edges = Parameter(name="edges", kind="numbers", doc=_EDGES, examples=((0.0, 0.5, 1.0), (-3.0, 0.1, 0.2, 8.0)))
    levels = Parameter(
        name="levels", kind="integer", doc="How many levels there are.", minimum=1, maximum=10_000, examples=(3,)
    )
    columns = Parameter(name="columns", kind="texts", doc="Declared columns.", examples=(("x", "y"),))
    lowers = Parameter(name="lowers", kind="numbers", doc="Their lower bounds.", examples=((-2.0, 0.0),))
    uppers = Parameter(name="uppers", kind="numbers", doc="Their upper bounds.", examples=((7.0, 1.0),))
    return [
        one_column("count", "How many rows have a value.", lambda column: counting.count_query((column,))),
        one_column("sum", "The sum, in units of a power of two.", _bounded(sums.sum_query), *_BOUNDS, _CENTRED),
        one_column("mean", "Centred sum and count.", _bounded(sums.mean_query), *_BOUNDS, _WITH_COUNT),
        one_column("variance", "First two moments and count.", _bounded(sums.variance_query), *_BOUNDS, _WITH_COUNT),
        one_column("histogram", "Counts between edges.", counting.histogram_query, edges),
        one_column("categories", "Counts of the levels of a category.", counting.categories_query, levels),
        one_column("quantiles", "A binary tree of counts.", _bounded(count_tree.tree_query), *_BOUNDS, depth),
        dpkit.QueryFactory(
            name="covariance",
            doc="Count, sums and products of several columns.",
            make=_covariance_query,
            parameters=(columns, lowers, uppers),
            width=lambda query: len(query.columns),
        ),
    ]


def algorithms() -> list[dpkit.AlgorithmFactory]:
    """The statistics."""

    def statistic(name: str, doc: str, make: object, *parameters: Parameter) -> dpkit.AlgorithmFactory:
        grouped = name not in ("covariance", "correlation")
        return dpkit.AlgorithmFactory(name=name, doc=doc, make=make, parameters=parameters, takes_groups=grouped)  # type: ignore[arg-type]

    continuous = _noise("gaussian", "laplace")
    any_noise = _noise("gaussian", "laplace", "discrete-gaussian", "discrete-laplace")
    edges = Parameter(name="edges", kind="numbers", doc=_EDGES, default=None, examples=((0.0, 0.5, 1.0),))
    probabilities = Parameter(
        name="probabilities",
        kind="numbers",
        doc="Which quantiles. Answers come in this order.",
        minimum=0.0,
        maximum=1.0,
        default=(0.25, 0.5, 0.75),
    )
    depth = Parameter(
        name="depth",
        kind="integer",
        doc="The range is cut into 2**depth equal cells: 12 where quantiles are chosen, 10 in a tree, fewer in many groups.",
        minimum=1,
        maximum=count_tree.DEEPEST,
        default=None,
        examples=(4,),
    )
    choice = Parameter(
        name="mechanism",
        kind="mechanism",
        doc="`exponential`: quantiles are chosen. Noise for counts: they are read from a tree. Else the better of both.",
        default=None,
        examples=("exponential", "gaussian", "laplace", "discrete-gaussian", "discrete-laplace"),
    )
    columns = Parameter(name="columns", kind="texts", doc="Declared columns of numbers.", examples=(("x", "y"),))
    deviations = Parameter(
        name="deviations",
        kind="numbers",
        doc="About how much the two columns vary (standard deviations). Only the error that the plan states depends on it.",
        default=None,
        examples=((0.5, 0.5),),
    )
    category_column = Parameter(name="column", kind="text", doc="A declared category, or a boolean.", examples=("c",))
    level = Parameter(
        name="level", kind="text", doc="Which level. May be left out for a boolean: true.", default=None, examples=("a",)
    )
    weight = Parameter(
        name="weight",
        kind="text",
        doc="A declared column of numbers from 0 on: how much a row counts. Without it, each counts 1.",
        default=None,
    )
    return [
        statistic(
            "count",
            "How many rows there are; with a column, how many have a value there.",
            count,
            _column(default=None),
            weight,
            any_noise,
        ),
        statistic("sum", "The sum of a column.", totals.total, _column(), continuous),
        statistic("mean", "The mean of a column.", averages.mean, _column(), weight, continuous),
        statistic("variance", "The variance of a column.", averages.variance, _column(), continuous),
        statistic("proportion", "The share of a level, or of true.", averages.proportion, category_column, level, any_noise),
        statistic("median", "The median of a column.", quantiles.median, _column(), depth, choice),
        statistic("correlation", "The correlation of two columns.", covariances.correlation, columns, deviations, continuous),
        statistic("histogram", "Counts by level, or between edges.", histogram, _column(), edges, any_noise),
        statistic("quantiles", "Several quantiles.", quantiles.quantiles, _column(), probabilities, depth, choice),
        statistic("covariance", "A covariance matrix.", covariances.covariance, columns, continuous),
    ]


def _bounded(make: object) -> object:
    """A maker of queries that takes its bounds as two numbers."""

    def made(column: str, lower: float, upper: float, **options: object) -> dpkit.Query:
        return make(column, Interval(lower=lower, upper=upper), **options)  # type: ignore[operator,no-any-return]

    return made


def _covariance_query(columns: tuple[str, ...], lowers: tuple[float, ...], uppers: tuple[float, ...]) -> dpkit.Query:
    if not len(columns) == len(lowers) == len(uppers):
        allowed = f"as many as there are columns ({len(columns)})"
        raise dpkit.InvalidValueError(field="lowers", found=lowers, allowed=allowed, where="covariance")
    bounds = [Interval(lower=low, upper=high) for low, high in zip(lowers, uppers, strict=True)]
    return sums.covariance_query(columns, bounds)
