"""The search for neighbours at which a claim looks worst."""
