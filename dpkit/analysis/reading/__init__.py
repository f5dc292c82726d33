"""From a YAML file to a checked spec, with the place of every mistake."""
