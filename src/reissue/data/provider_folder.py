"""Data of several providers: a folder with one file for each of them, the file's name being the provider's."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from reissue.errors import DataError, SchemaError
from reissue.files.dialect import FOUND, Dialect
from reissue.files.places import FORMATS, format_of, in_folder
from reissue.files.tables import read_file, refuse_nested
from reissue.schema import Schema

__all__ = ["read_together"]


def read_together(
    path: str | Path,
    schema: Schema | None,
    *,
    text: Sequence[str] = (),
    as_text: Sequence[str] = (),
    dialect: Dialect = FOUND,
    only: Sequence[str] = (),
) -> pl.DataFrame:
    """Read a file; or the files of a folder, one under the other, with a column that names the provider of each row."""
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
    for file in sorted(place for place in path.iterdir() if in_folder(place)):
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
        raise DataError(f"The files in '{path}' do not have the same columns.")
    return pl.concat([frame.select(frames[0].columns) for frame in frames], how="vertical_relaxed")


def _provider(file: Path) -> str:
    return file.name[: -len(format_of(file))]
