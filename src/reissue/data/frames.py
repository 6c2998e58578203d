"""Data in, and the same kind of data out: dataframes of any library, files, and folders with a file per provider.

Dataframes are converted by narwhals: pandas, Polars (eager or lazy), PyArrow and whatever else it knows. In a folder
the name of each file is that of its provider.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, TypeGuard

import narwhals as nw
import polars as pl

from reissue.errors import DataError, InputError, SchemaError
from reissue.files.cells import column_of
from reissue.files.databases import DatabaseTable
from reissue.files.dialect import FOUND, Dialect
from reissue.files.places import FORMATS, format_of, is_table_file
from reissue.files.tables import read_file, refuse_nested
from reissue.schema import Schema

__all__ = ["Back", "SparkFrame", "first_rows", "from_frame", "is_spark", "read_together"]

Back = Callable[[pl.DataFrame], Any]
"""Converts a Polars frame into the kind of frame that the user gave."""

_REFUSED = (TypeError, ValueError, ArithmeticError, NotImplementedError, pl.exceptions.PolarsError)
"""What libraries raise when they cannot convert a column. Their messages quote the data, so they are not passed on."""


_SPARK = (
    "A Spark DataFrame is not collected unasked: `check`, `anonymize` and `publish` take it as it is, other functions "
    'with engine="spark". For anything else give .toArrow() of it, if it fits in memory.'
)


class SparkFrame(Protocol):
    """A DataFrame of Spark, told from others by what only it has."""

    @property
    def sparkSession(self) -> Any:  # noqa: N802
        """The session that holds it."""


def is_spark(data: object) -> TypeGuard[SparkFrame]:
    """Whether `data` is a Spark DataFrame, found without importing Spark."""
    kind = type(data)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.")


def from_frame(data: Any, only: Sequence[str] = ()) -> tuple[pl.DataFrame, Back]:
    """Convert a dataframe to Polars; return it with the way back. If it has all columns in `only`, just those."""
    if isinstance(data, DatabaseTable):
        return data.frame, lambda frame: frame
    if is_spark(data):
        raise InputError(_SPARK)
    try:
        native = nw.from_native(data, pass_through=True)
        if native is data and not isinstance(data, nw.DataFrame | nw.LazyFrame):
            return _from_arrow(data)
        names = native.collect_schema().names() if isinstance(native, nw.LazyFrame) else native.columns
    except (nw.exceptions.NarwhalsError, pl.exceptions.PolarsError):
        raise DataError("The table's columns cannot be told apart: every column needs a name of its own.") from None
    if only and set(only) <= set(names):
        native = native.select([name for name in names if name in set(only)])
    if isinstance(native, nw.LazyFrame):
        return _collected(native), _back_to_duckdb if native.implementation.is_duckdb() else lambda out: out.lazy()
    frame = _converted(native)
    if native.implementation.is_pandas_like():
        return frame, _back_to_pandas(native, frame.schema)
    return frame, (lambda out: out.to_arrow()) if native.implementation.is_pyarrow() else (lambda out: out)


def _from_arrow(data: Any) -> tuple[pl.DataFrame, Back]:
    """Anything with Arrow's own interface, such as a record batch."""
    if not (hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")) or isinstance(data, pl.Series):
        raise DataError(
            "The data must be a path, or a pandas, Polars or PyArrow dataframe; other dataframes that narwhals knows "
            "work too."
        )
    try:
        frame = pl.DataFrame(data)
    except _REFUSED:
        raise DataError("The Arrow data cannot be read as a table.") from None
    return frame, lambda out: out.to_arrow()


def _collected(native: "nw.LazyFrame[Any]") -> pl.DataFrame:
    try:
        frame: pl.DataFrame = native.collect("polars").to_native()
    except ImportError:
        raise DataError("This kind of dataframe is converted with PyArrow: pip install pyarrow.") from None
    except (*_REFUSED, nw.exceptions.NarwhalsError):
        raise DataError("The lazy frame cannot be computed. Call .collect() on it yourself to see why.") from None
    return frame


def _back_to_duckdb(frame: pl.DataFrame) -> Any:
    """A relation of DuckDB's default connection."""
    import duckdb

    return duckdb.from_arrow(frame)


def _converted(native: "nw.DataFrame[Any]") -> pl.DataFrame:
    lacking = False
    try:
        return _plain(native.to_polars())
    except ImportError:
        lacking = True
    except (*_REFUSED, nw.exceptions.NarwhalsError):
        pass
    if lacking and not native.implementation.is_pandas():
        raise DataError("This kind of dataframe is converted with PyArrow: pip install pyarrow.")
    bad = [name for name in native.columns if lacking or not _convertible(native, name)]
    if native.implementation.is_pandas() and bad:
        frame = native.to_native()
        own = {name: _by_cells(frame[name], name) for name in bad}
        return pl.DataFrame([own[name] if name in own else native.select(name).to_polars()[name] for name in frame])
    which = f"Column{'s' * (len(bad) > 1)} {', '.join(map(repr, bad[:5]))}" if bad else "Some columns"
    raise DataError(
        f"{which} cannot be converted: values of different types are mixed, or the type has no equivalent. Make it "
        "one type, for example with .astype(str), or leave it out."
    )


def _plain(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with columns of Python objects as what their cells are."""
    objects = [one for one in frame.iter_columns() if one.dtype == pl.Object]
    return frame.with_columns(column_of(one.to_list(), one.name) for one in objects) if objects else frame


def _by_cells(column: Any, name: str) -> pl.Series:
    """A column of pandas, cell by cell: without PyArrow, or where its cells are of several types."""
    known = column.notna()
    cells = column.astype(object).where(known, None).tolist()
    return column_of([None if one is None or one != one else one for one in cells], name)  # noqa: PLR0124


def _convertible(native: "nw.DataFrame[Any]", name: str) -> bool:
    try:
        native.select(name).to_polars()
    except (*_REFUSED, nw.exceptions.NarwhalsError):
        return False
    return True


def _back_to_pandas(native: "nw.DataFrame[Any]", schema: pl.Schema) -> Back:
    """To pandas; a column that kept its type gets its exact pandas type back, such as nullable integers."""
    kinds = dict(native.to_native().dtypes)

    def back(frame: pl.DataFrame) -> Any:
        out = _to_pandas(frame)
        same = {name: kinds[name] for name in out.columns if name in kinds and frame.schema[name] == schema[name]}
        return out.astype(same)

    return back


def _to_pandas(frame: pl.DataFrame) -> Any:
    """A frame of pandas, with PyArrow or without."""
    try:
        return frame.to_pandas()
    except ImportError:
        pandas: Any = import_module("pandas")
        plain = frame.with_columns(
            pl.col(pl.Date).cast(pl.Datetime("us")), pl.col(pl.Enum, pl.Categorical).cast(pl.String)
        )
        return pandas.DataFrame({name: plain[name].to_list() for name in plain.columns}, columns=plain.columns)


def read_together(
    path: str | Path,
    schema: Schema | None,
    *,
    text: Sequence[str] = (),
    as_text: Sequence[str] = (),
    dialect: Dialect = FOUND,
    only: Sequence[str] = (),
) -> pl.DataFrame:
    """Read a file; or all files of a folder, one below the other, with a column that names the provider of each row."""
    path = Path(path)
    if not path.is_dir():
        frame = read_file(path, text=text, as_text=as_text, dialect=dialect, only=only)
        refuse_nested(frame, () if schema is None else schema.used)
        return frame
    name = None if schema is None else schema.provider
    if name is None:
        raise SchemaError(
            f"'{path}' is a folder, which is read as one file for each provider: name the column that shall hold the "
            'file names in the schema, as  x = "provider".'
        )
    frames = []
    for file in sorted(place for place in path.iterdir() if is_table_file(place)):
        frame = read_file(file, text=text, as_text=as_text, dialect=dialect, only=only)
        refuse_nested(frame, schema.used if schema else ())
        if name in frame.columns:
            raise DataError(
                f"'{file}' has a column '{name}' already; files of one folder are told apart by their names."
            )
        wanted = [column for column in only if column != name]
        frame = frame.select(wanted) if wanted and set(wanted) <= set(frame.columns) else frame
        frames.append(frame.with_columns(pl.lit(_provider(file)).alias(name)))
    if not frames:
        raise DataError(f"The folder '{path}' has no table; one of {', '.join(FORMATS)} is needed for each provider.")
    if any(set(frame.columns) != set(frames[0].columns) for frame in frames):
        raise DataError(
            f"The files in '{path}' do not have the same columns. Each provider's file must hold all columns of its "
            "own people. If providers have different columns of the same people, join the files by the identifier "
            "first: what they then know of everybody by their own columns, no method or attack here takes into account."
        )
    return pl.concat([frame.select(frames[0].columns) for frame in frames], how="vertical_relaxed")


def _provider(file: Path) -> str:
    return file.name[: -len(format_of(file))]


def first_rows(frame: pl.DataFrame, rows: int = 8) -> dict[str, list[Any]]:
    """Return the columns and the first rows of a table as texts, to be looked at; a missing value is empty."""
    cells = [["" if cell is None else str(cell) for cell in row] for row in frame.head(rows).iter_rows()]
    return {"columns": frame.columns, "rows": cells}
