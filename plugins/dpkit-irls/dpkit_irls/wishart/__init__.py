"""Wishart noise: the mechanism, its exact loss in both relations, how it is drawn, and its entries of the audit's zoo."""
