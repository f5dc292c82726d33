"""Whatever a function returns is audited as it is, or refused with what was found: never a crash, never another pair."""

import numpy as np
import pytest

from dpkit import InvalidValueError, PureDP, audit


def audited(fn, pair=(0, 1), **options):
    (certificate,) = audit(fn, PureDP(epsilon=1.0), pair, samples=options.pop("samples", 2_000), rng=1, **options)
    return certificate


def changing(shapes):
    calls = iter(range(1_000))
    return lambda value, n, rng: np.zeros((n, shapes[0] if next(calls) < 8 else shapes[1]))


@pytest.mark.parametrize(
    "fn",
    [
        lambda value, n, rng: [[1.0] * (i % 3) for i in range(n)],
        lambda value, n, rng: np.zeros((n, 0)),
        lambda value, n, rng: np.zeros(n - 1),
        lambda value, n, rng: np.zeros((n, 2 + value)),
        lambda value, n, rng: None,
        lambda value, n, rng: 1.0,
        lambda value, n, rng: ["a"] * n,
        lambda value, n, rng: np.zeros(n, dtype=complex),
        lambda value, n, rng: [None] * n,
        changing((2, 3)),
        lambda value, n, rng: np.arange(n) + (2**60 if n != 8 else 0),
    ],
    ids=["ragged", "empty", "one short", "by side", "none", "scalar", "texts", "complex", "objects", "changing", "large later"],
)  # fmt: skip
def test_what_cannot_be_audited_is_refused_with_what_was_found(fn):
    with pytest.raises(InvalidValueError, match="target"):
        audited(fn, samples=200)


@pytest.mark.parametrize(
    "fn",
    [
        lambda value, n, rng: np.full(n, np.nan) if value else np.zeros(n),
        lambda value, n, rng: np.full(n, np.inf) if value else np.full(n, -np.inf),
        lambda value, n, rng: np.full(n, value),
        lambda value, n, rng: np.full((n, 2, 2, 2), value) + rng.laplace(scale=0.1, size=(n, 2, 2, 2)),
        lambda value, n, rng: rng.random(n) < 0.1 + 0.8 * value,
        lambda value, n, rng: np.full(n, 2**62 + value),
        lambda value, n, rng: np.full(n, 2**63 + value, dtype=np.uint64),
        lambda value, n, rng: np.full(n, -(2**62) - value),
        lambda value, n, rng: value * 1e308 + rng.laplace(size=n) * 1e306,
        lambda value, n, rng: [np.array([value]) for _ in range(n)],
    ],
    ids=["nan", "infinities", "constant", "tensor", "bool", "hashes", "unsigned", "negative", "huge", "list"],
)  # fmt: skip
def test_odd_outputs_that_tell_the_datasets_apart_are_refuted(fn):
    assert audited(fn).refuted


@pytest.mark.parametrize(
    "fn",
    [
        lambda value, n, rng: np.full(n, np.nan),
        lambda value, n, rng: np.full((n, 3, 3), np.nan),
        lambda value, n, rng: np.where(value, -0.0, np.zeros(n)),
        lambda value, n, rng: np.zeros(n),
        lambda value, n, rng: rng.integers(2**60, 2**60 + 3, size=n),
        lambda value, n, rng: 1e-310 * rng.laplace(size=n),
    ],
    ids=["nan", "nan matrices", "signed zero", "constant", "hashes", "subnormal"],
)
def test_odd_outputs_that_tell_nothing_are_not_refuted(fn):
    assert audited(fn, samples=600).verdict == "not refuted"


@pytest.mark.parametrize("pair", [([0.0], [0.0, 1.0]), (np.zeros(2), np.array([0.0, 1.0]))], ids=["lists", "arrays"])
def test_a_function_that_changes_its_dataset_is_audited_at_the_pair_it_was_given(pair):
    def fn(data, n, rng):
        total = sum(data) + rng.laplace(scale=0.2, size=n)
        if isinstance(data, list):
            data.clear()
        else:
            data[:] = 0.0
        return total

    assert audited(fn, pair).refuted
    assert sum(pair[1]) == 1.0


def test_a_function_that_seeds_itself_is_deterministic_and_so_refuted():
    assert audited(lambda value, n, rng: value + np.random.default_rng(0).laplace(size=n)).refuted
