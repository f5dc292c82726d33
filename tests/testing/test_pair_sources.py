"""A strategy of hypothesis is a source of pairs, and its witness is simple."""

import ast

import numpy as np

from dpkit import Neighbours, PureDP, audit
from dpkit.testing.data_strategies import neighbouring_datasets
from dpkit.testing.pair_sources import StrategyPairs


def summing(data, n, rng):
    """Clips from above and forgets to clip from below: one record can move the sum by any amount."""
    return np.minimum(np.asarray(data), 1.0).sum() + rng.laplace(size=n)


def test_a_strategy_is_searched_and_its_witness_is_simple():
    from hypothesis import strategies as st

    source = StrategyPairs(neighbouring_datasets(Neighbours.ADD_REMOVE, columns=1, most=4, cells=st.floats(-50.0, 50.0)))
    (certificate,) = audit(
        lambda data, n, rng: summing(data.reshape(-1), n, rng),
        PureDP(epsilon=1.0),
        search=source,
        tries=30,
        samples=2_000,
        rng=1,
    )
    assert certificate.refuted
    one, two = (ast.literal_eval(text) for text in certificate.witness.pair)
    assert abs(len(one) - len(two)) == 1
    assert max(len(one), len(two)) <= 2
    assert all(float(x).is_integer() for rows in (one, two) for row in rows for x in row)
