"""Measurements of dpkit beside its peers, one file a subject; peers are optional and never needed at run time."""
