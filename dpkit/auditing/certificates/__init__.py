"""Certificates: what was claimed, attacked and found; their recipes, replay and formats."""
