"""What authors of engines need: how queries are summed apart from where the rows are, and the parts of a source.

Public: docs/api.md lists these names, and a test holds the list and the first-party plugins to it.
"""

from dpkit.data.columns.bounding import FoundRows, first_of_each, found_rows, gathered, shared_out
from dpkit.data.summing.block_engine import READ_BYTES
from dpkit.data.summing.query_sums import QuerySums, Totals, dry_run, plan_sums
from dpkit.data.tables.source import Bounding, DataSource, SourcePart
from dpkit.data.without_warnings import quietly
from dpkit.errors import kind_of

__all__ = [
    "READ_BYTES",
    "Bounding",
    "DataSource",
    "FoundRows",
    "QuerySums",
    "SourcePart",
    "Totals",
    "dry_run",
    "first_of_each",
    "found_rows",
    "gathered",
    "kind_of",
    "plan_sums",
    "quietly",
    "shared_out",
]
