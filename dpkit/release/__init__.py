"""What turns a priced plan into releases: the curator, the driver and the ledger."""
