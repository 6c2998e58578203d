"""Counting: packed keys, groups of rows as flat arrays, histograms of groups."""
