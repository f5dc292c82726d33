"""Row weights of regressions: contributions times weights, what one row can move, and a fit that follows the heavy rows."""

import numpy as np
import pytest
from dpkit_irls.rows.row_weights import BITS, weighted

import dpkit


def said(relation):
    return (dpkit.l1(1.0), dpkit.l2(1.0)) if relation is dpkit.Neighbours.ADD_REMOVE else (dpkit.l1(2.0),)


def plain(grid=2.0**-30):
    return dpkit.Query(
        name="pair",
        columns=("x",),
        rows=lambda block: np.trunc(np.stack([block[:, 0], 1.0 - block[:, 0]], axis=1) / grid) * grid,
        shape=(2,),
        grid=grid,
        bound=1.0,
        sensitivity=said,
        because=dpkit.Citation(key="dpkit", locator="tests"),
    )


def test_contributions_are_times_the_weight_exactly_and_move_no_further():
    rng = np.random.default_rng(2)
    query = weighted(plain(), "w", 8.0)
    block = np.stack([rng.random(300), rng.choice([0.0, 8.0, 1.0, 1e9, -3.0, 2.5], 300)], axis=1)
    found, alone = query.rows(block), plain().rows(block[:, :1])
    share = np.clip(block[:, 1] / 8.0, 0.0, 1.0)
    assert np.abs(found - alone * share[:, None]).max() <= 2.0**-BITS
    assert (found / query.grid == np.rint(found / query.grid)).all()
    gone = {item.metric: item.value for item in query.sensitivity(dpkit.Neighbours.ADD_REMOVE)}
    moved = {item.metric: item.value for item in query.sensitivity(dpkit.Neighbours.REPLACE_ONE)}
    differences = found[:, None] - found[None]
    assert np.abs(found).sum(axis=1).max() <= gone["l1"]
    assert np.abs(differences).sum(axis=2).max() <= moved["l1"]
    assert (
        np.sqrt((differences**2).sum(axis=2)).max() <= moved["l2"] == 2.0
    )  # nothing is said of it: one that goes and one that comes


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_fit_follows_the_heavy_rows(tmp_path, relation):
    rng = np.random.default_rng(0)
    x, heavy = rng.normal(0.0, 1.0, 20_000), rng.random(20_000) < 0.5
    y = np.where(heavy, 3.0 * x + 1.0, -2.0 * x) + rng.normal(0.0, 0.5, 20_000)
    lines = [f"{one:.5f},{two:.5f},{4.0 if three else 0.25}" for one, two, three in zip(x, y, heavy, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["x,y,w", *lines, ""]), encoding="utf-8")
    (tmp_path / "a.yaml").write_text(
        f"""dpkit: 1
data: {{source: rows.csv, neighbours: {relation}, rows: 20000, columns: {{x: [-10, 10], y: [-50, 50], w: [0, 5]}}}}
budget: {{epsilon: 20, delta: 1e-6}}
steps:
  - {{id: fit, run: irls, with: {{features: [x], target: y, weight: w}}}}
""",
        encoding="utf-8",
    )
    fit = dpkit.load(tmp_path / "a.yaml").plan().run()["fit"]
    assert fit.coefficients[0] == pytest.approx(3.0, abs=0.3)
    assert fit.intercept == pytest.approx(1.0, abs=0.3)


def test_a_weight_that_may_be_negative_is_refused():
    schema = dpkit.Schema(columns=tuple(dpkit.Number(name=name, lower=-1, upper=1) for name in "xyw"))
    from dpkit_irls.regressions import prepare

    with pytest.raises(dpkit.InvalidValueError, match="numbers from 0 on"):
        prepare("irls", dpkit.DeclaredSetting(schema=schema), features=("x",), target="y", weight="w")
