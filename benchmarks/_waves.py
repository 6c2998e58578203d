"""Series to protect and to attack: a hospital, Census with simulated lives, a panel, values that move; our methods.

Each source is a table of the same people again and again. Values that change are published by methods for one release
and by `distinct`; for `invariance` and `equivalence` everyone keeps the value of the first time; for `correspondence`
nobody leaves and no record changes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks._measure import data_folder
from benchmarks.papers.changing_values import stream
from reissue import synth
from reissue.demo import HOSPITALS, MONTHS, PEOPLE, SEED
from reissue.publishing.anonymize import anonymize
from reissue.publishing.series import anonymize_series
from reissue.release.release import Release
from reissue.schema import Schema

__all__ = ["METHODS", "SOURCES", "Method", "Waves", "large_hospital", "protect"]

CENSUS = ("age", "sex", "education", "country_self")
PANEL = ("age", "female", "married", "kids", "edlevel", "outwork", "self")


@dataclass(frozen=True, eq=False)
class Waves:
    """The same people's table again and again, and how it is read."""

    name: str
    tables: tuple[pl.DataFrame, ...]
    schema: Schema

    @property
    def columns(self) -> tuple[str, str]:
        """The identifier and the sensitive column."""
        return str(self.schema.identifier), self.schema.sensitive[0]

    def staying(self) -> "Waves":
        """Everybody keeps the value of the first time."""
        person, value = self.columns
        first = pl.concat(self.tables).unique(person, keep="first", maintain_order=True).select(person, value)
        kept = [
            one.drop(value).join(first, on=person, maintain_order="left").select(one.columns) for one in self.tables
        ]
        return replace(self, tables=tuple(kept), schema=replace(self.schema, updates={"none": True}))

    def growing(self) -> "Waves":
        """Nobody leaves, and records stay as they were the first time."""
        person, _ = self.columns
        grown = [self.tables[0]]
        for one in self.tables[1:]:
            grown.append(pl.concat([grown[-1], one.join(grown[-1], on=person, how="anti")]))
        return replace(self, tables=tuple(grown), schema=replace(self.schema, updates={"none": True}))


@dataclass(frozen=True, eq=False)
class Method:
    """One way to publish a series."""

    label: str
    requirement: str
    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    waves: Callable[[Waves], Waves] = lambda waves: waves
    """What it is for: values that change, values that stay, or a table that only grows."""


_FAKES = {"ineligible": "counterfeits"}
_FAST = {"effort": "fast"}
"""The published figures of `pool` are of groups without a search: its guarantees are those of any groups."""
METHODS = (
    Method("pool, k=5 & l=3", "k=5 & l=3", "pool", _FAST),
    Method("mondrian, k=5 & l=3", "k=5 & l=3", "mondrian"),
    Method("topdown, k=5 & l=3", "k=5 & l=3", "topdown"),
    Method("pool, k=60 & simple-l=4", "k=60 & simple-l=4", "pool", _FAST),
    Method("distinct, m=7, risk 0.75", "m-unique=7", "distinct", {**_FAKES, "risk": 0.75}),
    Method("invariance, m=5", "m-unique=5", "invariance", _FAKES, Waves.staying),
    Method("equivalence, m=5, e=3", "simple-l=5", "equivalence", {**_FAKES, "e": 3}, Waves.staying),
    Method("correspondence, k=10", "k=10", "correspondence", {}, Waves.growing),
    Method("cohorts, k=5 & l=3", "k=5 & l=3", "cohorts"),
    Method("cohorts, simple-l=4", "simple-l=4", "cohorts"),
)


def protect(method: Method, waves: Waves) -> list[Release]:
    """The series as a method publishes it; each release gets a seed of its own."""
    if method.name in {"cohorts", "distinct", "invariance", "equivalence"}:
        return anonymize_series(
            waves.tables, waves.schema, method.requirement, method=method.name, seed=0, **method.options
        )
    made: list[Release] = []
    for number, table in enumerate(waves.tables):
        after: dict[str, Any] = {"after": tuple(one.frame for one in made)} if method.name == "correspondence" else {}
        made.append(anonymize(table, waves.schema, method.requirement, method=method.name, seed=number, **after))
    return made


# --- sources ---------------------------------------------------------------------------------------------------------


def _hospital(folder: Path, _: str | None, *, quick: bool, world: int = 0) -> Waves:
    """The demo's twelve months; in another world other people's."""
    people, months = (600, 5) if quick else (PEOPLE, MONTHS)
    tables = synth.Population(seed=SEED + world, people=people, hospitals=HOSPITALS).months(months)
    synth.updates().write_csv(folder / "hospital.csv")
    return Waves("hospital", tuple(tables), replace(synth.schema(), updates={"file": "hospital.csv"}, folder=folder))


