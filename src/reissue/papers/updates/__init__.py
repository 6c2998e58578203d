"""The update attack: one person's groups through a series, taken together."""
