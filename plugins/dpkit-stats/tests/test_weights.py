"""Row weights: weighted counts and means against plain arithmetic, their prices, and what is refused."""

import numpy as np
import pytest
from dpkit_stats.scaling import Interval
from dpkit_stats.weights import weighted_mean_query

import dpkit

ROWS = 2000
HEAD = """dpkit: 1
data:
  source: rows.csv
  columns: {x: [-5, 20], w: [0, 8], g: {levels: [a, b]}, minus: [-1, 1]}
budget: {epsilon: 10000, delta: 0.001}
steps:
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("weights")
    rng = np.random.default_rng(1)
    x, w, g = rng.uniform(-5, 20, ROWS), rng.uniform(0, 8, ROWS), rng.choice(["a", "b"], ROWS)
    lines = [
        f"{one!r},{'' if number % 50 == 0 else repr(two)},{three},0"
        for number, (one, two, three) in enumerate(zip(x.tolist(), w.tolist(), g, strict=True))
    ]
    (place / "rows.csv").write_text("\n".join(["x,w,g,minus", *lines, ""]), encoding="utf-8")
    kept = np.arange(ROWS) % 50 != 0
    return place, x[kept], w[kept], g[kept]


def run(place, steps):
    (place / "a.yaml").write_text(HEAD + steps, encoding="utf-8")
    return dpkit.load(place / "a.yaml").plan().run()


def test_weighted_counts_and_means_are_what_they_say(folder):
    place, x, w, g = folder
    found = run(
        place,
        "  - {id: n, run: count, with: {weight: w}}\n"
        "  - {id: nx, run: count, with: {column: x, weight: w}}\n"
        "  - {id: m, run: mean, with: {column: x, weight: w}}\n"
        "  - {id: by, run: mean, by: g, with: {column: x, weight: w}}\n",
    )
    assert found["n"].estimate == pytest.approx(w.sum(), abs=10.0)
    assert found["nx"].estimate == pytest.approx(w.sum(), abs=10.0)
    assert found["m"].estimate == pytest.approx(np.average(x, weights=w), abs=0.1)
    assert found["m"].count == pytest.approx(w.sum(), abs=20.0)
    assert found["m"].lower <= np.average(x, weights=w) <= found["m"].upper
    for estimate, level in zip(found["by"].column("estimate"), ("a", "b"), strict=True):
        assert estimate == pytest.approx(np.average(x[g == level], weights=w[g == level]), abs=0.2)


def test_a_weight_below_zero_is_refused_at_its_place(folder):
    place, *_ = folder
    with pytest.raises(dpkit.SpecError, match="a column of numbers from 0 on"):
        run(place, "  - {id: m, run: mean, with: {column: x, weight: minus}}\n")
    with pytest.raises(dpkit.SpecError, match=r"with\.weight`: found 'g'; allowed: a column of numbers"):
        run(place, "  - {id: m, run: mean, with: {column: x, weight: g}}\n")
    with pytest.raises(dpkit.SpecError, match="no declared column named 'ww'"):
        run(place, "  - {id: m, run: mean, with: {column: x, weight: ww}}\n")


def test_one_row_moves_weighted_sums_by_no_more_than_is_said():
    """The corners of values and weights, and rows between: the largest distances are those that are declared."""
    rng = np.random.default_rng(3)
    query = weighted_mean_query("x", Interval(lower=-5.0, upper=20.0), "w", Interval(lower=0.0, upper=8.0))
    corners = np.array([[x, w] for x in (-5.0, 7.5, 20.0, 1e9) for w in (0.0, 4.0, 8.0, 1e9)])
    block = np.concatenate([corners, np.stack([rng.uniform(-5, 20, 60), rng.uniform(0, 8, 60)], axis=1)])
    contributions = query.rows(block)
    assert (contributions >= 0.0).all()
    gone = {item.metric: item.value for item in query.sensitivity(dpkit.Neighbours.ADD_REMOVE)}
    moved = {item.metric: item.value for item in query.sensitivity(dpkit.Neighbours.REPLACE_ONE)}
    assert np.abs(contributions).sum(axis=1).max() == gone["l1"] == 1.0
    differences = contributions[:, None] - contributions[None]
    assert np.abs(differences).sum(axis=2).max() <= moved["l1"]
    assert np.sqrt((differences**2).sum(axis=2)).max() <= moved["l2"]
    assert query.block_sum(block).tolist() == pytest.approx(contributions.sum(axis=0).tolist(), abs=0.0)
