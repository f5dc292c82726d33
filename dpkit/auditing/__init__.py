"""Auditing: attempts to break a claim, each one falsifier, and the certificate of what came of them."""
