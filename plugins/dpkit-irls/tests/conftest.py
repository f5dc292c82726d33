"""A ledger for fits, and plans that are solved once."""

import pytest

import dpkit


@pytest.fixture
def ledger(tmp_path):
    return dpkit.Ledger.create(
        tmp_path / "data.ledger",
        budget=dpkit.ApproxDP(epsilon=30.0, delta=1e-4),
        dataset="d",
        accountant="gdp",
        neighbours=dpkit.Neighbours.REPLACE_ONE,
    )


@pytest.fixture(scope="session")
def solved():
    return {}


@pytest.fixture
def solved_once(monkeypatch, solved):
    """The noise follows from public facts alone: equal plans and budgets are solved once a session."""
    solve = dpkit.solve_noise

    def remembered(algorithms, budget, **given):
        key = repr((algorithms, budget, given["neighbours"], given["accountant"]))
        if key not in solved:
            solved[key] = solve(algorithms, budget, **given)
        return solved[key]

    monkeypatch.setattr(dpkit, "solve_noise", remembered)
