"""The verb `dpkit bench`: dpkit beside its peers, one file a subject. Peers are optional; one that is missing is left out."""

from __future__ import annotations

from collections.abc import Sequence

import dpkit

__all__ = ["dpkit_commands"]


@dpkit.hookimpl
def dpkit_commands() -> Sequence[dpkit.Command]:
    """The verb `bench`."""
    return (dpkit.Command(name="bench", doc="Measure dpkit beside its peers, all in one run.", load=_bench),)


def _bench() -> object:
    from dpkit_bench.verbs import bench

    return bench
