"""One typed reader: the same data gives the same proposal from every source, and every proposal fits its table."""

import subprocess
import sys
from collections.abc import Callable
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pytest
import sqlalchemy as sa

import reissue as ri
from reissue.files.tables import csv_bytes, write_file

pytestmark = pytest.mark.filterwarnings("ignore::reissue.errors.ReadingNote")
ROWS = 90
DAYS = [date(1950, 1, 1) + timedelta(days=37 * n % 15_000) for n in range(ROWS)]
CLEAN = pl.DataFrame(
    {
        "patient": [f"P{n:03d}" for n in range(ROWS)],
        "birth": DAYS,
        "zip": [("01067", "79100", "80331")[n % 3] for n in range(ROWS)],
        "weight": [45 + n * 7 % 600 / 10 for n in range(ROWS)],
        "children": [n % 4 for n in range(ROWS)],
        "diagnosis": [("E11.9", "J45.0", "I10", "F32.1")[n * n % 4 if n % 5 else n % 3] for n in range(ROWS)],
    }
)
"""As it is meant."""
WRITTEN = CLEAN.with_columns(
    pl.col("birth").dt.strftime("%d.%m.%Y"),
    pl.col("weight").cast(pl.String).str.replace(".", ",", literal=True),
    pl.col("children").cast(pl.String),
)
"""As people write it: days, decimal commas and numbers as text."""
ODD = WRITTEN.with_columns(pl.when(pl.int_range(ROWS) == 4).then(pl.lit("unbekannt")).otherwise("birth").alias("birth"))
"""The same with a day that nobody knows."""


def _csv(frame: pl.DataFrame, folder: Path) -> Path:
    path = folder / "t.csv"
    path.write_bytes(csv_bytes(frame, ri.Dialect(";", "cp1252", ",", "dd.mm.yyyy")))
    return path


def _file(ending: str) -> Callable[[pl.DataFrame, Path], Path]:
    def write(frame: pl.DataFrame, folder: Path) -> Path:
        write_file(frame, folder / f"t{ending}")
        return folder / f"t{ending}"

    return write


def _sqlite(frame: pl.DataFrame, folder: Path) -> str:
    url = f"sqlite:///{folder / 'clinic.sqlite'}"
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text(f"create table patients ({', '.join(frame.columns)})"))
        marks = ", ".join(f":{name}" for name in frame.columns)
        rows = [
            {name: str(cell) if isinstance(cell, date) else cell for name, cell in row.items()}
            for row in frame.to_dicts()
        ]
        connection.execute(sa.text(f"insert into patients values ({marks})"), rows)  # noqa: S608
    engine.dispose()
    return f"{url}?table=patients"


def _duckdb(frame: pl.DataFrame, folder: Path) -> str:
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.register("given", frame)
        connection.execute("create table patients as select * from given")
    return f"duckdb:///{folder / 'clinic.duckdb'}?table=patients"


def _objects(frame: pl.DataFrame, _: Path) -> Any:
    """As pandas has it after somebody typed into a notebook: days among texts, numbers among texts."""
    made = frame.to_pandas().astype(object)
    if frame["birth"].dtype == pl.String:
        made["birth"] = [
            pd.Timestamp(DAYS[n]) if n % 2 and cell != "unbekannt" else cell for n, cell in enumerate(made["birth"])
        ]
        made["children"] = [int(cell) if n % 2 else cell for n, cell in enumerate(made["children"])]
    return made


SOURCES: dict[str, Callable[[pl.DataFrame, Path], Any]] = {
    "csv": _csv,
    "xlsx": _file(".xlsx"),
    "parquet": _file(".parquet"),
    "spss": _file(".sav"),
    "stata": _file(".dta"),
    "sqlite": _sqlite,
    "duckdb": _duckdb,
    "polars": lambda frame, _: frame,
    "lazy": lambda frame, _: frame.lazy(),
    "pandas": lambda frame, _: frame.to_pandas(),
    "objects": _objects,
    "arrow": lambda frame, _: frame.to_arrow(),
}


@pytest.mark.parametrize("table", [CLEAN, WRITTEN, ODD], ids=["typed", "written", "odd"])
@pytest.mark.parametrize("source", SOURCES)
def test_every_proposal_fits_the_table_it_came_from(source: str, table: pl.DataFrame, tmp_path: Path) -> None:
    data = SOURCES[source](table, tmp_path)
    proposal = ri.propose(data)
    kinds = {name: hierarchy.kind for name, hierarchy in proposal.schema.hierarchies.items()}
    assert kinds == {"birth": "dates", "zip": "prefix", "weight": "ranges", "children": "ranges"}
    assert proposal.schema.identifier == "patient"
    assert proposal.schema.sensitive == ("diagnosis",)
    release = ri.anonymize(data, proposal.schema, "k=3")
    assert ri.check(release, proposal.schema, "k=3").met
    published = ri.publish(data, tmp_path / "clinic.ledger", proposal.schema)
    assert published.table.rows == ROWS


def test_months_from_different_sources_make_one_series(tmp_path: Path) -> None:
    schema = ri.propose(_csv(WRITTEN, tmp_path)).schema
    for number, source in enumerate(("csv", "polars", "xlsx", "pandas", "parquet")):
        table = WRITTEN.with_columns(pl.col("diagnosis").shift(number).fill_null("I10"))
        ri.publish(SOURCES[source](table, tmp_path), tmp_path / "clinic.ledger", schema)
        (tmp_path / "t.csv").unlink(missing_ok=True)
    assert len(ri.Ledger.open(tmp_path / "clinic.ledger").releases) == 5


def test_cells_of_several_types_are_read_as_in_a_file() -> None:
    frame = pd.DataFrame({"a": [1, "x", None, True, datetime.fromisoformat("2024-01-02"), 2.0]})
    read = ri.Table.read(frame, ri.Schema({"a": ri.Role.QUASI}))
    assert read.frame["a"].to_list() == ["1", "x", None, "true", "2024-01-02", "2"]


WITHOUT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pyarrow":
            raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")
sys.meta_path.insert(0, Absent())
import datetime
import pandas as pd
import reissue as ri
n = 60
frame = pd.DataFrame({
    "patient": range(n), "age": [20 + i % 50 for i in range(n)],
    "weight": [None if i == 3 else 50.5 + i for i in range(n)],
    "born": pd.to_datetime([datetime.date(1950 + i % 40, 1, 1) for i in range(n)]),
    "sex": pd.Categorical(["m", "w"] * (n // 2)), "diagnosis": ["flu", "cold", "cough"] * (n // 3),
})
proposal = ri.propose(frame)
release = ri.anonymize(frame, proposal.schema, "k=5")
assert type(release.frame) is pd.DataFrame, type(release.frame)
assert release.frame["diagnosis"].tolist().count("flu") == n // 3
ri.publish(frame, "x.ledger", proposal.schema)
assert ri.clean(frame).apply().frame.shape == frame.shape
print(sorted(proposal.schema.hierarchies))
"""


def test_pandas_without_pyarrow(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, cwd=tmp_path, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    assert "['age', 'born', 'sex', 'weight']" in done.stdout
