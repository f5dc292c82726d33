"""Data: declared columns, the privacy unit, tables of many kinds, and the engine that sums queries over them exactly."""
