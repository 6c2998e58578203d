"""Everybody's past through a long series, as far as the next release needs it."""
