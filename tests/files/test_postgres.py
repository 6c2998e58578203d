"""Tables of a real PostgreSQL: every type it is usually asked for, in and out, by commands and from Python."""

from datetime import date
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

import reissue as ri
from reissue.cli._app import run
from reissue.errors import DataError, InputError
from reissue.files.databases import database_table
from reissue.files.tables import write_files
from tests.silence import refused

_ROWS = """
create type sex as enum ('m', 'w');
create schema clinic;
create table clinic."Patients 2024" (
    id uuid default gen_random_uuid(), age int, zip char(5), sex sex, born date, seen timestamptz,
    cost numeric(10, 2), diagnosis text, note jsonb);
insert into clinic."Patients 2024" (age, zip, sex, born, seen, cost, diagnosis, note)
select 20 + n % 60, case n % 2 when 0 then '01234' else '80331' end, (case n % 3 when 0 then 'm' else 'w' end)::sex,
    date '1950-01-01' + 97 * n, timestamptz '2024-03-01 10:00+02' + n * interval '7 hours', 100 + 1.25 * n,
    (array['flu', 'cold', 'asthma'])[1 + n % 3], '{"a": 1}'
from generate_series(1, 120) n;
"""


@pytest.fixture
def clinic(server: str) -> str:
    """The URL of a database with one table, without the table."""
    name = f"clinic_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'create database "{name}"'.encode())
    url = server.replace("/postgres?", f"/{name}?")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_ROWS.encode())
    return f"{url}&table="


def ran(*arguments: object) -> int:
    return run([str(one) for one in arguments])


def test_every_type_is_read_as_it_is_meant(clinic: str) -> None:
    frame = database_table(f"{clinic}clinic.Patients 2024").frame
    assert frame.height == 120
    row = frame.row(0, named=True)
    assert len(row["id"]) == 36
    assert (row["age"], row["zip"], row["sex"], row["born"]) == (21, "80331", "w", date(1950, 4, 8))
    assert float(row["cost"]) == 101.25
    assert frame.schema["seen"].is_temporal()


def test_from_a_table_to_a_checked_release_in_the_same_database(
    clinic: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, release, schema = f"{clinic}clinic.Patients 2024", f"{clinic}clinic.release", tmp_path / "schema.toml"
    assert ran("init", table, "--out", schema) == 0
    assert ri.Schema.load(schema).identifier == "id"
    assert ran("anonymize", table, "--schema", schema, "--require", "k=5", "--out", release) == 0
    assert ran("check", release, "--schema", schema, "--require", "k=5") == 0
    assert ran("measure", table, release, "--schema", schema, "--queries", "20") == 0
    assert ran("anonymize", table, "--schema", schema, "--require", "k=5", "--out", release) == 2
    assert "--force to replace" in capsys.readouterr().err
    assert ran("anonymize", table, "--schema", schema, "--require", "k=9", "--out", release, "--force") == 0
    out = database_table(release).frame
    assert out["diagnosis"].sort().to_list() == database_table(table).frame["diagnosis"].sort().to_list()
    assert ran(
        "publish", table, "--schema", schema, "--ledger", tmp_path / "x.ledger", "--out", tmp_path / "r.csv"
    ) in {0, 1}


def test_a_table_and_a_file_go_out_together_or_not_at_all(clinic: str, tmp_path: Path) -> None:
    place = database_table(f"{clinic}release")
    frame = database_table(f"{clinic}clinic.Patients 2024").frame
    refused(InputError, lambda: write_files([(frame.drop("note"), place), (frame, tmp_path / "nested.csv")]))
    assert "none of this name" in refused(DataError, lambda: place.frame)
    assert not list(tmp_path.iterdir())
