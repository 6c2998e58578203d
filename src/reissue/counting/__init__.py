"""Counting: packed keys, groups of rows in flat arrays, histograms, hashes."""

from reissue.counting.cells import Cells, Counts, Domain, Margin, cells_of, margins_of
from reissue.counting.hashing import RowDigest, mix, row_words, siphash
from reissue.counting.histogram import Histogram, common, counted, starts_of
from reissue.counting.keys import distinct_keys, pack, rank, stable_order
from reissue.counting.people import PeopleCounts, SetCounts, SharedCounts, ValueSets, value_sets
from reissue.counting.resources import give_back, threads, workers
from reissue.counting.segments import different, equal_keys, pieces, ranges
from reissue.counting.texts import MISSING, SEPARATOR, TextCounts, count_texts, joined_texts, ranked_texts

__all__ = [
    "MISSING",
    "SEPARATOR",
    "Cells",
    "Counts",
    "Domain",
    "Histogram",
    "Margin",
    "PeopleCounts",
    "RowDigest",
    "SetCounts",
    "SharedCounts",
    "TextCounts",
    "ValueSets",
    "cells_of",
    "common",
    "count_texts",
    "counted",
    "different",
    "distinct_keys",
    "equal_keys",
    "give_back",
    "joined_texts",
    "margins_of",
    "mix",
    "pack",
    "pieces",
    "ranges",
    "rank",
    "ranked_texts",
    "row_words",
    "siphash",
    "stable_order",
    "starts_of",
    "threads",
    "value_sets",
    "workers",
]
