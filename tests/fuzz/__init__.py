"""Hostile inputs for every command, and a judge of what goes out that shares nothing with the product."""
