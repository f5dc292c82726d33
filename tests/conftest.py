"""Shared judges: goodness of fit at a stated false-alarm rate, and generators whose words are written by hand."""

from collections.abc import Iterable
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

FALSE_ALARM = 1e-6


class Scripted:
    """Stands in for a `numpy.random.Generator`: deals the given 64-bit words, then those of a seeded generator."""

    bit_generator = None

    def __init__(self, words: Iterable[int], seed: int = 0) -> None:
        self.words = [int(word) % 2**64 for word in words]
        self.drawn = 0
        self._rest = np.random.default_rng(seed)

    def integers(self, low, high, *, size, dtype, endpoint):
        assert (low, high, dtype, endpoint) == (0, 2**64 - 1, np.uint64, True)
        given = self.words[self.drawn : self.drawn + size]
        self.drawn += size
        rest = self._rest.integers(low, high, size=size - len(given), dtype=dtype, endpoint=True)
        return np.concatenate([np.array(given, dtype=np.uint64), rest])


def assert_counts_fit(outcomes: np.ndarray, cdf_below, lowest: int, highest: int) -> None:
    """Pearson's chi-square of integer outcomes; `cdf_below(n)` is P(outcome < n), exactly. Tails are pooled."""
    edges = np.arange(lowest, highest + 1)
    probabilities = np.diff(np.concatenate([[0.0], cdf_below(edges), [1.0]]))
    counts = np.bincount(np.clip(outcomes, lowest - 1, highest).astype(int) - (lowest - 1), minlength=edges.size + 1)
    expected = probabilities * outcomes.size
    keep = expected >= 8
    observed = np.append(counts[keep], counts[~keep].sum())
    expected = np.append(expected[keep], max(expected[~keep].sum(), 1e-300))
    if expected[-1] < 8:
        assert observed[-1] <= stats.poisson.isf(FALSE_ALARM / 2, max(expected[-1], 1e-12))
        observed, expected = observed[:-1], expected[:-1]
    statistic = ((observed - expected) ** 2 / expected).sum()
    assert stats.chi2.sf(statistic, max(observed.size - 1, 1)) > FALSE_ALARM


def assert_uniform(sample: np.ndarray) -> None:
    """Kolmogorov and Smirnov's test."""
    assert stats.kstest(sample, "uniform").pvalue > FALSE_ALARM


def assert_uncorrelated(sample: np.ndarray) -> None:
    """No lag of the sequence correlates with it; each lag is Gaussian, and all are tested at once."""
    ranks = (stats.rankdata(sample) - 0.5) / sample.size - 0.5
    spectrum = np.abs(np.fft.rfft(ranks, 2 * ranks.size)) ** 2
    correlation = np.fft.irfft(spectrum)[1 : ranks.size] * 12 / np.sqrt(ranks.size)
    assert np.abs(correlation).max() < stats.norm.isf(FALSE_ALARM / 2 / ranks.size)


@pytest.fixture(scope="session")
def judges() -> SimpleNamespace:
    return SimpleNamespace(
        assert_counts_fit=assert_counts_fit,
        assert_uniform=assert_uniform,
        assert_uncorrelated=assert_uncorrelated,
        Scripted=Scripted,
    )
