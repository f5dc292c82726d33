"""`python -m dpkit.cli`: the command line without its script."""

from dpkit.cli.start import start

start()
