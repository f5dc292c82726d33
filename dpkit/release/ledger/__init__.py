"""The ledger: the budget of a dataset, charged before anything is released, hash-chained and verifiable."""
