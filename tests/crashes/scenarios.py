"""Every command that writes, on tables small enough to run it some hundred times.

A scenario begins where another one ended. Commands run in `work`, below a root that also has the key's own folder
(`keys`), the user's home and the folder for temporary files: whatever a command writes, it is seen.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl

from reissue import demo, synth

__all__ = ["POSTGRES", "SCENARIOS", "Scenario", "lay_out", "living_in", "small"]

WORK, KEYS, HOME, SCRATCH = "work", "keys", "home", "tmp"
POSTGRES = "POSTGRES"
"""Stands in a command for the URL of the test's database."""
KEY = "6f0c1b9e2d7a48539cb1e04f7a62d815"
_HERE, _THERE = ("--ledger", "x.ledger"), ("--ledger", POSTGRES, "--key", "../keys/pg.key")
_OPEN: Mapping[str, Any] = {"sensitive_values": ["none of these"]}
"""Nothing is refused: crashes are looked at."""
_POOL: Mapping[str, Any] = {"require": "k=5", "attacks": ["updates"], **_OPEN}
_INVARIANCE = {**_POOL, "require": "m-unique=3", "method": "invariance", "counterfeits": 1}
_PARTS = {"require": "k=4", "method": "mondrian", "attacks": ["joint"], "sensitive_values": ["none of these"]}
_RANDOMIZED = {"require": "k=5", "values": "randomized", "limit": 0.9, "randomized": {"class_size": 60}}
_SERIES = ("--schema", "schema.toml", "--require", "m-unique=2", "--method", "invariance", "--memory", "x.memory")


@dataclass(frozen=True)
class Scenario:
    """A command, and the scenario after which it is run."""

    command: tuple[str, ...]
    after: str = ""
    killed: str = ""
    """Where a file was put just before the scenario that this one comes after was killed."""
    ends: int = 0
    """Its exit code."""
    heavy: bool = False
    """Whether repeating it takes seconds."""
    many: bool = False
    """Whether the folders that it makes hold many things, each of which comes by itself."""

    @property
    def postgres(self) -> bool:
        """Whether it needs a server."""
        return POSTGRES in self.command


def _publishing(place: tuple[str, ...], where: str = "") -> Iterator[tuple[str, Scenario]]:
    """What a ledger is used for."""
    ledger, key, stream = place[1], place[2:], (*place, "--engine", "stream")
    first, parts, adopt = f"publish{where}", f"publish in parts{where}", f"adopt{where}"
    yield first, Scenario(("publish", "1.csv", *place, "--schema", "pool.toml", "--out", "1.out.csv"))
    more = ("--report", "2.html", "--record", "2.record.json")
    yield f"publish the next{where}", Scenario(("publish", "2.csv", *place, "--out", "2.out.csv", *more), first)
    yield f"amend{where}", Scenario(("ledger", "amend", ledger, "--schema", "amended.toml", *key), first)
    why = ("--never-sent", "a test")
    yield f"withdraw{where}", Scenario(("ledger", "withdraw", ledger, "1", *why, *key), first)
    yield adopt, Scenario(("ledger", "adopt", ledger, "1.csv", "--schema", "pool.toml", *key))
    yield f"adopt one more{where}", Scenario(("ledger", "adopt", ledger, "2.csv", *key), adopt)
    yield parts, Scenario(("publish", "1.parquet", *stream, "--schema", "parts.toml", "--out", "1-out"))
    yield f"publish the next in parts{where}", Scenario(("publish", "2.parquet", *stream, "--out", "2-out"), parts)


