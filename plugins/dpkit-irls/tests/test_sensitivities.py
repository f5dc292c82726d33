"""No neighbours exceed a declared sensitivity; 1% below it the search finds a pair, except where a bound is not tight."""

from dataclasses import replace

import numpy as np
import pytest
from dpkit_irls.queries import FACTORIES
from hypothesis import given
from hypothesis import strategies as st

from dpkit import Distance, Neighbours
from dpkit.authoring.engines import plan_sums
from dpkit.testing import examples, search_excess, sizes_in

MEASURED = ("l1", "l2", "frobenius", "trace", "rank_one")
NOT_TIGHT = {("irls-moments-triangle", "replace-one", "l1")}
"""Two vectors of equal magnitudes and other signs share their diagonal, so twice the norm of one triangle is never reached."""

PARAMETERS = {"features": 2, "weight_cap": 1.0, "p": 1.0, "threshold": 0.5}


def built(factory, **changes):
    names = [parameter.name for parameter in factory.parameters]
    return factory.build(**{name: value for name, value in (PARAMETERS | changes).items() if name in names})


def only(query, distance):
    return replace(query, sensitivity=lambda neighbours: (distance,))


CASES = [
    (factory, relation, distance)
    for factory in FACTORIES
    for relation in Neighbours
    for distance in built(factory).sensitivity(relation)
    if distance.metric in MEASURED
]


@pytest.mark.parametrize(("factory", "relation", "distance"), CASES, ids=lambda item: getattr(item, "name", str(item)))
def test_the_bound_holds_and_is_tight(factory, relation, distance):
    query = built(factory)
    width = factory.width(query)
    # repeated, so that such rows are tried often: what hypothesis adds depends on the modules that are loaded
    hints = [1.0, -1.0, 0.5, 0.1, 2.0**-0.5, -(2.0**-0.5), 100.0] * 6
    assert search_excess(only(query, distance), width, relation, hints=hints) is None
    lowered = Distance(metric=distance.metric, value=distance.value * 0.99)
    found = any(search_excess(only(query, lowered), width, relation, hints=hints, seed=seed) for seed in range(6))
    tight = (factory.name, str(relation), distance.metric) not in NOT_TIGHT
    assert found is tight


numbers = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, 1e308, -1e308, 5e-324, 1e-162, float("inf"), float("nan")]), st.floats(-3, 3)
)


@given(
    rows=st.lists(st.lists(numbers, min_size=4, max_size=4), min_size=2, max_size=2),
    place=st.integers(0, len(FACTORIES) - 1),
    cap=st.sampled_from([0.5, 1.0, 10.0, 1e4]),
    p=st.sampled_from([1.0, 1.3, 1.5, 2.0]),
)
@examples(300)
def test_datasets_weights_and_neighbours_keep_to_the_bounds(rows, place, cap, p):
    factory = FACTORIES[place]
    query = built(factory, features=3, weight_cap=cap, p=p)
    with np.errstate(all="ignore"):
        one, other = query.rows(np.array(rows, dtype=float))
    for relation, change in ((Neighbours.ADD_REMOVE, one), (Neighbours.REPLACE_ONE, one - other)):
        for distance in query.sensitivity(relation):
            if distance.metric in MEASURED:
                assert sizes_in(distance.metric, np.asarray(change)[None])[0] <= distance.value * (1 + 1e-12)


@pytest.mark.parametrize("factory", FACTORIES, ids=lambda factory: factory.name)
def test_equal_rows_contribute_equal_bits_and_a_sum_has_no_order(factory):
    query = built(factory, features=3)
    rng = np.random.default_rng(1)
    row = rng.normal(size=4)
    block = np.repeat(row[None], 4096, axis=0)
    contributions = query.rows(block)
    assert (contributions == contributions[0]).all()
    one = [int(step) for step in np.ravel(contributions[0] / query.grid)]
    assert np.ravel(total_of(query, block) - total_of(query, block[:-1])).tolist() == one
    mixed = rng.normal(size=(3000, 4))
    order = rng.permutation(3000)
    whole = total_of(query, mixed)
    assert np.array_equal(whole, total_of(query, mixed[order]))
    assert np.array_equal(whole, sum(total_of(query, mixed[start : start + 333]) for start in range(0, 3000, 333)))


def total_of(query, block):
    """The exact total in whole steps."""
    return plan_sums([query], query.columns).partial(block)[0].steps()
