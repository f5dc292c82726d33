"""`PrivateRobustRegressor`: the regression behind scikit-learn's interface."""
