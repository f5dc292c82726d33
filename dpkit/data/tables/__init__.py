"""Tables of raw cells: arrays, frames, Arrow, CSV, and the source that engines read."""
