"""What refusals give away, and two series that differ by one person.

Somebody knows every record but one person's value, and sees only whether today's release came out. For each value that
the person may have, the same table is published: a refusal that depends on the value tells something about it. And the
same table is published with one person and without: as two series under one key, and as one after the other.
"""

import argparse
import os
import secrets
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

import reissue as ri
from reissue.synth import Population, schema

METHODS = ("pool", "invariance", "cohorts")
LIMIT = 0.75
ALLOWED = {"suppress": 0.1, "counterfeits": 0.3}
KEY = "REISSUE_KEY"
"""Without a file for the key there is no head beside it either, which would refuse a second series."""


@dataclass(frozen=True)
class Series:
    """Two months of a ward, and the policy under which they are published."""

    months: tuple[pl.DataFrame, pl.DataFrame]
    schema: ri.Schema
    method: str

    def publish(self, table: pl.DataFrame, ledger: Path, *, dry_run: bool = False) -> ri.Release | None:
        """The release of one more table; nothing if it is refused."""
        policy = {"require": self.require, "method": self.method, "attacks": ["joint"], "limit": LIMIT, **ALLOWED}
        written = ledger.with_suffix(".toml")
        section = "\n".join(f"{name} = {value!r}" for name, value in policy.items()).replace("'", '"')
        written.write_text(f"{self.schema.dumps()}\n[policy]\n{section}\n", encoding="utf-8")
        try:
            given = None if ledger.exists() else written
            return ri.publish(table, ledger, given, dry_run=dry_run, newcomers=True)
        except (ri.NotMetError, ri.InputError):  # not m-eligible: refused before anything is made
            return None

    @property
    def require(self) -> str:
        """What the method promises by itself."""
        return {"pool": "k=3", "invariance": "m-unique=2", "cohorts": "k=4 & l=2"}[self.method]


def drawn(people: int, tables: int, method: str) -> Iterator[Series]:
    """Small wards, each with its own people, whose values stay."""
    for seed in range(tables):
        first, second = Population(seed=seed, people=people).months(2)
        (secret,) = schema().sensitive
        before = first.select("patient", pl.col(secret).alias("before"))
        lasting = second.join(before, on="patient", how="left", maintain_order="left")
        second = lasting.with_columns(pl.coalesce("before", secret).alias(secret)).drop("before")
        yield Series((first, second), schema(), method)


def decisions(series: Series, folder: Path) -> Counter[bool] | None:
    """How often today's table is published, over the values that one newcomer of it may have."""
    first, second = series.months
    newcomers = second.filter(~pl.col("patient").is_in(first["patient"].implode()))
    if not newcomers.height or series.publish(first, folder / "a.ledger") is None:
        return None
    (secret,) = series.schema.sensitive
    person = newcomers["patient"][0]
    found: Counter[bool] = Counter()
    for value in sorted(set(second[secret].to_list())):
        own = pl.when(pl.col("patient") == person).then(pl.lit(value)).otherwise(pl.col(secret)).alias(secret)
        found[series.publish(second.with_columns(own), folder / "a.ledger", dry_run=True) is not None] += 1
    return found


def refusals(people: int, tables: int) -> None:
    """What a refusal tells about one newcomer to somebody who knows everybody else."""
    for method in METHODS:
        seen = []
        for series in drawn(people, tables, method):
            with tempfile.TemporaryDirectory() as folder:
                seen.append(decisions(series, Path(folder)))
        begun = [one for one in seen if one is not None]
        mixed = [one for one in begun if len(one) > 1]
        single = [one for one in mixed if 1 in {one[True], one[False]}]
        never = sum(not one[True] for one in begun)
        print(
            f"{method}: {len(begun)} series of {people} people. Whatever the newcomer's value {never} are refused, for "
            f"some values {len(mixed)}; and in {len(single)} of them one decision leaves a single value.",
            flush=True,
        )


def counted(release: ri.Release, secret: str) -> Counter[str]:
    """The sensitive values of a release, as often as it shows them."""
    (column,) = [table[secret] for table in release.tables.values() if secret in table.columns]
    return Counter(column.cast(pl.String).to_list())


def tells(before: ri.Release, after: ri.Release | None, secret: str, value: object) -> bool:
    """Whether two releases differ by exactly one value, and it is this one."""
    left = Counter[str]() if after is None else counted(before, secret) - counted(after, secret)
    return list(left.elements()) == [str(value)]


def differences(people: int, tables: int) -> None:
    """Whether two releases that differ by one person tell the person's value."""
    for method in METHODS:
        begun, apart, refused, after = 0, 0, 0, 0
        for seed, series in enumerate(drawn(people, tables, method)):
            (secret,) = series.schema.sensitive
            table = series.months[0]
            row = int(np.random.default_rng(seed).integers(table.height))
            without = pl.concat([table.slice(0, row), table.slice(row + 1)])
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place)
                first = series.publish(table, folder / "a.ledger")
                if first is None:
                    continue
                begun += 1
                apart += tells(first, series.publish(without, folder / "b.ledger"), secret, table[secret][row])
                second = series.publish(without, folder / "a.ledger")
                refused += second is None
                after += tells(first, second, secret, table[secret][row])
        print(
            f"{method}: {begun} tables of {people} people. In a second series the table without one person tells the "
            f"person's value in {apart}; as the next release of the same series it is refused in {refused}, and tells "
            f"the value in {after}.",
            flush=True,
        )


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="refusals", description=__doc__)
    parser.add_argument("--people", type=int, default=80)
    parser.add_argument("--tables", type=int, default=20)
    given = parser.parse_args(arguments)
    os.environ[KEY] = secrets.token_hex(32)
    refusals(given.people, given.tables)
    differences(given.people, given.tables)
