"""Exact noise: random bits, exactly rounded and exactly sampled laws, and the stamp of a simulation."""
