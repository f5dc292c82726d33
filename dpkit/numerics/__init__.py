"""Numerics on the safe side: rounding, log-space arithmetic, bracketing, exact sums."""
