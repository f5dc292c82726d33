"""Declared columns: what a cell may hold, the schema, the privacy unit and bounded contributions."""
