"""What an analysis may say under `engine: {dask: {...}}`. Dask itself is imported when an engine is opened, not before."""

from __future__ import annotations

import dpkit
from dpkit.core.engine import Engine
from dpkit.core.source import Source


def open_engine(
    source: Source,
    *,
    address: str | None,
    workers: int | None,
    partition_bytes: int,
    timeout: float,
    tls_ca: str | None,
    tls_cert: str | None,
    tls_key: str | None,
) -> Engine:
    """An engine over the workers of a cluster, which is reached, or started, first."""
    from dpkit_dask.cluster import Certificates, Cluster
    from dpkit_dask.engine import DaskEngine

    cluster = Cluster.local(workers=workers, timeout=timeout) if address is None else None
    if cluster is None:
        assert address is not None
        certificates = Certificates(ca=tls_ca, cert=tls_cert, key=tls_key)
        cluster = Cluster.at(address, certificates=certificates, timeout=timeout)
    try:
        return DaskEngine(source, cluster=cluster, partition_bytes=partition_bytes)
    except BaseException:
        cluster.close()
        raise


DASK = dpkit.EngineFactory(
    name="dask",
    doc="The workers of a Dask cluster, which read their own parts of the files; only exact sums leave them.",
    make=open_engine,
    parameters=(
        dpkit.Parameter(
            name="address",
            kind="text",
            doc="The scheduler, such as tls://host:8786. Without it, a cluster of processes on this machine is started.",
            default=None,
        ),
        dpkit.Parameter(
            name="workers",
            kind="integer",
            doc="How many processes a local cluster has; as many as there are processors unless it is given.",
            minimum=1,
            default=None,
            only_with={"address": None},
        ),
        dpkit.Parameter(
            name="partition_bytes",
            kind="integer",
            doc="About how much of the files one task reads; a Parquet row group is never split.",
            unit="bytes",
            minimum=1,
            default=1 << 26,
        ),
        dpkit.Parameter(
            name="timeout",
            kind="number",
            doc="How long the cluster may take to answer before anything is charged.",
            unit="seconds",
            minimum=0.0,
            exclusive=True,
            default=30.0,
        ),
        dpkit.Parameter(
            name="tls_ca",
            kind="text",
            doc="The file of the authority that signed the cluster's certificates.",
            default=None,
            only_with={"address": dpkit.GIVEN},
        ),
        dpkit.Parameter(
            name="tls_cert",
            kind="text",
            doc="The file of this client's certificate.",
            default=None,
            only_with={"address": dpkit.GIVEN},
        ),
        dpkit.Parameter(
            name="tls_key",
            kind="text",
            doc="The file of this client's private key.",
            default=None,
            only_with={"address": dpkit.GIVEN},
        ),
    ),
)
