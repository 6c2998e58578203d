"""Chains of groups through the releases of a growing table: what is left of a group once others are taken away."""
