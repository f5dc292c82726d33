"""Tests of the engine on a cluster, which lives as long as they run: an idle one costs CPU time."""
