from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from reissue.ledger import Ledger
from tests.ledger.series import schema

KEY = "6f0c1b9e2d7a48539cb1e04f7a62d815"
Begin = Callable[[Mapping[str, Any]], Ledger]


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where second heads lie: ledgers of other tests may have the same key."""
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where a new ledger may go: a folder, or a database of its own."""
    if request.param == "sqlite":
        return str(tmp_path / "x.ledger")
    import psycopg

    address = request.getfixturevalue("server")
    name = f"ledger_{uuid4().hex}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
    monkeypatch.setenv("REISSUE_KEY", KEY)
    return str(address).replace("/postgres?", f"/{name}?")


@pytest.fixture
def begin(place: str) -> Iterator[Begin]:
    """Begin a ledger with a policy."""
    opened: list[Ledger] = []

    def create(policy: Mapping[str, Any]) -> Ledger:
        opened.append(Ledger.create(place, schema(policy)))
        return opened[-1]

    yield create
    for ledger in opened:
        ledger.close()
