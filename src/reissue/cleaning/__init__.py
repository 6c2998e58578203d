"""Cleaning: defects of tables as people keep them, one repair for each, and the recipe that repeats the repairs."""

from reissue.cleaning.recipe import LAYOUT, CleanRecipe
from reissue.cleaning.replay import SHEET_DEFECTS, Cleaned, Defect, cleaned, find_defects, repaired
from reissue.cleaning.sheet import Sheet, sheet_of_frame, sheet_of_grid
from reissue.cleaning.values import folded

__all__ = [
    "LAYOUT",
    "SHEET_DEFECTS",
    "CleanRecipe",
    "Cleaned",
    "Defect",
    "Sheet",
    "cleaned",
    "find_defects",
    "folded",
    "repaired",
    "sheet_of_frame",
    "sheet_of_grid",
]
