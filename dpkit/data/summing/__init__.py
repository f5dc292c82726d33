"""Exact sums of queries over blocks, and the engines that walk over them."""
