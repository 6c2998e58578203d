"""Taxonomies: trees over the values of a column, from files, tables or rules, and how published values are read."""

from reissue.taxonomy.codings import DATE_STEPS, KINDS, Coding, Hierarchy, changed_labels, prepare, unrounded
from reissue.taxonomy.forest import Forest
from reissue.taxonomy.notation import Intervals, coding_of, parse_column, words_beside_ranges
from reissue.taxonomy.numbers import EXACT, automatic_widths
from reissue.taxonomy.paths import arx_lines, groups_in_file, groups_of, moved, read_hierarchy, tree_of, tree_paths
from reissue.taxonomy.ranges import Span, is_dated, is_range, last, number_of, span_of
from reissue.taxonomy.tree import ROOT, Level, Taxonomy, assemble

__all__ = [
    "DATE_STEPS",
    "EXACT",
    "KINDS",
    "ROOT",
    "Coding",
    "Forest",
    "Hierarchy",
    "Intervals",
    "Level",
    "Span",
    "Taxonomy",
    "arx_lines",
    "assemble",
    "automatic_widths",
    "changed_labels",
    "coding_of",
    "groups_in_file",
    "groups_of",
    "is_dated",
    "is_range",
    "last",
    "moved",
    "number_of",
    "parse_column",
    "prepare",
    "read_hierarchy",
    "span_of",
    "tree_of",
    "tree_paths",
    "unrounded",
    "words_beside_ranges",
]