def _files() -> Iterator[tuple[str, Scenario]]:
    """Commands that work on files, and ledgers in folders."""
    schema, stream, one = ("--schema", "schema.toml"), ("--engine", "stream", "--out", "1-out"), ("1.csv", "1.parquet")
    elsewhere = (*_HERE, "--key", "../keys/x.key", "--schema", "invariance.toml", "--out", "1.out.csv")
    yield "publish with the key elsewhere", Scenario(("publish", one[0], *elsewhere))
    drawn = ("publish", "1.csv", *_HERE, "--schema", "randomized.toml", "--out", "1.out.csv")
    yield "publish randomized values", Scenario(drawn)
    more = ("publish", "2.csv", *_HERE, "--out", "2.out.csv")
    yield "publish the next randomized values", Scenario(more, "publish randomized values")
    yield "publish by codes", Scenario(("publish", one[1], *_HERE, "--schema", "invariance.toml", *stream))
    yield "export", Scenario(("ledger", "export", "x.ledger", "1", "--out", "a.csv"), "publish")
    yield "export a folder", Scenario(("ledger", "export", "x.ledger", "1", "--out", "a"), "publish in parts")
    asked = (*schema, "--require", "k=4", "--seed", "1", "--method")
    yield "anonymize", Scenario(("anonymize", one[0], *asked, "anatomy", "--out", "1.out.csv"))
    yield "anonymize a folder", Scenario(("anonymize", one[1], *asked, "mondrian", *stream))
    yield "begin a series", Scenario(("anonymize", one[0], *_SERIES, "--out", "1.out.csv"))
    yield "go on with a series", Scenario(("anonymize", "2.csv", *_SERIES, "--out", "2.out.csv"), "begin a series")
    yield "begin a series by codes", Scenario(("anonymize", one[1], *_SERIES, *stream))
    yield "a series at once", Scenario(("anonymize", "months", *_SERIES, "--out", "released"))
    yield "init", Scenario(("init", one[0], "--out", "new.toml", "--answer", "removed=no"))
    plan = ("plan", one[0], "2.csv", *schema, "--setting", "pool k=4", "--limit", "0.99")
    yield "plan", Scenario((*plan, "--policy", "p.toml", "--report", "p.html"), ends=1, heavy=True)
    yield "plan into the schema", Scenario((*plan, "--write"), ends=1, heavy=True)
    measure = ("measure", one[0], "1.out.csv", *schema, "--report", "lost.html")
    yield "measure", Scenario(measure, "publish", heavy=True)
    found = ("--report", "a.html", "--record", "a.record.json")
    yield "attack", Scenario(("attack", "1.out.csv", *schema, "--only", "updates", *found), "publish", ends=3)
    check = ("check", "1.out.csv", *schema, "--require", "k=2", "--record", "c.json")
    yield "check", Scenario(check, "publish")
    yield "demo", Scenario(("demo", "--out", "demo"), heavy=True, many=True)
    yield "demo again", Scenario(("demo", "--out", "demo", "--force"), "demo", heavy=True, many=True)


_KILLED = {
    "publish with the key elsewhere": "keys/x.key",
    "publish": "work/x.ledger/files/",
    "publish randomized values": "work/x.ledger/files/",
    "publish in parts": "work/1-out",
    "publish by codes": "work/x.ledger.head",
    "begin a series": "work/x.memory",
}
"""Scenarios that are killed when they have put a file at a place, and given again: then the power goes."""


def _scenarios() -> dict[str, Scenario]:
    once = {**dict(_publishing(_HERE)), **dict(_publishing(_THERE, " in PostgreSQL")), **dict(_files())}
    twice = {f"{name} after a kill": Scenario(once[name].command, name, killed) for name, killed in _KILLED.items()}
    return {**once, **twice}


SCENARIOS = _scenarios()


def lay_out(root: Path) -> None:
    """What there is before any command."""
    for name in (WORK, KEYS, HOME, SCRATCH):
        (root / name).mkdir(parents=True)
    work, months = root / WORK, list(synth.Population(seed=11, people=60).months(2))
    first = pl.concat(months).unique("patient", keep="first", maintain_order=True).select("patient", "disease")
    (work / "months").mkdir()
    for number, month in enumerate(months, start=1):
        lasting = month.drop("disease").join(first, on="patient", maintain_order="left")
        lasting.write_csv(work / f"{number}.csv")
        lasting.write_csv(work / "months" / f"{number}.csv")
        lasting.write_parquet(work / f"{number}.parquet")
    policies: dict[str, Mapping[str, Any]] = {
        "schema": {},
        "pool": _POOL,
        "amended": {**_POOL, "require": "k=6"},
        "invariance": _INVARIANCE,
        "parts": _PARTS,
        "randomized": _RANDOMIZED,
    }
    for name, policy in policies.items():
        (work / f"{name}.toml").write_text(replace(synth.schema(), policy=dict(policy), updates={}).dumps())


@contextmanager
def living_in(root: Path) -> Iterator[None]:
    """As a user whose home and temporary files lie below a root, and who works there."""
    places = {"HOME": HOME, "XDG_STATE_HOME": f"{HOME}/state", "XDG_CONFIG_HOME": f"{HOME}/config", "TMPDIR": SCRATCH}
    before = Path.cwd()
    with patch.dict(os.environ, {name: str(root / place) for name, place in places.items()}):
        for name in ("REISSUE_KEY", "REISSUE_HEAD"):
            os.environ.pop(name, None)
        os.chdir(root / WORK)
        try:
            with patch("tempfile.tempdir", None), small():
                yield
        finally:
            os.chdir(before)


@contextmanager
def small() -> Iterator[None]:
    """The demo with few people and months."""
    with patch.object(demo, "PEOPLE", 600), patch.object(demo, "MONTHS", 2):
        yield
