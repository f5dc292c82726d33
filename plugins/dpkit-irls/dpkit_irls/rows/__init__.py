"""What every form does to a row before it is summed: fixed point, dummies of levels, and passes that may be compiled."""
