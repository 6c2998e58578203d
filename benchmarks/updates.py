"""Section VI of Li and Zhou 2008 on Census: what changing values give away, and what m-Distinct costs against it.

20,000 people at first; each release 2,000 leave, 5,000 come, and the occupations of 5,000 change within branches of d
values, equally likely; everybody's age grows. Vulnerable are values that the update attack knows for certain.
"""

import argparse
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks._measure import cpu, data_folder, one_pass
from reissue import anonymize
from reissue.attacks import Knowledge
from reissue.attacks.updates.attack import risks
from reissue.kernels.forward_backward import ValueDistributions
from reissue.people.histories import PersonHistories, link_people
from reissue.published.series import Series
from reissue.release.release import Release
from reissue.schema import Schema
from reissue.updates import UpdateModel, read_updates
from reissue.utility import measure

QUASI = ("age", "sex", "education", "country_self")
VALUES = 47


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="updates", description=__doc__)
    parser.add_argument("--data", help="the folder that holds census/")
    parser.add_argument("--quick", action="store_true", help="fewer releases and settings")
    chosen = parser.parse_args(arguments)
    path = data_folder(chosen.data) / "census" / "census.csv.gz"
    if not path.is_file():
        raise SystemExit(f"No Census data in {path.parent}. Set REISSUE_DATA to the folder that holds census/.")
    frame = pl.read_csv(path, infer_schema_length=None, columns=["id", *QUASI, "det_occ_code"])
    frame = frame.filter(pl.col("det_occ_code") > 0).rename({"det_occ_code": "job"})
    with tempfile.TemporaryDirectory() as folder:
        releases = 6 if chosen.quick else 20
        vulnerable(frame, Path(folder), releases, (2, 6) if chosen.quick else (2, 4, 6, 8))
        invalid(frame, Path(folder), releases, (1, 10) if chosen.quick else (1, 2, 3, 5, 10, 25))
        cost(frame, Path(folder), 4 if chosen.quick else 20, chosen.quick)
        speed(frame, Path(folder), (23_000, 230_000) if chosen.quick else (23_000, 230_000, 1_000_000))
    attack_speed(100_000 if chosen.quick else 1_000_000)


