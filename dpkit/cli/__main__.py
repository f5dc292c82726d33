"""`python -m dpkit.cli`: the command line without its script."""

from dpkit.cli import main

main(prog_name="dpkit")
