"""From an event tree to a guarantee: rules are chosen, counts applied, budgets kept."""
