"""Cohorts: what they cost and what they leave exposed, over whole series published through a ledger.

Parts (`--only`): *hospital*, the synthetic hospital's twelve months, in both spaces of boxes, beside each month grouped
by itself, for readers who look at who leaves and readers who do not; *learning*, the same months for such readers and
for someone who learns more; *gate*, the same through a ledger that judges the latter; *panel*, a real panel with gaps;
*census*, Census with simulated lives beside `invariance` and `distinct`; *speed*, CPU seconds of a release of 100,000
people of whom a tenth comes and goes; *keys*, how many years of 1,000 people go out whole by the policy that `init`
proposes, each with another key.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._waves import SOURCES, Method, Waves, protect
from reissue import synth
from reissue.data.table import Table
from reissue.files.tables import write_file
from reissue.ledger import Ledger
from reissue.ledger.key import ENVIRONMENT
from reissue.people.knowledge import Knowledge
from reissue.proposing.policy_questions import QUESTIONS, propose_policy
from reissue.publishing.anonymize import anonymize
from reissue.publishing.attack import attack
from reissue.publishing.publish import publish, publish_next
from reissue.publishing.refusal import RefusedError
from reissue.publishing.series import anonymize_series
from reissue.release.release import Release
from reissue.schema import Schema
from reissue.utility import measure

LIMIT = 0.75
FAKES = {"ineligible": "counterfeits"}
LEARNING: tuple[dict[str, Any], ...] = (
    {},
    {"later": 6},
    {"size": 12, "later": 8},
    {"by_itself": True, "size": 12, "later": 8, "counterfeits": 0.15},
    {"by_itself": True, "counterfeits": 0.15},
    {"by_itself": True, "counterfeits": 0.15, "require": "k=5 & l=3 & confidence=0.4"},
)
POLICY = {"method": "cohorts", "limit": LIMIT, "attacks": ["joint"]}
READERS: dict[str, dict[str, Any]] = {
    "common": {"require": "k=5 & l=3", "suppress": 0.02},
    "leaving": {
        "require": "k=5 & l=4 & confidence=0.4",
        "suppress": 0.04,
        "counterfeits": 0.15,
        "options": {"by_itself": True},
    },
}
"""What readers expect of people, as a policy says it, and the rest of a policy for it."""


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="cohorts", description=__doc__)
    parser.add_argument("--data", help="the folder that holds census/ and panel/")
    parser.add_argument("--keys", type=int, default=30, help="how many keys")
    parser.add_argument("--quick", action="store_true", help="fewer people and releases")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=[*PARTS], help="which parts")
    chosen = parser.parse_args(arguments)
    for part in chosen.only:
        print(f"-- {part}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            PARTS[part](Path(folder), chosen)


@dataclass(frozen=True)
class Cost:
    """What a series cost: over all releases."""

    width: float
    """The mean width of what is published of a quasi-identifier, of the people published."""
    counterfeits: float
    """Over the records."""
    left_out: float
    """Over the records."""

    @classmethod
    def of(cls, releases: Sequence[Release], rows: int) -> "Cost":
        """Of a series of this many records."""
        wide = [_widths(release) for release in releases]
        people = sum(len(one) for one in wide)
        fakes = sum(release.counterfeits for release in releases)
        return cls(sum(float(one.sum()) for one in wide) / people, fakes / rows, 1 - people / rows)


def _widths(release: Release) -> np.ndarray:
    """Person to the mean width of the box."""
    taxonomies, boxes = release.table.taxonomies, release.boxes
    each = [taxonomy.loss(boxes.lo[place], boxes.hi[place]) for place, taxonomy in enumerate(taxonomies)]
    groups = release.draft.groups
    return np.asarray(np.mean(each, axis=0)[groups[groups >= 0]])


def published(folder: Path, waves: Waves, policy: dict[str, Any]) -> list[Release]:
    """The series as a ledger publishes it, as far as it does; the seeds decide everything random, not the key."""
    schema, made = replace(waves.schema, policy=policy), []
    for seed, table in enumerate(waves.tables):
        try:
            made.append(publish(table, folder / "series.ledger", schema, seed=seed))
        except RefusedError as problem:
            print(str(problem).splitlines()[0], flush=True)
            break
    return made


def exposed(releases: Sequence[Release], waves: Waves, *, groups: bool, prior: str = "leaving") -> str:
    """Whom everyone at once exposes in the whole series."""
    schema = replace(waves.schema, policy={"prior": prior})
    (found,) = attack(releases, schema, only=["joint"], knowledge=Knowledge(groups=groups), limits={"joint": LIMIT})
    bands = [f"{one['claim']:.2f} {one['right']:.2f}" for one in found.details["calibration"] if one["people"] >= 50]
    return f"{found.people:,} of {found.population:,} exposed; claims and how often right: {', '.join(bands)}"


def _row(label: str, cost: Cost, seconds: float, said: str) -> None:
    print(
        f"| {label} | {cost.width:.3f} | {cost.counterfeits:.1%} | {cost.left_out:.2%} | {seconds:.0f} | {said} |",
        flush=True,
    )


def _head() -> None:
    print("| series | width | counterfeits | left out | CPU s | everyone at once, groups known |")
    print("|---|---|---|---|---|---|", flush=True)


def hospital(folder: Path, chosen: argparse.Namespace) -> None:
    """Each month by itself, and cohorts, in both spaces."""
    waves = SOURCES["hospital"](folder, None, quick=chosen.quick)
    rows = sum(table.height for table in waves.tables)
    _head()
    for boxes in ("nodes", "tight"):
        began = time.process_time()
        alone = [anonymize(one, waves.schema, "k=5 & l=3", boxes=boxes, seed=at) for at, one in enumerate(waves.tables)]
        plain = Cost.of(alone, rows)
        _row(f"pool, {boxes}", plain, time.process_time() - began, exposed(alone, waves, groups=True))
        for prior, own in READERS.items():
            began = time.process_time()
            place = folder / f"{boxes} {prior}"
            place.mkdir()
            made = published(place, waves, {**POLICY, **own, "prior": prior, "knowledge": "groups", "boxes": boxes})
            cost = Cost.of(made, sum(table.height for table in waves.tables[: len(made)]))
            times = f"cohorts, {boxes}, for prior {prior}: {cost.width / plain.width:.2f} times, {len(made)} releases"
            took = time.process_time() - began
            for reader in READERS:
                said = exposed(made, waves, groups=True, prior=reader)
                _row(f"{times}; read with prior {reader}", cost, took, said)


def learning(folder: Path, chosen: argparse.Namespace) -> None:
    """How far readers get who look at who leaves, or learn more; no gate, so nothing is mended."""
    waves = SOURCES["hospital"](folder, None, quick=chosen.quick)
    rows = sum(table.height for table in waves.tables)
    print("| options | width | counterfeits | above 0.75, right: common | leaving | learned |")
    print("|---|---|---|---|---|---|", flush=True)
    for options in LEARNING:
        made = anonymize_series(
            waves.tables,
            waves.schema,
            options.get("require", "k=5 & l=3"),
            method="cohorts",
            seed=0,
            suppress=0.04,
            **{name: value for name, value in options.items() if name != "require"},
        )
        cost, known = Cost.of(made, rows), Knowledge(groups=True)
        cells = []
        for prior in READERS:
            schema = replace(waves.schema, policy={"prior": prior})
            (joint,) = attack(made, schema, only=["joint"], knowledge=known, limits={"joint": LIMIT})
            cells.append(f"{joint.people:,}, {joint.details['right']:,}")
        above = attack(made, waves.schema, only=["definetti"], knowledge=known)["definetti"].details["above"]
        cells.append(f"{above['people']:,}, {above['right']:,}")
        costs = f"{cost.width:.3f} | {cost.counterfeits:.1%}"
        print(f"| {options or 'default'} | {costs} | {' | '.join(cells)} |", flush=True)


def gate(folder: Path, chosen: argparse.Namespace) -> None:
    """The same through a ledger that judges someone who learns, too."""
    waves = SOURCES["hospital"](folder, None, quick=chosen.quick)
    policy = {**POLICY, "require": "k=5 & l=3", "suppress": 0.02, "knowledge": "groups", "counterfeits": 0.15}
    began = time.process_time()
    made = published(folder, waves, {**policy, "prior": "learned", "options": {"by_itself": True}})
    cost = Cost.of(made, sum(table.height for table in waves.tables[: len(made)]))
    _head()
    label = f"cohorts by itself, learned prior: {len(made)} releases"
    _row(label, cost, time.process_time() - began, exposed(made, waves, groups=True))
    (found,) = attack(made, waves.schema, only=["definetti"], knowledge=Knowledge(groups=True))
    print(found.sentence, flush=True)


def panel(folder: Path, chosen: argparse.Namespace) -> None:
    """A panel whose values change often and whose people are often away."""
    waves = SOURCES["panel"](folder, chosen.data, quick=chosen.quick)
    _head()
    for require in ("k=5 & l=3", "k=8 & l=4"):
        for method in ("pool", "cohorts"):
            began = time.process_time()
            policy = {**POLICY, "method": method, "require": require, "suppress": 0.05}
            place = folder / f"{method}{require[2]}"
            place.mkdir()
            made = published(place, waves, policy)
            if not made:
                continue
            cost = Cost.of(made, sum(table.height for table in waves.tables[: len(made)]))
            _row(f"{method}, {require}", cost, time.process_time() - began, exposed(made, waves, groups=False))


def census(folder: Path, chosen: argparse.Namespace) -> None:
    """Beside the papers' methods."""
    waves = SOURCES["census"](folder, chosen.data, quick=chosen.quick, releases=20)
    sizes = [table.height for table in waves.tables]
    print(f"{len(sizes)} releases of {sizes[0]:,} to {sizes[-1]:,} people", flush=True)
    _head()
    for method in (
        Method("cohorts", "k=5 & l=3", "cohorts", {"suppress": 0.01}),
        Method("cohorts, by itself", "k=5 & l=3", "cohorts", {"suppress": 0.01, "by_itself": True}),
        Method("invariance, m=5, values stay", "m-unique=5", "invariance", FAKES, Waves.staying),
        Method("distinct, m=5", "m-unique=5", "distinct", FAKES),
    ):
        began = time.process_time()
        fit = method.waves(waves)
        made = protect(method, fit)
        cost = Cost.of(made, sum(table.height for table in fit.tables))
        _row(method.label, cost, time.process_time() - began, exposed(made, fit, groups=True))


