"""Settings, data and runs for the tests of the statistics."""

import dpkit_stats
import numpy as np

import dpkit

ALGORITHMS = {factory.name: factory for factory in dpkit_stats.dpkit_algorithms()}
ADD_REMOVE, REPLACE_ONE = dpkit.Neighbours.ADD_REMOVE, dpkit.Neighbours.REPLACE_ONE
ROW = dpkit.PrivacyUnit()
EXACT = 1e-7
"""A noise multiplier at which nothing but the statistic itself is seen."""


def schema(*, missing="drop"):
    return dpkit.Schema(
        columns=(
            dpkit.Number(name="x", lower=-5.0, upper=15.0, missing=missing),
            dpkit.Number(name="y", lower=0.0, upper=1.0, missing=missing),
            dpkit.Category(name="c", levels=("a", "b", "rest"), missing="rest", unknown="rest"),
        )
    )


def data(rows=2_000, seed=0):
    rng = np.random.default_rng(seed)
    x = np.clip(rng.normal(3.0, 2.0, rows), -5.0, 15.0)
    y = np.clip(0.5 + 0.04 * (x - 3.0) + rng.normal(0.0, 0.1, rows), 0.0, 1.0)
    return {"x": x, "y": y, "c": rng.choice(["a", "b", "zzz"], rows, p=[0.5, 0.3, 0.2])}


def setting(neighbours=ADD_REMOVE, *, missing="drop", rows=None, unit=ROW):
    return dpkit.DeclaredSetting(schema=schema(missing=missing), neighbours=neighbours, rows=rows, unit=unit)


def engine(table, known):
    return dpkit.BlockEngine(dpkit.open_source(table, known.schema, unit=known.unit, neighbours=known.neighbours))


def run(name, table, known, *, noise=EXACT, seed=0, **parameters):
    """The result of one statistic, in a seeded simulation."""
    algorithm = ALGORITHMS[name].prepare(known, **parameters)
    rng = np.random.default_rng(seed)
    found = dpkit.run_algorithms({"it": (algorithm, noise)}, engine=engine(table, known), setting=known, rng=rng)
    assert found.simulation
    return found.outcomes["it"].result
