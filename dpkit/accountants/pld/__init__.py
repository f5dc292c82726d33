"""The accountant `pld`: certified readings of composed loss distributions, by a contour or a lattice."""
