"""What turns a priced plan into a release: the ledger, which charges before anything goes out."""