def large_hospital(
    folder: Path, people: int, releases: int, district: int | None = None
) -> tuple[Waves, list[Release]]:
    """So many months of a hospital, published by pool one by one; or of one in each `district` of so many people."""
    synth.updates().write_csv(folder / "hospital.csv")
    schema = replace(synth.schema(), updates={"file": "hospital.csv"}, folder=folder)
    if district is None:
        tables = tuple(synth.Population(seed=1, people=people).months(releases))
    else:
        schema = schema.with_roles({"district": "quasi"})
        lives = [_district(number, district, releases) for number in range(people // district)]
        tables = tuple(pl.concat(months) for months in zip(*lives, strict=True))
    waves = Waves("hospital", tables, schema)
    return waves, protect(METHODS[0], waves)


def _district(number: int, people: int, releases: int) -> Iterator[pl.DataFrame]:
    """A hospital's months, its patients with numbers of their own."""
    for month in synth.Population(seed=1 + number, people=people).months(releases):
        yield month.with_columns(pl.col("patient").cast(pl.Int64) + number * 10**9, district=pl.lit(f"d{number}"))


def _census(folder: Path, data: str | None, *, quick: bool, releases: int = 8, world: int = 0) -> Waves:
    """People who come, go and change jobs within branches of ten, a quarter of the second paper's."""
    path = _found(data_folder(data) / "census" / "census.csv.gz")
    frame = pl.read_csv(path, infer_schema_length=None, columns=["id", *CENSUS, "det_occ_code"])
    frame = frame.filter(pl.col("det_occ_code") > 0).rename({"det_occ_code": "job"})
    scale, releases = (0.05, 4) if quick else (0.25, releases)
    tables = stream(frame, releases, 10, scale, seed=1 + world)
    return _observed("census", tables, Schema.of_columns(quasi=CENSUS, sensitive=["job"], identifier="id"), folder)


def _panel(folder: Path, data: str | None, *, quick: bool, world: int = 0) -> Waves:
    """Five years of doctor visits: people come, go and return. There is one world of them."""
    del world
    years = range(1984, 1987 if quick else 1989)
    tables = [pl.read_csv(_found(data_folder(data) / "panel" / f"{year}.csv")) for year in years]
    tables = [one.select("id", *PANEL, "visits") for one in tables]
    return _observed("panel", tables, Schema.of_columns(quasi=PANEL, sensitive=["visits"], identifier="id"), folder)


def _moving(folder: Path, _: str | None, *, quick: bool, world: int = 0) -> Waves:
    """Values that move by a chain drawn at random, which people have had for long; one in eight is new each time."""
    rng, people, values = np.random.default_rng(100 + world), 600 if quick else 3_000, 8
    common = rng.dirichlet(np.full(values, 1.2))
    steps = 0.45 * np.eye(values) + 0.55 * (0.6 * common + 0.4 * rng.dirichlet(np.full(values, 0.8), values))
    often = np.linalg.matrix_power(steps, 500)[0]
    often /= often.sum()

    def born(number: int) -> Any:
        drawn = [rng.integers(20, 70, number), rng.integers(0, 2, number), rng.integers(0, 6, number)]
        return np.stack([*drawn, rng.choice(values, number, p=often)])

    lives, ids, tables = born(people), np.arange(people), []
    for wave in range(3 if quick else 5):
        if wave:
            reach = np.cumsum(steps[lives[-1]], axis=1)
            lives[-1] = np.minimum((rng.random((people, 1)) > reach).sum(axis=1), values - 1)
            new = np.flatnonzero(rng.random(people) < 1 / 8)
            ids[new], lives[:, new] = ids.max() + 1 + np.arange(len(new)), born(len(new))
        columns = dict(zip(("age", "sex", "school"), lives[:-1].copy(), strict=True))
        tables.append(pl.DataFrame({"id": ids.copy(), **columns, "value": [f"v{one}" for one in lives[-1]]}))
    schema = Schema.of_columns(quasi=("age", "sex", "school"), sensitive=["value"], identifier="id")
    return _observed("moving", tables, schema, folder)


SOURCES: Mapping[str, Callable[..., Waves]] = {
    "hospital": _hospital,
    "census": _census,
    "panel": _panel,
    "moving": _moving,
}


def _found(path: Path) -> Path:
    if not path.is_file():
        raise SystemExit(f"No data in {path.parent}. Set REISSUE_DATA to the folder that holds census/ and panel/.")
    return path


def _observed(name: str, tables: Sequence[pl.DataFrame], schema: Schema, folder: Path) -> Waves:
    """With the update model that the true tables show: how often each value became which."""
    person, value = str(schema.identifier), schema.sensitive[0]
    pairs = pl.concat(
        [
            before.select(person, pl.col(value).cast(pl.String).alias("from")).join(
                after.select(person, pl.col(value).cast(pl.String).alias("to")), on=person
            )
            for before, after in pairwise(tables)
        ]
    )
    values = pl.concat([table[value].cast(pl.String) for table in tables]).unique().sort()
    counts = np.eye(len(values)) * 1e-3
    place = {text: at for at, text in enumerate(values)}
    np.add.at(counts, tuple([place[text] for text in pairs[end]] for end in ("from", "to")), 1.0)
    chance = _closed(counts / counts.sum(axis=1, keepdims=True))
    before, after = np.nonzero(chance)
    steps = {"from": values.gather(before), "to": values.gather(after), "probability": chance[before, after]}
    pl.DataFrame(steps).write_csv(folder / f"{name}.csv")
    return Waves(name, tuple(tables), replace(schema, updates={"file": f"{name}.csv"}, folder=folder))


def _closed(chance: Any, least: float = 1e-6) -> Any:
    """What can happen in several steps gets a little weight in one, as `distinct` asks for."""
    can = chance > 0
    while not np.array_equal(can, wider := (can.astype(np.float64) @ can) > 0):
        can = wider
    chance = np.where(can, np.maximum(chance, least), 0.0)
    return chance / chance.sum(axis=1, keepdims=True)
