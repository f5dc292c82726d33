"""The generic core: what happened (events), what it costs (losses, rules), what was claimed, and how to read it."""
