"""The conformance kit: hypothesis strategies and law suites, for dpkit's own tests and for plugin authors' (extra: testing).

hypothesis is imported in this package and nowhere else.
"""
