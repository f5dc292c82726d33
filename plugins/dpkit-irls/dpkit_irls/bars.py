"""`python -m dpkit_irls.bars`: how good each form is, as tables (`measuring/accuracy_tables.py`)."""

from dpkit_irls.measuring.accuracy_tables import main

if __name__ == "__main__":
    main()
