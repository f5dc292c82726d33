"""Parallel composition against a small example, enumerated: which cells a neighbour really touches."""

import itertools

import pytest
from mpmath import mp, mpf

from dpkit import GaussianEvent, Neighbours, Parallel, PureEvent, ZCDPEvent, account

mp.dps = 60
CELLS = 3
Dataset = tuple[int, ...]
"""Which cell each record lies in."""


def geometric(count: int, epsilon: float) -> list[mpf]:
    """The law of a count with two-sided geometric noise, clamped to 0..3: epsilon-DP for counts one apart."""
    r = mp.exp(-mpf(epsilon))
    middle = (1 - r) / (1 + r)
    law = [middle * r ** abs(value - count) for value in range(4)]
    law[0], law[3] = r**count / (1 + r), r ** (3 - count) / (1 + r)
    return law


def released(data: Dataset, epsilons: tuple[float, ...]) -> list[mpf]:
    """The joint law of the noisy counts of all cells."""
    laws = [geometric(data.count(cell), epsilon) for cell, epsilon in enumerate(epsilons)]
    return [mp.fprod(masses) for masses in itertools.product(*laws)]


def largest_loss(epsilons: tuple[float, ...], relation: Neighbours) -> mpf:
    worst = mpf(0)
    for size in range(3):
        for data in itertools.product(range(CELLS), repeat=size):
            if relation is Neighbours.ADD_REMOVE:
                neighbours = [(*data, cell) for cell in range(CELLS)]
            else:
                neighbours = [(*data[:i], cell, *data[i + 1 :]) for i in range(size) for cell in range(CELLS)]
            for neighbour in neighbours:
                pairs = zip(released(data, epsilons), released(neighbour, epsilons), strict=True)
                worst = max(worst, max(abs(mp.log(p / q)) for p, q in pairs))
    return worst


@pytest.mark.parametrize("epsilons", [(0.3, 0.3, 0.3), (0.1, 0.5, 0.9), (1.0, 0.2, 1.0)])
@pytest.mark.parametrize("relation", list(Neighbours))
def test_the_price_is_the_largest_loss_of_the_enumeration(epsilons: tuple[float, ...], relation: Neighbours) -> None:
    event = Parallel(events=tuple(PureEvent(epsilon=epsilon) for epsilon in epsilons))
    exact = largest_loss(epsilons, relation)
    ordered = sorted(epsilons, reverse=True)
    assert exact == pytest.approx(ordered[0] if relation is Neighbours.ADD_REMOVE else ordered[0] + ordered[1], rel=1e-12)
    for accountant in ("pure", "advanced", "best"):
        reported = account(event, accountant, neighbours=relation).epsilon(delta=0.0)
        assert exact * (1 - mpf(10) ** -30) <= mpf(reported) * (1 + mpf(1e-15))
        if accountant == "pure":
            # the pair's sum, where one pair is the worst in every respect
            assert reported == pytest.approx(float(exact), rel=1e-14)


@pytest.mark.parametrize("accountant", ["zcdp", "rdp", "best"])
def test_a_replaced_record_costs_two_cells_under_every_notion(accountant: str) -> None:
    cells = Parallel(events=(ZCDPEvent(rho=0.1), ZCDPEvent(rho=0.3), ZCDPEvent(rho=0.2)))
    moved = account(cells, accountant, neighbours=Neighbours.REPLACE_ONE).epsilon(delta=1e-6)
    two = account([ZCDPEvent(rho=0.3), ZCDPEvent(rho=0.2)], accountant, neighbours=Neighbours.REPLACE_ONE).epsilon(delta=1e-6)
    assert moved == pytest.approx(two, rel=1e-12)
    one = account(cells, accountant).epsilon(delta=1e-6)
    assert one == pytest.approx(account(ZCDPEvent(rho=0.3), accountant).epsilon(delta=1e-6), rel=1e-12)


@pytest.mark.parametrize("cells", [2, 5, 9, 200])
def test_many_different_cells_are_never_cheaper_than_the_worst_two(cells: int) -> None:
    ratios = [0.1 + 0.01 * i for i in range(cells)]
    event = Parallel(events=tuple(GaussianEvent(ratio=ratio) for ratio in ratios))
    worst = account([GaussianEvent(ratio=r) for r in ratios[-2:]], "gdp", neighbours=Neighbours.REPLACE_ONE)
    assert account(event, "gdp", neighbours=Neighbours.REPLACE_ONE).epsilon(delta=1e-6) >= worst.epsilon(delta=1e-6)


def test_one_cell_is_the_event_itself() -> None:
    for relation in Neighbours:
        assert account(Parallel(events=(PureEvent(epsilon=0.4),)), "pure", neighbours=relation).epsilon(delta=0.0) == 0.4