def speed(folder: Path, chosen: argparse.Namespace) -> None:
    """One release after another, of about as many people."""
    people = 10_000 if chosen.quick else 100_000
    synth.updates().write_csv(folder / "updates.csv")
    schema = replace(synth.schema(), updates={"file": "updates.csv"}, folder=folder)
    memory = None
    months = list(synth.Population(seed=1, people=people, hospitals=3).months(4))
    for number, (frame, before) in enumerate(zip(months, [None, *months], strict=False)):
        table = Table.read(frame, schema)
        began = time.process_time()
        made = anonymize(table, schema, "k=5 & l=3", method="cohorts", memory=memory, seed=number)
        took, memory = time.process_time() - began, made.draft.memory
        new = frame.height if before is None else frame.join(before, on="patient", how="anti").height
        print(f"release {number + 1}: {frame.height:,} people, {new:,} new, {took:.2f} CPU s", flush=True)


def forms(folder: Path, chosen: argparse.Namespace) -> None:
    """The same cohorts published with the ranges of their groups and with finer ones: counterfeits and query errors."""
    write_file(synth.updates(), folder / "updates.csv")
    schema = replace(synth.schema(), updates={"file": "updates.csv"}, folder=folder)
    months = list(synth.Population(seed=1, people=300 if chosen.quick else 1_500, hospitals=3).months(6))
    print("| form | month | counterfeits | largest posterior | median query error |\n|---|---|---|---|---|", flush=True)
    for form in ("generalized", "boxes"):
        own = {**POLICY, **READERS["leaving"], "knowledge": "groups"}
        own["options"] = {**own["options"], "form": form}
        with Ledger.create(folder / form, replace(schema, policy=own)) as ledger:
            for number, month in enumerate(months):
                made = publish_next(month, ledger, seed=number)
                queries = measure(made.release, queries=500, seed=0).queries
                worst, error = made.findings["joint"].worst, queries.median if queries else 0.0
                print(
                    f"| {form} | {number + 1} | {made.release.counterfeits} | {worst:.2f} | {error:.1%} |", flush=True
                )


