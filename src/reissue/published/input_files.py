"""The files that a user names as releases: which of them are, and whether their names tell another order."""

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from reissue.files.places import SECOND_TABLES, part_of, second_path

__all__ = ["order_hint", "releases_among"]

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DATE = re.compile(r"(?<!\d)((?:19|20)\d\d)[-_.]?(0[1-9]|1[0-2]|q[1-4])?(?:[-_.]?([0-2]\d|3[01]))?(?!\d)")
_NAME = re.compile(rf"(?<![a-z])({'|'.join(_MONTHS)})[a-z]*")
_NUMBER = re.compile(r"\d+")


def releases_among(paths: Sequence[Any]) -> list[Any]:
    """The paths without those of second tables, which are read with the first one: a pattern names them too."""
    files = [path for path in paths if isinstance(path, Path) and not path.is_dir() and part_of(path)[1] is None]
    beside = {Path(second_path(path, name)) for path in files for name in SECOND_TABLES}
    return [path for path in paths if path not in beside]


def order_hint(paths: Sequence[Any]) -> str:
    """A sentence if the dates, months or numbers in the names of the files go another way than the files do."""
    keys = _keys([path.name.lower() for path in paths])
    if all(before <= after for before, after in pairwise(keys)):
        return ""
    return (
        "The files' names tell another order than the one they were given in. Releases are read in the order given, as "
        "that of their publication: if it is wrong, what follows is wrong."
    )


def _keys(names: Sequence[str]) -> list[tuple[int, ...]]:
    """What orders the names: dates, else months' names, else the last numbers in them; nothing if some lack it."""
    dates = [_DATE.search(name) for name in names]
    if all(dates):
        return [_date(found) for found in dates if found]
    months = [_NAME.search(name) for name in names]
    if all(months):
        return _around([_MONTHS.index(found[1]) for found in months if found])
    numbers = [_NUMBER.findall(name.partition(".")[0]) for name in names]
    return [(int(found[-1]),) for found in numbers] if all(numbers) else []


def _date(found: re.Match[str]) -> tuple[int, ...]:
    year, part, day = found.groups()
    month = 0 if part is None else 3 * int(part[1]) - 2 if part[0] == "q" else int(part)
    return int(year), month, int(day or 0)


def _around(months: Sequence[int]) -> list[tuple[int, ...]]:
    """Months without a year: January may follow upon December."""
    years = [0]
    for before, after in pairwise(months):
        years.append(years[-1] + (before == 11 and after == 0))
    return list(zip(years, months, strict=True))
