"""Releases of PipelineDP as targets of `dpkit audit`: see docs/found-in-libraries.md."""

import pipeline_dp


def total(rows):
    """The sum of values in [0, 1], by rows of (person, partition, value) in which a missing value is None; epsilon is 1."""
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1.0, total_delta=0.0)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    asked = pipeline_dp.AggregateParams(
        metrics=[pipeline_dp.Metrics.SUM],
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
        min_value=0.0,
        max_value=1.0,
    )
    parts = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda row: float("nan") if row[2] is None else row[2],
    )
    answers = engine.aggregate(rows, asked, parts, public_partitions=["a"])
    accountant.compute_budgets()
    return [float(answer.sum) for _, answer in answers]
