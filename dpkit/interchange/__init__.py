"""Other people's runs: read and written in the forms of dp-accounting, Opacus and jax_privacy, and priced in one call.

None of these packages is imported to read what it made; writing a DpEvent needs dp-accounting (`dpkit[exchange]`).
"""

from __future__ import annotations

from dpkit.interchange.dp_events import read_dp_event as read_dp_event
from dpkit.interchange.dp_events import write_dp_event as write_dp_event
from dpkit.interchange.foreign_runs import ForeignRun as ForeignRun
from dpkit.interchange.histories import read_history as read_history
from dpkit.interchange.histories import read_jax_privacy as read_jax_privacy
from dpkit.interchange.histories import read_opacus as read_opacus
from dpkit.interchange.histories import write_jax_privacy as write_jax_privacy
from dpkit.interchange.histories import write_opacus as write_opacus
from dpkit.interchange.price_runs import PricedRun as PricedRun
from dpkit.interchange.price_runs import price as price
from dpkit.interchange.price_runs import read as read
from dpkit.interchange.price_runs import write as write

__all__ = [
    "ForeignRun",
    "PricedRun",
    "price",
    "read",
    "read_dp_event",
    "read_history",
    "read_jax_privacy",
    "read_opacus",
    "write",
    "write_dp_event",
    "write_jax_privacy",
    "write_opacus",
]
