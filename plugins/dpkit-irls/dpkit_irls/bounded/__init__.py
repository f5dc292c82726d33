"""The algorithm `irls`: a regression of bounded influence. What is released, what follows from it, and how good it is."""
