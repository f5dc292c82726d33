"""One falsifier a file: each is one way to break a claim."""
