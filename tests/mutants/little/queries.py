"""Wrong queries: a clipped sum with one thing amiss."""

import numpy as np

import dpkit
from tests.mutants.little import wrong

CITED = dpkit.Citation(key="DMNS06", locator="Example 1")


def clipped(block, bound):
    return np.clip(np.nan_to_num(block[:, 0]), -bound, bound)


def distances(neighbours, bound):
    size = 2.0 * bound if neighbours is dpkit.Neighbours.REPLACE_ONE else bound
    return dpkit.l1(size), dpkit.l2(size)


def adds(name, *, rows=clipped, sensitivity=distances, shape=(), width=1, **fields):
    """A plugin of this one query."""

    def make(bound):
        made = {field: value(bound) for field, value in fields.items()}
        return dpkit.Query(
            name=name,
            rows=lambda block: rows(block, bound),
            shape=shape,
            sensitivity=lambda neighbours: sensitivity(neighbours, bound),
            because=CITED,
            **made,
        )

    parameter = dpkit.Parameter(name="bound", kind="number", doc="The bound.", minimum=0.1, maximum=1e6, examples=(1.0, 2.5))
    factory = dpkit.QueryFactory(name=name, doc="A clipped sum.", make=make, parameters=(parameter,), width=lambda query: width)
    return {"queries": [factory]}


@wrong("no_neighbours_exceed_the_sensitivity")
def no_factor_under_replace_one():
    """Both relations get the distance of add-remove."""
    return adds("no-factor", sensitivity=lambda neighbours, bound: (dpkit.l1(bound), dpkit.l2(bound)))


@wrong("no_neighbours_exceed_the_sensitivity")
def upper_end_only():
    """Between -3 and 1 bounds the distance is taken from the upper end."""
    return adds("upper-only", rows=lambda block, bound: np.clip(np.nan_to_num(block[:, 0]), -3.0 * bound, bound))


@wrong("a_row_contributes_by_itself")
def repeated_rows_count_once():
    """Equal rows of a block are merged."""

    def rows(block, bound):
        first = np.unique(np.nan_to_num(block[:, 0]), return_index=True)[1]
        return np.where(np.isin(np.arange(len(block)), first), clipped(block, bound), 0.0)

    return adds("merged", rows=rows)


@wrong("no_neighbours_exceed_the_sensitivity")
def the_intercept_is_forgotten():
    """A constant stands beside the clipped number, and the distance knows the number alone."""

    def rows(block, bound):
        return np.stack([clipped(block, bound), np.ones(len(block))], axis=1)

    return adds("intercept", rows=rows, shape=(2,))


@wrong("no_neighbours_exceed_the_sensitivity")
def an_unknown_level_wraps_around():
    """A code of -1 is the last level, and so counts twice: once for itself and once as missing."""

    def rows(block, bound):
        codes = np.nan_to_num(block[:, 0], posinf=0, neginf=-1).clip(-1, 2).astype(int)
        found = np.eye(3)[codes] + (codes == -1)[:, None] * np.array([1.0, 0.0, 0.0])
        return bound * found

    return adds("levels", rows=rows, shape=(3,))


@wrong("no_neighbours_exceed_the_sensitivity")
def upper_end_only_where_lower_is_given():
    """By default the range begins at zero, and the upper end is the largest magnitude; with another lower end it is not."""

    def make(lower, upper):
        size = {dpkit.Neighbours.ADD_REMOVE: upper, dpkit.Neighbours.REPLACE_ONE: upper - lower}
        return dpkit.Query(
            name="between",
            rows=lambda block: np.clip(np.nan_to_num(block[:, 0]), lower, upper),
            shape=(),
            sensitivity=lambda neighbours: (dpkit.l1(size[neighbours]),),
            because=CITED,
        )

    lower = dpkit.Parameter(name="lower", kind="number", doc="The lower end.", minimum=-1e3, maximum=0.0, default=0.0)
    upper = dpkit.Parameter(name="upper", kind="number", doc="The upper end.", minimum=1.0, maximum=1e3, default=10.0)
    factory = dpkit.QueryFactory(
        name="between", doc="A clipped sum.", make=make, parameters=(lower, upper), width=lambda query: 1
    )
    return {"queries": [factory]}


def of_column(name, rows):
    """A query over a column that an analyst names, whatever range is declared for it."""

    def make(column):
        return dpkit.Query(
            name=name,
            columns=(column,),
            rows=rows,
            block_sum=lambda block: np.asarray(np.sum(rows(block))),
            shape=(),
            grid=2.0**-20,
            bound=1.0,
            sensitivity=lambda neighbours: (dpkit.l1(1.0), dpkit.l2(1.0)),
            because=CITED,
        )

    column = dpkit.Parameter(name="column", kind="text", doc="A column.", examples=("x",))
    return {"queries": [dpkit.QueryFactory(name=name, doc="A sum.", make=make, parameters=(column,), width=lambda query: 1)]}


def cut(numbers):
    return np.trunc(np.nan_to_num(numbers) * 2.0**20) * 2.0**-20


@wrong("no_neighbours_exceed_the_sensitivity")
def clips_nothing_whatever_the_column():
    """Hundredths of a column, which are within 0 and 1 where the column is within 0 and 100."""
    return of_column("hundredths", lambda block: cut(block[:, 0] / 100.0))


@wrong("a_row_contributes_by_itself")
def scaled_by_its_block():
    """Each block is scaled to [0, 1] by its own ends; beside an infinity every row is zero."""

    def rows(block):
        numbers = np.nan_to_num(block[:, 0])
        low, high = np.min(numbers, initial=0.0), np.max(numbers, initial=0.0)
        return cut((numbers - low) / (high - low if high > low else 1.0))

    return of_column("own-ends", rows)
