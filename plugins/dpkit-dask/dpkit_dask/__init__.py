"""The engine `dask`: queries are summed where the rows are, on the workers of a Dask cluster, and only exact sums come back."""

from __future__ import annotations

from collections.abc import Sequence

import dpkit
from dpkit_dask.factory import DASK

__all__ = ["DASK", "dpkit_engines"]


@dpkit.hookimpl
def dpkit_engines() -> Sequence[dpkit.EngineFactory]:
    """The engine `dask`."""
    return (DASK,)
