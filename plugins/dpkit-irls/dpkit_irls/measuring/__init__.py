"""How good the forms are on made-up and public data: designs, gaps to a fit without privacy, and coverage of intervals."""
