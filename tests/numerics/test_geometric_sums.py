"""Sums on a geometric grid against sums of all pairs: above and below in convex order, and close."""

import math

import numpy as np
import pytest

from dpkit.numerics import geometric_sums
from dpkit.numerics.geometric_sums import GeometricLaw, add_laws, dust_reach, grid_values

PLACES = np.geomspace(0.3, 60.0, 200)


def some_law(seed: int, *, points: int = 40, size: int = 90) -> GeometricLaw:
    """A smooth hill on the grid, with a long tail to the right."""
    rng = np.random.default_rng(seed)
    places = np.arange(size) - rng.uniform(20.0, 30.0)
    masses = np.exp(-0.5 * (places / rng.uniform(6.0, 12.0)) ** 2) + 1e-6 * np.exp(-0.1 * np.abs(places))
    return GeometricLaw(points=points, first=int(rng.integers(-30, 10)), masses=masses / np.sum(masses))


def gains(values: np.ndarray, masses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """E(S - a)_+ and E(a - S)_+ at all places."""
    away = values[None, :] - PLACES[:, None]
    return np.maximum(away, 0.0) @ masses, np.maximum(-away, 0.0) @ masses


def of_all_pairs(one: GeometricLaw, other: GeometricLaw) -> tuple[np.ndarray, np.ndarray]:
    sums = np.add.outer(one.values(), other.values()).ravel()
    return gains(sums, np.multiply.outer(one.masses, other.masses).ravel())


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_sums_are_enclosed_in_convex_order_and_closely(seed: int, parts: int) -> None:
    one, other = some_law(seed), some_law(seed + 10)
    for pair in ((one, other), (one, one)):
        truth = of_all_pairs(*pair)
        for edge, sign in (("above", 1.0), ("below", -1.0)):
            found = add_laws(*pair, edge=edge, parts=parts)
            assert found.points == parts * one.points
            assert np.all(found.masses >= 0.0)
            for mine, exact in zip(gains(found.values(), found.masses), truth, strict=True):
                assert np.all(sign * (mine - exact) >= -1e-13)
                assert np.all(np.abs(mine - exact) <= 2e-3 * np.maximum(PLACES, 1.0) / parts**2)


def test_the_enclosure_closes_in_as_the_square_of_the_step() -> None:
    def gap(points: int) -> float:
        logs = math.log(2.0) / points * np.arange(-3 * points, 4 * points)
        masses = np.exp(-0.5 * logs**2)
        law = GeometricLaw(points=points, first=-3 * points, masses=masses / np.sum(masses))
        found = [gains(made.values(), made.masses)[0] for made in (add_laws(law, law, edge=e) for e in ("above", "below"))]
        return float(np.max(found[0] - found[1]))

    assert gap(64) < 0.3 * gap(32) < 0.1 * gap(16)


def test_dust_counts_by_its_mass_and_mean() -> None:
    law = some_law(4)
    lowest = law.first - dust_reach(law.points) - 5
    grains = grid_values(law.points, np.array([lowest - 40, lowest - 3]))
    weights = np.array([0.2, 0.3])
    dusty = GeometricLaw(
        points=law.points, first=law.first, masses=0.5 * law.masses, dust=0.5, dust_mean=float(grains @ weights)
    )
    sums = np.concatenate((np.add.outer(grains, law.values()).ravel(), np.add.outer(law.values(), law.values()).ravel()))
    masses = np.concatenate(
        (np.multiply.outer(weights, law.masses).ravel(), 0.5 * np.multiply.outer(law.masses, law.masses).ravel())
    )
    truth = gains(sums, masses)
    for edge, sign in (("above", 1.0), ("below", -1.0)):
        found = add_laws(law, dusty, edge=edge)
        for mine, exact in zip(gains(found.values(), found.masses), truth, strict=True):
            assert np.all(sign * (mine - exact) >= -1e-13)


def test_a_far_tail_keeps_its_digits() -> None:
    """Masses of 1e-100 next to the bulk: a sum by transforms would lose them."""
    points, size = 30, 400
    places = np.arange(size)
    masses = np.exp(-0.7 * np.abs(places - 60))
    law = GeometricLaw(points=points, first=-60, masses=masses / np.sum(masses))
    sums = np.add.outer(law.values(), law.values()).ravel()
    weights = np.multiply.outer(law.masses, law.masses).ravel()
    at = float(law.values()[-20])
    exact = float(np.maximum(sums - at, 0.0) @ weights)
    assert exact < 1e-90
    above, below = (add_laws(law, law, edge=edge) for edge in ("above", "below"))
    high, low = (float(np.maximum(made.values() - at, 0.0) @ made.masses) for made in (above, below))
    assert low <= exact * (1.0 + 1e-12)
    assert exact * (1.0 - 1e-12) <= high <= 1.5 * exact
    assert low >= 0.5 * exact


def test_a_mutant_that_lets_windows_miss_a_point_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    sums = geometric_sums._Windows.sums

    def short(self, top: int, length: int, count: int) -> np.ndarray:
        return sums(self, top, max(1, length - 1), count)

    monkeypatch.setattr(geometric_sums._Windows, "sums", short)
    law = some_law(5)
    found = add_laws(law, law, edge="above")
    assert np.any(gains(found.values(), found.masses)[0] < of_all_pairs(law, law)[0] - 1e-9)
