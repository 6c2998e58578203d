"""Coalitions of providers: what is left of groups when some take their own records out."""
