"""Counting: packed keys, groups of rows in flat arrays, histograms, hashes."""
