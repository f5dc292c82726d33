"""The algorithm `irls-moments`: the moments of the published method, released with noise whose guarantee holds."""
