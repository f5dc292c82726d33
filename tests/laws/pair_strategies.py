"""Strategies for dominating pairs and for places at which their profiles are compared."""

import math

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from dpkit.mechanisms.discrete_laplace_pair import DiscreteLaplacePair
from dpkit.mechanisms.laplace import LaplacePair
from dpkit.mechanisms.subsampled_gaussian import SubsampledGaussianPair
from dpkit.privacy.gaussian_dp import GaussianPair
from dpkit.privacy.loss_pairs import PurePair, SymmetricPair
from dpkit.privacy.loss_table import PLD
from dpkit.testing.strategies import examples

EXAMPLES = examples(40)


def logarithmic(low, high):
    return st.floats(math.log(low), math.log(high)).map(math.exp)


@st.composite
def tables(draw):
    """Two random laws on a few outcomes, as a table of losses."""
    weights = st.floats(0.05, 1.0)
    size = draw(st.integers(2, 4))
    one = np.array(draw(st.lists(weights, min_size=size, max_size=size)))
    other = np.array(draw(st.lists(weights, min_size=size, max_size=size)))
    one, other = one / one.sum(), other / other.sum()
    losses, places = np.unique(np.log(one / other), return_index=True)
    assume(losses.size == size and np.all(np.diff(losses) > 1e-6))
    return PLD(losses=tuple(losses.tolist()), masses=tuple(one[places].tolist()))


def pairs():
    subsampled = st.builds(SubsampledGaussianPair, rate=logarithmic(1e-3, 0.95), ratio=logarithmic(0.1, 4.0))
    return st.one_of(
        st.builds(LaplacePair, ratio=logarithmic(0.01, 8.0)),
        st.builds(GaussianPair, mu=logarithmic(0.05, 4.0)),
        st.builds(DiscreteLaplacePair, ratio=logarithmic(0.01, 8.0), sensitivity=st.integers(1, 300)),
        st.builds(PurePair, epsilon=logarithmic(0.01, 8.0)),
        subsampled,
        tables(),
        subsampled.map(lambda pair: SymmetricPair(pair=pair)),
    )


def places(direction, seed, count=12):
    """Epsilons inside the reach, some of them close below the largest loss."""
    rng = np.random.default_rng(seed)
    low, high = direction.reach(1e-12)
    near = high - (high - low) * 10.0 ** rng.uniform(-9.0, -1.0, count // 2)
    return [*rng.uniform(low, high, count).tolist(), *near.tolist(), 0.0]
