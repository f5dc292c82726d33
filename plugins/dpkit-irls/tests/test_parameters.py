"""Each algorithm has its own parameters: one that has no effect is refused at its place in the file, before data is read."""

import pytest

import dpkit

ANALYSIS = """dpkit: 1
data:
  source: rows.csv
  neighbours: replace-one
  rows: 50000
  columns:
    x: [-4, 4]
    g: {levels: [a, b]}
    y: [-4, 4]
budget: {epsilon: 1.0, delta: 1e-6}
steps:
  - id: fit
    run: RUN
    with:
      features: [x, g]
      target: y
      GIVEN
"""
HERE = "analysis.yaml:17:7: `steps[0].with."


def loaded(folder, run, given):
    path = folder / "analysis.yaml"
    path.write_text(ANALYSIS.replace("RUN", run).replace("GIVEN", given), encoding="utf-8")
    return dpkit.load(path)


@pytest.mark.parametrize(
    ("run", "given", "said"),
    [
        ("irls", "noise: wishart", "unknown key 'noise'"),
        ("irls", "p: 1.5", "unknown key 'p'"),
        ("irls", "x_bound: 3.0", "unknown key 'x_bound'"),
        ("irls-moments", "units: bounds", "unknown key 'units'"),
        ("irls-moments", "freedom: 5", "left out: it has an effect only with `noise: wishart`"),
        ("irls-moments", "failure: 1e-4", "unknown key 'failure'"),
        ("irls-paper", "average: none", "unknown key 'average'"),
        ("irls", "form: moments", "`irls-moments` for `moments`"),
        ("irls-moments", "form: bounded", "run `irls` for the form `bounded`"),
    ],
)
def test_what_has_no_effect_is_refused_at_its_line(tmp_path, run, given, said):
    with pytest.raises(dpkit.SpecError) as refused:
        loaded(tmp_path, run, given)
    (problem,) = refused.value.problems
    assert str(problem).startswith(HERE + given.partition(":")[0])
    assert said in str(problem)


def test_the_paper_takes_no_noise_that_it_does_not_have(tmp_path):
    with pytest.raises(dpkit.SpecError, match="one of 'gaussian', 'laplace'"):
        loaded(tmp_path, "irls-paper", "noise: wishart")
    with pytest.raises(dpkit.SpecError, match="only with `noise: gaussian`"):
        loaded(tmp_path, "irls-paper", "failure: 1e-4\n      noise: laplace")


def test_what_has_an_effect_is_taken(tmp_path):
    spec = loaded(tmp_path, "irls-moments", "freedom: 90\n      noise: wishart")
    assert spec.steps[0].algorithm.extra == 90
    assert loaded(tmp_path, "irls-moments", "p: 2.0").steps[0].algorithm.p == 2.0
    assert loaded(tmp_path, "irls", "shares: {g: [0.9, 0.1]}").steps[0].algorithm.shares == {"g": (0.9, 0.1)}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("shares: {h: [0.5, 0.5]}", "found 'h'; allowed: of categories among the features: g"),
        ("shares: {g: [0.5]}", "2 shares, one a level, that add up to 1"),
        ("shares: {g: [0.5, 0.2]}", "add up to 0.7"),
        ("shares: [0.5, 0.5]", "a mapping from names to lists"),
        ("shares: {g: [1.5, -0.5]}", "<= 1"),
    ],
)
def test_shares_are_of_declared_levels_and_add_up_to_one(tmp_path, given, said):
    with pytest.raises(dpkit.SpecError, match="shares") as refused:
        loaded(tmp_path, "irls", given)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            "deviations: {y: 0.1, x: -1}",
            "`steps[0].with.deviations.x`: found -1; allowed: a mapping from names to finite numbers",
        ),
        ("deviations: {x: [1]}", "`steps[0].with.deviations.x`: found a list of 1"),
        ("shares: {g: [2, -1]}", "`steps[0].with.shares.g`: found a list of 2"),
    ],
)
def test_what_is_wrong_under_a_name_is_told_by_that_name(tmp_path, given, said):
    """It said: found a mapping; allowed: a mapping."""
    with pytest.raises(dpkit.SpecError) as refused:
        loaded(tmp_path, "irls", given)
    assert said in str(refused.value)


def test_gaussian_noise_may_be_named_and_no_other(tmp_path):
    assert loaded(tmp_path, "irls", "mechanism: gaussian").steps[0].algorithm == loaded(tmp_path, "irls", "").steps[0].algorithm
    with pytest.raises(dpkit.SpecError, match="mechanism") as refused:
        loaded(tmp_path, "irls", "mechanism: laplace")
    assert "analysis.yaml:17:18" in str(refused.value)
    assert "allowed: gaussian" in str(refused.value)
    assert "proved for Gaussian noise" in str(refused.value)
    with pytest.raises(dpkit.SpecError, match="the plan chooses it"):
        loaded(tmp_path, "irls", "mechanism: {gaussian: {scale: 3.0}}")
