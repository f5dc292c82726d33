"""The hooks: specs, manager, built-ins, and the registry that they fill. pluggy is imported nowhere else."""
