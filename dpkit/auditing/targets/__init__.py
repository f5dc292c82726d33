"""Targets that are no functions of (dataset, n, rng): one release a call, programs, services, notebooks, many processes."""
