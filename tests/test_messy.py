"""What `init` writes runs as it is: messy tables, fifty invented and twelve real ones, to a checked release.

No value is changed on the way.
"""

import re
from pathlib import Path

import polars as pl
import pytest

from reissue.cli._app import run
from reissue.files.tables import read_file
from reissue.schema import Schema
from tests.messy import DATA, FORMS, REAL, Messy, messy, real

pytestmark = pytest.mark.filterwarnings("ignore::reissue.errors.ReadingNote")


def ran(*arguments: object) -> int:
    return run([str(one) for one in arguments])


def texts(column: pl.Series) -> list[str | None]:
    """Cells as text that does not depend on a format: 1.50 is 1.5, and a day at midnight is a day."""
    plain = column.cast(pl.String).to_list() if column.dtype != pl.Boolean else [str(one).lower() for one in column]
    return [None if one in {None, "", "none"} else _text(one) for one in plain]


def _text(cell: str) -> str:
    cell = re.sub(r"[ T]00:00(:00(\.0+)?)?$", "", cell.strip())
    cell = re.sub(r"^(\d{4}-\d\d-\d\d)T", r"\1 ", cell)
    cell = re.sub(r"(\d\d:\d\d:\d\d)\.0+$", r"\1", cell)
    try:
        return f"{float(cell):.10g}"
    except ValueError:
        return cell.lower() if cell.lower() in {"true", "false"} else cell


def walk(table: Messy, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema, release = folder / "schema.toml", folder / f"release{''.join(table.path.suffixes)}"
    codes = [ran("init", table.path, "--out", schema)]
    codes += [ran("anonymize", table.path, "--schema", schema, "--require", "k=3", "--out", release)]
    codes += [ran("check", release, "--schema", schema, "--require", "k=3")]
    codes += [ran("measure", table.path, release, "--schema", schema, "--queries", "20")]
    codes += [ran("publish", table.path, "--schema", schema, "--ledger", folder / "x.ledger", "--force")]
    said = capsys.readouterr()
    assert codes == [0, 0, 0, 0, 0], said.err
    assert "bug in Reissue" not in said.err
    unchanged(table, Schema.load(schema), release)


def unchanged(table: Messy, schema: Schema, release: Path) -> None:
    """Every cell that was not generalized is in the release as often as in the table, and what names people is not."""
    out = read_file(release)
    assert not table.dropped & set(out.columns), table.dropped & set(out.columns)
    for name in (*schema.sensitive, *schema.kept):
        assert sorted(map(str, texts(out[name]))) == sorted(map(str, texts(table.frame[name]))), name
    own = read_file(table.path)
    for name in set(own.columns) & set(table.frame.columns):
        assert texts(own[name]) == texts(table.frame[name]), name
    for name in schema.quasi:
        shown = {cell for cell in texts(read_file(release, as_text=None)[name]) if cell is not None}
        exact = {cell for cell in shown if not re.search(r"[*\[\]{}]", cell)}
        assert exact <= set(texts(table.frame[name])) | {"-"} or schema.hierarchy(name).kind in {"dates", "ranges"}, (
            name
        )


@pytest.mark.parametrize("seed", range(50))
def test_what_init_writes_runs(seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    walk(messy(seed, tmp_path), tmp_path, capsys)


@pytest.mark.skipif(not DATA.is_dir(), reason="needs the public tables: set REISSUE_DATA")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", REAL)
def test_what_init_writes_runs_on_real_tables(
    name: str, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    walk(real(name, form, tmp_path), tmp_path, capsys)
