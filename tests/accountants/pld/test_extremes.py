"""`pld` far from where it was tuned: huge epsilons, deltas near 1, losses beyond every lattice. Wider, never wrong."""

import itertools
import math
import warnings

import pytest

from dpkit import Compose, GaussianEvent, LaplaceEvent, PureEvent, Repeat, Subsample, account

SAMPLED = Subsample(rate=0.5, event=GaussianEvent(ratio=1.0))
WORKLOADS = {
    "sampled": Repeat(event=SAMPLED, times=2),
    "tiny sampled": Repeat(event=Subsample(rate=0.01, event=GaussianEvent(ratio=1e-8)), times=2),
    "long and sampled": Compose(
        events=(
            Repeat(event=Subsample(rate=0.001, event=GaussianEvent(ratio=1.0)), times=10**4),
            Repeat(event=LaplaceEvent(ratio=0.3), times=40),
        )
    ),
    "huge Laplace": Compose(events=(LaplaceEvent(ratio=1e3), GaussianEvent(ratio=1e-8), PureEvent(epsilon=1e-8))),
}


@pytest.mark.parametrize("name", WORKLOADS)
def test_delta_falls_to_the_end_of_the_floats(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        guarantee = account(WORKLOADS[name], "pld")
        deltas = [guarantee.delta(epsilon=epsilon) for epsilon in (0.0, 1e-9, 20.0, 50.0, 1e4, 1e300)]
    assert all(0.0 <= delta <= 1.0 for delta in deltas)
    assert all(later <= earlier * (1.0 + 1e-9) for earlier, later in itertools.pairwise(deltas))
    assert deltas[-1] <= 1e-290


@pytest.mark.parametrize("times", [200, 10**6])
def test_epsilon_falls_as_delta_nears_one(times):
    event = Repeat(event=Subsample(rate=0.9, event=GaussianEvent(ratio=1.0)), times=times)
    uppers = [account(event, "pld").epsilon(delta=delta) for delta in (1e-6, 0.5, 0.9, 0.999)]
    assert uppers == sorted(uppers, reverse=True)


def test_losses_that_no_lattice_holds_are_bounded_below_by_the_largest_alone():
    event = Compose(events=(LaplaceEvent(ratio=500.0), SAMPLED, PureEvent(epsilon=650.0)))
    lower, upper = account(event, "pld").interval(delta=1e-6)
    assert 0.97 * 650.0 <= lower <= upper < math.inf
    assert "one release from below" in str(account(event, "pld").explain(delta=1e-6))


def test_one_loss_that_no_lattice_holds_and_a_small_one_are_met_by_the_contour():
    lower, upper = account(Compose(events=(PureEvent(epsilon=700.0), PureEvent(epsilon=1.0))), "pld").interval(delta=1e-6)
    assert 700.999 < lower <= upper <= 701.0


def test_tiny_losses_on_a_sample_are_not_priced_by_their_support():
    # the loss is bounded by ln 2 and concentrated within 1e-10 of 0: a lattice over its support would see nothing
    event = Repeat(event=Subsample(rate=0.5, event=GaussianEvent(ratio=1e-12)), times=10**6)
    whole = account(Repeat(event=GaussianEvent(ratio=1e-12), times=10**6), "pld").epsilon(delta=1e-300)
    assert 0.0 < account(event, "pld").epsilon(delta=1e-300) < whole < 1e-7
