"""Samples to refutation are counted over seeds, and shown."""

from dpkit_bench.audit_samples import as_markdown, measure_audit

from dpkit.auditing.zoo import entry_named


def test_samples_to_refutation_are_measured():
    (row,) = measure_audit(seeds=3, entries=[entry_named("laplace half")])
    assert row.refuted == 3
    assert row.smallest <= row.median <= row.largest < 3_000
    assert "| laplace half | broken | black box | 3/3 |" in as_markdown([row])
