"""Files of statistics packages: SPSS (.sav, .zsav), Stata (.dta), SAS (.sas7bdat, .xpt). Labels become the values.

A column whose values all have labels becomes text: 1 and 2 say nothing, "male" and "female" do. Where only some values
have a label (-9 "refused"), the numbers stay. Labels are written as text; only the codes are lost. SAS keeps labels in
a catalog: patients.sas7bcat beside the table, or formats.sas7bcat for all tables of a folder.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from reissue.errors import DataError, InputError
from reissue.files.cells import whole_if_all_are
from reissue.files.extras import import_optional
from reissue.files.limits import refuse_large_grid

__all__ = ["read_statistics", "write_statistics"]

_READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
_WRITERS = {".sav": "write_sav", ".zsav": "write_sav", ".dta": "write_dta", ".xpt": "write_xport"}


def read_statistics(path: Path, kind: str, only: Sequence[str] = (), texts: Sequence[str] | None = ()) -> pl.DataFrame:
    """Read the table of a statistics file; the columns in `texts` (None: all) as text."""
    pyreadstat = import_optional("pyreadstat", "stats", f"'{path}' is a file of a statistics package")
    try:
        _, shape = getattr(pyreadstat, _READERS[kind])(str(path), output_format="polars", metadataonly=True)
        refuse_large_grid(path, shape.number_rows or 0, shape.number_columns or 0)
        frame, about = getattr(pyreadstat, _READERS[kind])(str(path), output_format="polars")
        labels = _catalog(pyreadstat, path, about) if kind == ".sas7bdat" else about.variable_value_labels
    except (pyreadstat.ReadstatError, ValueError, OSError, UnicodeDecodeError) as problem:
        if "allocate" in str(problem).lower():
            raise MemoryError from None
        raise DataError(f"'{path}' is not a whole {kind} file.") from None
    columns = [_plain(_labelled(column, labels.get(column.name, {}))) for column in frame.iter_columns()]
    frame = pl.DataFrame(frame).with_columns(columns)
    frame = (
        frame.select(n for n in frame.columns if n in set(only)) if only and set(only) <= set(frame.columns) else frame
    )
    return frame.with_columns(pl.col(n).cast(pl.String) for n in frame.columns if texts is None or n in texts)


def _catalog(pyreadstat: Any, path: Path, about: Any) -> dict[str, dict[Any, str]]:
    """The labels of a SAS table's columns, from a catalog beside it."""
    beside = [place for name in (path.stem, "formats") if (place := path.with_name(f"{name}.sas7bcat")).is_file()]
    if not beside:
        return {}
    _, catalog = pyreadstat.read_sas7bcat(str(beside[0]), output_format="polars")
    sets: dict[str, dict[Any, str]] = {name.upper(): labels for name, labels in catalog.value_labels.items()}
    formats = {column: str(name).upper() for column, name in about.variable_to_label.items()}
    return {column: sets[name] for column, name in formats.items() if name in sets}


def _labelled(column: pl.Series, labels: dict[Any, str]) -> pl.Series:
    """The labels of the values, if every value has one and no two share it; else the column itself."""
    values = column.drop_nulls().unique().to_list()
    if not values or not set(values) <= set(labels) or len({labels[value] for value in values}) < len(values):
        return column
    return column.replace_strict({value: labels[value] for value in values}, default=None, return_dtype=pl.String)


def _plain(column: pl.Series) -> pl.Series:
    """Whole numbers as such, although these files store floats; empty text as missing."""
    if column.dtype.is_float():
        return whole_if_all_are(column.fill_nan(None))
    if column.dtype == pl.String:
        return pl.select(pl.when(column != "").then(column)).to_series().alias(column.name)
    return column.cast(pl.String) if column.dtype == pl.Object else column


def write_statistics(frame: pl.DataFrame, path: Path, kind: str) -> None:
    """Write a table as a file of a statistics package; SAS's own format cannot be written."""
    pyreadstat = import_optional("pyreadstat", "stats", "A file of a statistics package is asked for")
    plain = frame.with_columns(
        pl.col(name).cast(pl.String)
        for name, dtype in frame.schema.items()
        if isinstance(dtype, pl.Enum | pl.Categorical)
    )
    options = {"row_compress": True} if kind == ".sav" else {"compress": True} if kind == ".zsav" else {}
    try:
        getattr(pyreadstat, _WRITERS[kind])(plain, str(path), **options)
    except (pyreadstat.PyreadstatError, pyreadstat.ReadstatError):
        raise InputError(
            f"The table cannot be written as {kind}: its column names are not allowed there, or a type is lacking. "
            "Choose another ending, such as .csv or .parquet."
        ) from None
