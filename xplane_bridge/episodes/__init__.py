"""Episodes: the simulated aircraft as a Gymnasium environment, and training on it."""
