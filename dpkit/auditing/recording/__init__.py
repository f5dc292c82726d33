"""Record and replay: noise is recorded on one dataset, and the same noisy answers are given on its neighbour."""
