"""What was found in a table and what is done about it, in words."""

from collections.abc import Mapping

from reissue.cleaning.sheet import Hit
from reissue.language import counted, text
from reissue.words import visible

__all__ = ["ACTIONS", "FACTS", "SHEET_DEFECTS", "UNREADABLE", "said_of"]

SHEET_DEFECTS = ("notes", "header", "names", "unnamed", "ragged", "merged")
"""What taking a table out of its sheet may involve."""
FACTS: Mapping[str, tuple[str, str]] = {
    "notes": (
        "{count} row above or below the table is a note",
        "{count} rows above or below the table are notes",
    ),
    "header": ("The column names stand in {count} row", "The column names stand in {count} rows"),
    "names": (
        "{count} column has no name, or that of another column",
        "{count} columns have no name, or that of another column",
    ),
    "unnamed": ("{count} column has neither a name nor a cell", "{count} columns have neither a name nor a cell"),
    "ragged": (
        "{count} row has more or fewer cells than the header",
        "{count} rows have more or fewer cells than the header",
    ),
    "merged": (
        "{count} row has cells that are merged with those above",
        "{count} rows have cells that are merged with those above",
    ),
    "blanks": (
        "{count} cell of '{column}' has blanks before or after the text",
        "{count} cells of '{column}' have blanks before or after the text",
    ),
    "empty_rows": ("{count} row is empty", "{count} rows are empty"),
    "totals": (
        "{count} row holds totals, and no person",
        "{count} rows hold totals, and no person",
    ),
    "missing": (
        "{count} cell of '{column}' holds a word or sign for a missing value",
        "{count} cells of '{column}' hold a word or sign for a missing value",
    ),
    "yes_no": (
        "{count} cell of '{column}' says yes or no in other words than the rest",
        "{count} cells of '{column}' say yes or no in other words than the rest",
    ),
    "spelling": (
        "{count} cell of '{column}' differs from others only in case or blanks, and would count as another value",
        "{count} cells of '{column}' differ from others only in case or blanks, and would count as other values",
    ),
    "numbers": (
        "{count} cell of '{column}' has a unit or another notation",
        "{count} cells of '{column}' have units or another notation",
    ),
    "dates": (
        "{count} cell of '{column}' is a date in another notation",
        "{count} cells of '{column}' are dates in another notation",
    ),
    "codes": (
        "{count} cell of '{column}' holds a number far from all others, which may stand for a missing value",
        "{count} cells of '{column}' hold a number far from all others, which may stand for a missing value",
    ),
    "duplicates": ("{count} row repeats another row exactly", "{count} rows repeat another row exactly"),
    "nameless": (
        "{count} row has no '{column}', so that nobody can be followed",
        "{count} rows have no '{column}', so that nobody can be followed",
    ),
    "repeated": (
        "{count} row has the '{column}' of another row with other content",
        "{count} rows have the '{column}' of another row with other content",
    ),
    "empty_columns": ("Column '{column}' is empty", "Column '{column}' is empty"),
}
"""What was found, by the name of a repair: of one cell, row or column, and of several."""
UNREADABLE: Mapping[str, tuple[str, str]] = {
    "numbers": ("{count} cell of '{column}' is no number", "{count} cells of '{column}' are no numbers"),
    "dates": ("{count} cell of '{column}' is no date", "{count} cells of '{column}' are no dates"),
}
"""What was found where no cell could be read."""
ACTIONS: Mapping[str, str] = {
    "notes": "leave out",
    "header": "join them into one",
    "names": "give a name",
    "unnamed": "leave out",
    "ragged": "fill up with missing cells",
    "merged": "give each row its value",
    "blanks": "remove the blanks",
    "empty_rows": "leave out",
    "totals": "leave out",
    "missing": "read as missing",
    "yes_no": "write yes and no",
    "spelling": "write as most cells are",
    "numbers": "read as numbers, without units",
    "dates": "read as dates",
    "codes": "read as missing, if that is what it means",
    "duplicates": "leave the copies out",
    "nameless": "leave out",
    "repeated": "keep the last row of each",
    "empty_columns": "leave out",
}
"""What is done, by the name of a repair."""


def said_of(name: str, hit: Hit) -> tuple[str, str]:
    """Return what was found and what is done, in words."""
    lost = hit.lost == hit.count and name in UNREADABLE
    one, many = UNREADABLE[name] if lost else FACTS[name]
    fact = counted(hit.count, one, many, column=visible(hit.column))
    if lost:
        return fact, text("read as missing")
    if hit.lost:
        fact = counted(
            hit.lost, "{fact}, or cannot be read ({count})", "{fact}, or cannot be read ({count})", fact=fact
        )
        return fact, text("{action}, and as missing where that is impossible", action=text(ACTIONS[name]))
    return fact, text(ACTIONS[name])
