"""Taxonomies: trees over the values of a column, from files, tables or rules, and how published values are written."""
