"""How far two values are apart in a metric of that name, for tests of plugins."""

from dpkit.auditing.search.metrics import MEASURED, is_measured, sizes_in

__all__ = ["MEASURED", "is_measured", "sizes_in"]
