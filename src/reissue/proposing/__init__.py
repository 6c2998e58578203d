"""Proposals: a schema for a table or for published files, and a policy for a series."""
