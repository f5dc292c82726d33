"""From a YAML file to a priced plan and a result."""
