"""Keys that come out: dpkit keeps at least as many as every threshold of its peers."""

import numpy as np
from dpkit_bench.keys_kept import as_markdown, keys_kept, zipf_people


def test_nobody_keeps_more():
    rows, _ = keys_kept(4_000, (1, 4))
    for most in (1, 4):
        kept = {row.method: row.kept for row in rows if row.most == most}
        assert kept.pop("dpkit") >= 0.93 * max(kept.values(), default=0.0)  # an average of twenty draws
    assert len(as_markdown(rows).splitlines()) == 2 + len(rows)


def test_people_hold_as_many_keys_as_they_are_sorted_by():
    held = zipf_people(500, 3)
    people = held.sum(axis=0) / np.arange(1, 4)
    assert people.sum() == 500
