"""m-invariance: people keep the same set of values in every release."""