def keys(folder: Path, chosen: argparse.Namespace) -> None:
    """What is random follows from a ledger's key: some keys may be unlucky."""
    said = {name: name in {"removed", "changes"} for name in QUESTIONS}
    synth.updates().write_csv(folder / "updates.csv")
    text = f'{synth.schema().dumps()}\n{propose_policy(said).as_toml(said)}\n[updates]\nfile = "updates.csv"\n'
    schema, months = Schema.loads(text, folder), list(synth.Population(seed=4, people=1_000).months(12))
    whole, left, count = 0, 0, 3 if chosen.quick else chosen.keys
    for number in range(1, count + 1):
        os.environ[ENVIRONMENT] = sha256(f"k{number}".encode()).hexdigest()
        with Ledger.create(folder / f"{number}.ledger", schema) as ledger:
            try:
                left += sum(publish(month, ledger).suppressed for month in months)
            except RefusedError:
                print(f"key {number}: month {len(ledger.releases) + 1} is refused", flush=True)
            whole += len(ledger.releases) == len(months)
    print(f"{whole} of {count} years go out whole; {left / count / 12:.1f} people are left out of a month")


PARTS = {
    "hospital": hospital,
    "learning": learning,
    "gate": gate,
    "forms": forms,
    "panel": panel,
    "census": census,
    "speed": speed,
    "keys": keys,
}
