"""What is proved: events, losses, distances, rules, conversions between notions, compositions and dominating pairs."""
