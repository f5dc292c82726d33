"""What plugins implement, and the registry that holds it by name."""
