"""Whatever a function returns is audited as it is, or refused with what was found: never a crash, never another pair."""

from collections import namedtuple

import numpy as np
import pandas
import pytest

from dpkit import InvalidValueError, PureDP, audit
from dpkit.auditing.draw_outputs import PairOutputs


def audited(fn, pair=(0, 1), **options):
    (certificate,) = audit(fn, PureDP(epsilon=1.0), pair, samples=options.pop("samples", 2_000), rng=1, **options)
    return certificate


def raises_at(value, n, rng):
    if value == 1:
        raise ValueError(f"the mean is {rng.random()}")
    return rng.laplace(size=n)


class Panic(BaseException):
    """As some libraries raise it."""


def panics(value, n, rng):
    if value:
        raise Panic
    return rng.laplace(size=n)


def broken(value, n, rng):
    raise TypeError(f"a secret: {value}")


@pytest.mark.parametrize(
    "fn",
    [
        lambda value, n, rng: np.zeros(n - 1),
        lambda value, n, rng: None,
        lambda value, n, rng: 1.0,
        broken,
    ],
    ids=["one short", "none", "scalar", "always raises"],
)  # fmt: skip
def test_a_function_without_any_output_is_refused_with_what_was_found(fn):
    with pytest.raises(InvalidValueError, match="target") as refused:
        audited(fn, samples=200)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "fn",
    [
        raises_at,
        lambda value, n, rng: None if value else rng.laplace(size=n),
        lambda value, n, rng: np.zeros((n, 2 + value)),
        lambda value, n, rng: rng.integers(0, 9, size=n).astype(np.int32 if value else np.float64),
        lambda value, n, rng: [None if value and rng.random() < 0.2 else 1.0 for _ in range(n)],
        lambda value, n, rng: ["yes" if value else "no"] * n,
        lambda value, n, rng: [("a", "b", "new")[rng.integers(2 + value)] for _ in range(n)],
        lambda value, n, rng: [list(range(int(rng.integers(3)) + value)) for _ in range(n)],
        lambda value, n, rng: [pandas.DataFrame({"x": rng.random(5 + value)}) for _ in range(n)],
        lambda value, n, rng: [pandas.DataFrame({"x" if value else "y": rng.random(2)}) for _ in range(n)],
        lambda value, n, rng: [ValueError() if value and rng.random() < 0.3 else 0.5 for _ in range(n)],
        lambda value, n, rng: [{"mean": float(value)} for _ in range(n)],
        lambda value, n, rng: [RuntimeError(f"rows: {value}") for _ in range(n)],
        lambda value, n, rng: np.full(n, 1.0 + 1j * value),
        lambda value, n, rng: exit(3) if value else rng.laplace(size=n),
        panics,
        lambda value, n, rng: np.ma.masked_array(rng.laplace(size=n), mask=[bool(value)] * n),
        lambda value, n, rng: [namedtuple("Answer", ["mean" if value else "median"])(1.0)] * n,
    ],
    ids=[
        "raises", "none at one", "shape", "dtype", "none among numbers", "texts", "new category", "ragged", "missing row",
        "column", "errors in a list", "mapping", "messages", "complex", "exits", "panics", "mask",
        "names of fields",
    ],
)  # fmt: skip
def test_any_outcome_that_tells_the_datasets_apart_refutes(fn):
    found = audited(fn, samples=600)
    assert found.refuted
    assert "the mean is" not in str(found), "a message of the target may hold data"


@pytest.mark.parametrize(
    "fn",
    [
        lambda value, n, rng: np.zeros((n, 0)),
        lambda value, n, rng: [[1.0] * (i % 3) for i in range(n)],
        lambda value, n, rng: ["a"] * n,
        lambda value, n, rng: [None] * n,
        lambda value, n, rng: np.zeros(n, dtype=complex),
        lambda value, n, rng: [ValueError() if rng.random() < 0.1 else rng.laplace() for _ in range(n)],
        lambda value, n, rng: np.arange(n) + (2**60 if n != 8 else 0),
        lambda value, n, rng: [object()] * n,
    ],
    ids=["empty", "ragged", "texts", "none", "complex", "errors in a list", "large later", "objects"],
)
def test_any_outcome_that_tells_nothing_does_not_refute(fn):
    assert not audited(fn, samples=400).refuted


def test_what_a_batch_does_as_a_whole_is_no_event_of_one_output():
    def flaky(value, n, rng):  # one output raises with a probability that the claim allows to differ
        draws = rng.random(n)
        if (draws < (0.02, 0.05)[value]).any():
            raise ArithmeticError
        return draws

    # e^1 * 0.02 > 0.05: true at n = 1; a batch of 40 raises with 0.55 against 0.87, and conditions what is left
    assert not any(
        audit(flaky, PureDP(epsilon=1.0), (0, 1), confidence=0.9, samples=600, rng=seed)[0].refuted for seed in range(6)
    )


def test_a_call_that_takes_too_long_is_an_outcome():
    def slow(value, n, rng):
        if value:
            while True:
                pass
        return rng.laplace(size=n)

    found = audited(slow, samples=120, timeout=0.002)
    assert found.refuted
    assert "timed out" in found.note


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


def test_the_last_outputs_are_remembered_in_their_order():
    counted = iter(range(10**6))
    source = PairOutputs(lambda d, n, rng: np.array([next(counted) for _ in range(n)]), (0, 1), np.random.SeedSequence(1))
    assert [source.draw(size)[0].size for size in (3, 1_000, 2_000, 5)] == [3, 1_000, 2_000, 5]
    one, two = source.recent()
    assert len(one) == len(two) == 3_005
    assert (np.diff(one[:, 0]) > 0).all()
    source.draw(9_000)
    assert len(source.recent()[0]) == 2_048
