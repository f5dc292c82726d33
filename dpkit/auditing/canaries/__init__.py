"""One training run, many canaries: which were in it, guessed from scores, bounds what the run reveals."""
