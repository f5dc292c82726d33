"""Counts, clipped sums, histograms and second moments, with their sensitivities under both relations."""

import numpy as np

import dpkit


def _cited(example):
    return dpkit.Citation(key="DR14", locator=example)


def _grown(one, factor):
    """One record comes or goes: `one`. It is replaced: `factor` times as much."""
    return lambda neighbours: [
        make(one * (power if neighbours is dpkit.Neighbours.REPLACE_ONE else 1.0))
        for make, power in ((dpkit.l1, factor[0]), (dpkit.l2, factor[1]))
    ]


def count_above(threshold):
    def rows(block):
        return (block[:, 0] > threshold).astype(np.float64)

    return dpkit.Query(name="count-above", rows=rows, shape=(), sensitivity=_grown(1.0, (1, 1)), because=_cited("count"))


def clipped_sum(lower, upper):
    if lower >= upper:
        raise ValueError("the lower bound must be below the upper one")

    def rows(block):
        return np.clip(np.where(np.isnan(block[:, 0]), min(max(0.0, lower), upper), block[:, 0]), lower, upper)

    def sensitivity(neighbours):
        width = upper - lower if neighbours is dpkit.Neighbours.REPLACE_ONE else max(abs(lower), abs(upper))
        return [dpkit.l1(width), dpkit.l2(width)]

    return dpkit.Query(
        name="clipped-sum",
        rows=rows,
        shape=(),
        sensitivity=sensitivity,
        because=_cited("sum"),
        block_sum=lambda block: np.sum(rows(block)),
    )


def histogram(cells):
    def rows(block):
        inside = np.clip(np.nan_to_num(block[:, 0], nan=0.0), 0, cells - 1).astype(np.int64)
        return np.eye(cells)[inside]

    grown = _grown(1.0, (2.0, np.sqrt(2.0)))
    return dpkit.Query(name="histogram", rows=rows, shape=(cells,), sensitivity=grown, because=_cited("histogram"))


def second_moment(columns):
    def rows(block):
        clean = np.clip(np.nan_to_num(block, nan=0.0), -1.0, 1.0)
        norms = np.sqrt(np.sum(clean**2, axis=1, keepdims=True))
        unit = clean / np.maximum(norms, 1.0)
        return unit[:, :, None] * unit[:, None, :]

    def sensitivity(neighbours):
        return [dpkit.frobenius(np.sqrt(2.0) if neighbours is dpkit.Neighbours.REPLACE_ONE else 1.0)]

    return dpkit.Query(
        name="second-moment",
        rows=rows,
        shape=(columns, columns),
        sensitivity=sensitivity,
        because=_cited("second moments"),
    )


@dpkit.hookimpl
def dpkit_queries():
    def number(name, *examples):
        return dpkit.Parameter(name=name, kind="number", doc="A bound.", minimum=-1e6, maximum=1e6, examples=examples)

    def size(name):
        return dpkit.Parameter(name=name, kind="integer", doc="How many.", minimum=1, maximum=20, examples=(3,))

    def factory(make, *parameters, width=lambda query: 1):
        name = make.__name__.replace("_", "-")
        return dpkit.QueryFactory(name=name, doc="A sum.", make=make, parameters=parameters, width=width)

    return [
        factory(count_above, number("threshold", 0.5)),
        factory(clipped_sum, number("lower", -2.0, 1.0), number("upper", 7.0, 3.0)),
        factory(histogram, size("cells")),
        factory(second_moment, size("columns"), width=lambda query: query.shape[0]),
    ]
