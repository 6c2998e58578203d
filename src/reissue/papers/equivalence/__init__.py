"""e-equivalence: too few people can be shown to have the same value."""
