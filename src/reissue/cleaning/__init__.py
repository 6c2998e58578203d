"""Cleaning: defects of tables as people keep them, one repair for each, and the recipe that repeats the repairs."""

from reissue.cleaning.recipe import LAYOUT, CleanRecipe
from reissue.cleaning.replay import Cleaned, Defect, cleaned, find_defects, repaired
from reissue.cleaning.sheet import Sheet, sheet_of_frame, sheet_of_grid
from reissue.cleaning.values import folded
from reissue.cleaning.wording import SHEET_DEFECTS

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
