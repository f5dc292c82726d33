"""Plans and results as text, JSON and HTML."""
