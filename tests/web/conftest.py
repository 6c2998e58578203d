"""Files to audit, a folder for temporary ones, and somebody inside."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import reissue as ri
from reissue.synth import Population, schema
from tests.web.client import Client, served


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three months, as they were published and as they are."""
    folder = tmp_path_factory.mktemp("files")
    for name, month in zip(("jan", "feb", "mar"), Population(seed=1, people=150).months(3), strict=True):
        month.write_csv(folder / f"{name}-original.csv")
        month.select("patient", *schema().quasi).write_csv(folder / f"{name}-who.csv")
        ri.anonymize(month, schema(), "k=5", seed=1).write(str(folder / f"{name}.csv"))
    (folder / "schema.toml").write_text(schema().dumps())
    return folder


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where temporary folders go."""
    before, folder = tempfile.tempdir, tmp_path_factory.mktemp("temporary")
    tempfile.tempdir = str(folder)
    yield folder
    tempfile.tempdir = before


@pytest.fixture(scope="module")
def client(place: Path) -> Iterator[Client]:
    """Somebody inside."""
    with served(place / "ledgers") as one:
        yield one.enter()
