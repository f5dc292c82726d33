"""Distances between the values of neighbours, and of groups."""

import dpkit


def test_distances_of_groups_are_multiples():
    assert dpkit.l2(0.5).times(3) == dpkit.l2(1.5)
    assert dpkit.records(2).value == 2.0
    assert {d(1.0).metric for d in (dpkit.l1, dpkit.l2, dpkit.linf, dpkit.frobenius, dpkit.rank_one)} == {
        "l1",
        "l2",
        "linf",
        "frobenius",
        "rank_one",
    }