def schema(folder: Path, d: int) -> Schema:
    """Occupations that can become each other: branches of d."""
    jobs = range(1, VALUES + 1)
    lines = [f"{a},{b}" for a in jobs for b in jobs if (a - 1) // d == (b - 1) // d]
    (folder / f"u{d}.csv").write_text("from,to\n" + "\n".join(lines) + "\n")
    roles = {"id": "identifier", **dict.fromkeys(QUASI, "quasi"), "job": "sensitive"}
    return Schema(roles, updates={"file": f"u{d}.csv"}, folder=folder)  # type: ignore[arg-type]


def stream(frame: pl.DataFrame, releases: int, d: int, scale: float = 1.0, out: int = 2_000) -> list[pl.DataFrame]:
    """The tables to publish."""
    rng = np.random.default_rng(1)
    first, leave, come, change = (int(number * scale) for number in (20_000, out, 5_000, 5_000))
    wanted = first + come * (releases - 1)
    order = rng.permutation(wanted) % frame.height
    pool = frame[order].with_columns(pl.Series("id", range(wanted)))
    live, waiting, tables = pool[:first], first, []
    for number in range(releases):
        if number:
            stays = np.sort(rng.permutation(live.height)[leave:])
            live = pl.concat([live[stays], pool[waiting : waiting + come]])
            waiting += come
            job = live["job"].to_numpy().copy()
            who = rng.permutation(live.height - come)[:change]
            start = (job[who] - 1) // d * d
            job[who] = start + 1 + rng.integers(0, np.minimum(d, VALUES - start))
            age = np.minimum(live["age"].to_numpy() + (np.arange(live.height) < live.height - come), 100)
            live = live.with_columns(pl.Series("job", job), pl.Series("age", age))
        tables.append(live)
    return tables


def publish(tables: list[pl.DataFrame], plan: Schema, requirement: str, method: str) -> list[Release]:
    made: list[Release] = []
    for table in tables:
        memory = made[-1].draft.memory if made and method == "distinct" else None
        more = {"ineligible": "counterfeits"} if method in {"distinct", "invariance"} else {}
        made.append(anonymize(table, plan, requirement, method=method, seed=1, memory=memory, **more))  # type: ignore[arg-type]
    return made


def certain(made: list[Release], plan: Schema) -> tuple[int, int, float]:
    """Values known for certain, all values, and the largest posterior."""
    linked = link_people(Series.read(made, plan), Knowledge())
    found = risks(linked, read_updates(plan, linked.names))
    return int((found.left == 1).sum()), len(found.left), float(found.largest.max())


def vulnerable(frame: pl.DataFrame, folder: Path, releases: int, diversities: tuple[int, ...]) -> None:
    print("Values known for certain, l-diversity (Mondrian) and m-Distinct, d = 10", flush=True)
    plan = schema(folder, 10)
    tables = stream(frame, releases, 10)
    for l in diversities:  # noqa: E741
        made = publish(tables, plan, f"l={l}", "mondrian")
        for number in (2, releases // 2, releases):
            known, total, _ = certain(made[:number], plan)
            print(f"  l = {l}, {number:>2} releases: {known:>7,} of {total:>7,} = {known / total:.1%}", flush=True)
    for l in diversities:  # noqa: E741
        made = publish(tables, plan, f"m-unique={l}", "invariance")
        for number in (2, releases // 2, releases):
            known, total, _ = certain(made[:number], plan)
            words = f"groups of {l} different values, each release by itself, {number:>2} releases"
            print(f"  {words}: {known:>7,} of {total:>7,} = {known / total:.1%}", flush=True)
    for m in diversities:
        known, total, risk = certain(publish(tables, plan, f"m-unique={m}", "distinct"), plan)
        print(f"  {m}-Distinct, {releases} releases: {known} of {total:,}; largest posterior {risk:.3f}", flush=True)
    for d in (1, 5, 25):
        made = publish(stream(frame, releases, d), schema(folder, d), "l=2", "mondrian")
        known, total, _ = certain(made, schema(folder, d))
        print(f"  l = 2, {releases} releases, d = {d:>2}: {known / total:.1%} known", flush=True)


def invalid(frame: pl.DataFrame, folder: Path, releases: int, diameters: tuple[int, ...]) -> None:
    """People whom m-invariance could not place: their value changed, and may not be in their signature (m = 4)."""
    print("Records that m-invariance cannot place any more (value outside the first group's), m = 4", flush=True)
    for d in diameters:
        tables = stream(frame, releases, d)
        held: dict[int, set[int]] = {}
        total = 0
        for table in tables:
            known = table.filter(pl.col("id").is_in(list(held)))
            pairs = zip(known["id"].to_list(), known["job"].to_list(), strict=True)
            total += sum(job not in held[one] for one, job in pairs)
            new = table.filter(~pl.col("id").is_in(list(held)))
            release = anonymize(new, schema(folder, d), "m-unique=4", method="distinct", ineligible="counterfeits")
            groups: dict[int, set[int]] = {}
            for group, job in zip(release.draft.groups.tolist(), new["job"].to_list(), strict=True):
                groups.setdefault(group, set()).add(job)
            held |= {
                one: groups[group]
                for one, group in zip(new["id"].to_list(), release.draft.groups.tolist(), strict=True)
            }
        print(f"  d = {d:>2}: {total:,} over {releases} releases", flush=True)


def cost(frame: pl.DataFrame, folder: Path, releases: int, quick: bool) -> None:
    print("m-Distinct: counterfeits a group, information loss, CPU seconds of release 2", flush=True)
    settings = (
        [(4, 10), (2, 10), (6, 5)] if quick else [(2, 10), (4, 10), (6, 10), (8, 10), (4, 1), (4, 5), (4, 25), (6, 5)]
    )
    for m, d in settings:
        plan = schema(folder, d)
        tables = stream(frame, releases, d, out=3_000 if (m, d) == (6, 5) else 2_000)
        first, *others = publish(tables, plan, f"m-unique={m}", "distinct")
        seconds, _ = cpu(partial(again, first, tables[1], plan, m))
        fakes = sum(one.counterfeits for one in (first, *others)) / sum(one.groups for one in (first, *others))
        loss = measure(others[-1], queries=1_000, workload="updates", seed=0)
        print(
            f"  m = {m}, d = {d:>2}: {fakes:.4f} counterfeits, {seconds:.3f} s, loss {loss.loss:.3f}, "
            f"median query error {loss.queries.median if loss.queries else float('nan'):.3f}",
            flush=True,
        )


def again(first: Release, table: pl.DataFrame, plan: Schema, m: int) -> Release:
    options = {"ineligible": "counterfeits"}
    requirement = f"m-unique={m}"
    return anonymize(table, plan, requirement, method="distinct", memory=first.draft.memory, **options)  # type: ignore[arg-type]


def speed(frame: pl.DataFrame, folder: Path, sizes: tuple[int, ...]) -> None:
    print("One release of m-Distinct, m = 4, d = 10 (the paper: 20 to 250 seconds for 23,000 records)", flush=True)
    plan = schema(folder, 10)
    for rows in sizes:
        one, two = stream(frame, 2, 10, rows / 23_000)
        (first,) = publish([one], plan, "m-unique=4", "distinct")
        seconds, _ = cpu(partial(again, first, two, plan, 4))
        print(
            f"  {two.height:>9,} records: {seconds:.3f} CPU s, {seconds / two.height * 1e6:.2f} us a record", flush=True
        )


def attack_speed(people: int, releases: int = 12) -> None:
    """The risk of everybody over all releases, in passes over as many rows as there are people."""
    rng = np.random.default_rng(0)
    values = 50
    model = UpdateModel.in_branches([str(value) for value in range(values)], np.arange(values) // 10)
    groups = people // 4
    table = np.stack([rng.permutation(people) // 4 + groups * number for number in range(releases)], axis=1)
    # Groups with the same values are one place, as they are when releases are read.
    drawn = np.sort((rng.integers(0, values // 4, (groups * releases, 4)) * 4 + np.arange(4)) % values, axis=1)
    keys, of_group = np.unique(drawn @ (values ** np.arange(4)), return_inverse=True)
    shown = keys[:, np.newaxis] // values ** np.arange(4) % values
    place = np.repeat(np.arange(len(shown)), 4)
    places = ValueDistributions.of(place, shown.ravel(), np.ones(shown.size), len(shown))
    linked = PersonHistories(of_group.reshape(-1)[table], places, model.names)
    seconds, _ = cpu(lambda: risks(linked, model))
    print(
        f"Risk of {people:,} people over {releases} releases, all histories different: {seconds:.2f} CPU s", flush=True
    )
    for number, what in ((people, "one release's rows"), (people * releases, "all releases' rows")):
        rows = pl.DataFrame({f"q{i}": rng.integers(0, 80, number, dtype=np.int32) for i in range(9)})
        print(f"  {seconds / one_pass(rows):.1f} passes over {what}", flush=True)
