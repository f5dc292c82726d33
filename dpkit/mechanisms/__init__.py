"""The built-in mechanisms: an event and its loss rules stand together, one noise a file, as a plugin would do it."""
