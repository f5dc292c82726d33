"""SQL expressions over one row: typed and bounded before any data is read, evaluated by block, never failing on a value."""
