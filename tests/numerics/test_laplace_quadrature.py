"""The quadrature is exact to rounding for what it is made for."""

import math

import numpy as np

from dpkit.numerics.laplace_quadrature import laplace_below, laplace_density, laplace_nodes


def test_densities_integrate_to_one_and_to_their_distribution():
    points = np.array([0.0, 3.3, 1000.0])
    places, weights = laplace_nodes(points, 0.7)
    for point in points:
        assert math.isclose(weights @ laplace_density(places - point, 0.7), 1.0, rel_tol=1e-12)
    below = weights @ (laplace_density(places, 0.7) * laplace_below(places - 3.3, 0.7))
    gap = 3.3 / 0.7
    assert math.isclose(below, math.exp(-gap) * (0.5 + gap / 4.0), rel_tol=1e-10)  # the difference of two Laplace noises
