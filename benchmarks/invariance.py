"""Insertions and deletions: the experiments of He, Barman and Naughton (2011) on census data, and what releases cost.

The paper takes 600,000 census records with 50 occupations, begins with 200,000, and draws 20,000 new ones from the
unused rest each time. Our census file stands in for that: age, sex, education and country of birth, and det_occ_code as
sensitive value. People without an occupation are half of the file and no value may be in more than 1/m of the records,
so they are left out; the 148,318 others are too few for 100,000 and 19 batches of 10,000, so those who left come again
under another name. The most frequent of the 46 occupations has 8.8% of the records, close to 1/m: a hard case.

Figures: people in an e-equivalence attack with e < 5 (6), counterfeits with random (7) and skewed (8) updates, relative
error of count queries (9), CPU time by e (10). The bars: nobody in an attack on ours; counterfeits well under 0.1% of
the records at random updates, and fewer than the cut alone would spend; a release of 200,000 records with 20,000
updates in 12 passes for m-invariance and 3 more for e-equivalence, the 20th in at most 1.3 times the 2nd.
"""

import argparse
import gc
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks._measure import data_folder, one_pass
from reissue._arrays import Floats, Ints
from reissue.algorithms import Job, find
from reissue.algorithms.invariance.register import RegisterState
from reissue.attacks import Knowledge
from reissue.attacks.equivalence.state import NumberedCrowd, arrive, with_arrival
from reissue.data.table import Table
from reissue.people.membership import Arrivals, Membership, membership
from reissue.published.series import Series
from reissue.release.memory import Memory, SeriesTable, enter, keep
from reissue.release.release import Boxes, Draft, Release
from reissue.requirements import parse
from reissue.schema import Schema

QUASI = ("age", "sex", "education", "country_self")
SENSITIVE = "det_occ_code"
SCHEMA = Schema.of_columns(quasi=QUASI, sensitive=[SENSITIVE], identifier="person")
M, LIMIT = 10, 5
TIMES = 15
"""How often two releases are made again, in turn, to compare their times."""


@dataclass(frozen=True)
class Method:
    """One line of a figure."""

    label: str
    name: str
    options: Mapping[str, Any]

    @property
    def requirement(self) -> str:
        """What its releases must meet."""
        return f"m-unique={M}" if self.name == "invariance" else f"simple-l={M}"


PLAIN = Method("m-invariance", "invariance", {"ineligible": "counterfeits"})
MERGED = Method("m-invariance, buckets merged", "equivalence", {"e": 1, "ineligible": "counterfeits"})


def ours(e: int, *, exact: bool = True) -> Method:
    rule = "" if exact else ", cut alone"
    return Method(f"e = {e}{rule}", "equivalence", {"e": e, "exact": exact, "ineligible": "counterfeits"})


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="invariance", description=__doc__)
    parser.add_argument("--data", help="the folder that holds census/")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out", help="where tables and figures go")
    parser.add_argument("--quick", action="store_true", help="a tenth of the people and 6 releases")
    parser.add_argument("--only", type=int, nargs="+", choices=range(6, 11), default=range(6, 11), help="which figures")
    chosen = parser.parse_args(arguments)
    path = data_folder(chosen.data) / "census" / "census.csv.gz"
    if not path.is_file():
        raise SystemExit(f"No census data in {path.parent}. Set REISSUE_DATA to the folder that holds census/.")
    people = pl.read_csv(path).filter(pl.col(SENSITIVE) != 0).select(*QUASI, SENSITIVE)
    size, releases = (10_000, 6) if chosen.quick else (100_000, 20)
    chosen.out.mkdir(parents=True, exist_ok=True)
    figures = {
        6: lambda: compromised(people, size, releases, chosen.out),
        7: lambda: counterfeits(people, size, releases, chosen.out),
        8: lambda: skewed(people, size, 4 if chosen.quick else 8, chosen.out),
        9: lambda: errors(people, size, chosen.out),
        10: lambda: speed(20_000 if chosen.quick else 200_000, releases, chosen.out),
    }
    for number in chosen.only:
        figures[number]()


# --- streams ---------------------------------------------------------------------------------------------------------


def random_updates(people: pl.DataFrame, size: int, releases: int, seed: int = 1) -> Iterator[pl.DataFrame]:
    """Snapshots: each time a tenth leaves and as many others come."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(people.height)
    live, pool = order[:size], order[size:]
    names, born = np.arange(size), size
    for _ in range(releases):
        yield people[live].with_columns(pl.Series("person", names))
        stay = rng.permutation(size)[size // 10 :]
        coming = rng.choice(len(pool), size - len(stay), replace=False)
        pool, live = (
            np.concatenate([np.delete(pool, coming), np.delete(live, stay)]),
            np.concatenate([live[stay], pool[coming]]),
        )
        names = np.concatenate([names[stay], np.arange(born, born + len(coming))])
        born += len(coming)


def skewed_updates(
    people: pl.DataFrame, size: int, releases: int, skew: float, seed: int = 1
) -> Iterator[pl.DataFrame]:
    """New records whose values follow the line of figure 5: the paper's slope `skew` is for batches of 20,000."""
    rng = np.random.default_rng(seed)
    values = people[SENSITIVE].unique().sort()
    frame = people[rng.permutation(people.height)[:size]].with_columns(pl.Series("person", np.arange(size)))
    batch, born = size // 10, size
    for _ in range(releases):
        yield frame
        line = rng.permutation(len(values)) * (skew / 15 * 0.98 * 2 / (len(values) * (len(values) - 1)))
        share = line + (1 - line.sum()) / len(values)
        coming = people[rng.integers(0, people.height, batch)].with_columns(
            values.gather(rng.choice(len(values), batch, p=share)).alias(SENSITIVE),
            pl.Series("person", np.arange(born, born + batch)),
        )
        frame = pl.concat([frame[rng.permutation(size)[batch:]], coming])
        born += batch


@dataclass(frozen=True, eq=False)
class Run:
    """One release, and what making its draft took."""

    table: Table
    draft: Draft
    seconds: float
    entering: float
    yardstick: float
    spare: "Spare"
    before: Memory | None
    """What was remembered when it was made."""

    @property
    def counterfeits(self) -> int:
        """How many records of nobody were added."""
        return 0 if self.draft.counterfeits is None else len(self.draft.counterfeits.groups)


def run(method: Method, frames: Iterator[pl.DataFrame]) -> Iterator[Run]:
    """Draft a series, release by release."""
    memory: Memory | None = None
    for frame in frames:
        table = Table.read(frame, SCHEMA)
        coded = pl.DataFrame({**{f"c{n}": column for n, column in enumerate(table.codes)}, "s": table.sensitive})
        yardstick = one_pass(coded)
        entry, draft, seconds, entering = _draft(method, table, memory)
        before, memory = memory, keep(entry, _left(draft), method.name)
        draft = replace(draft, memory=memory)
        yield Run(entry.table, draft, seconds, entering, yardstick, Spare.of(entry), before)


def _left(draft: Draft) -> RegisterState:
    """What the method leaves for the next release."""
    if not isinstance(draft.state, RegisterState):
        raise TypeError
    return draft.state


def _draft(method: Method, table: Table, memory: Memory | None) -> tuple[SeriesTable, Draft, float, float]:
    """A release, and the CPU seconds of drafting and of entering it: none of them for garbage left by others."""
    chosen = find(method.name)
    gc.collect()
    gc.disable()
    start = time.process_time()
    entry = enter(table, memory, method.name, chosen.state or RegisterState)
    entered = time.process_time()
    job = Job(entry.table, parse(method.requirement), np.random.default_rng(1), 0.0, chosen.settle(method.options))
    draft = chosen.run(replace(job, state=entry.state, people=entry.people, stable_code=entry.stable_code))
    done = time.process_time()
    gc.enable()
    return entry, draft, done - entered, entered - start


@dataclass(frozen=True)
class Spare:
    """What decides about counterfeits beside the most frequent value (decision 0033), in arithmetic of its own."""

    records: int
    """Of the table's records those that need not stand with the most frequent value, m for each that has it."""
    least: int
    """No m-invariant release could have fewer counterfeits, given those before."""
    level: int
    """The same if balance cost nothing: as if all values of a bucket had lost equally many."""

    @classmethod
    def of(cls, entry: SeriesTable) -> "Spare":
        """For a table as it enters its series."""
        values = entry.stable_code[entry.table.sensitive]
        count = np.bincount(values)
        records = len(values) - M * int(count.max())
        if not isinstance(entry.state, RegisterState):
            return cls(records, 0, 0)
        before, kept = entry.state.register.live, entry.state.signatures
        member = np.pad(kept, ((0, 0), (0, len(count) - kept.shape[1])))
        live, place = np.intersect1d(entry.people, before.people, return_indices=True)[1:]
        have = np.zeros(member.shape)
        np.add.at(have, (before.signature[place], values[live]), 1)
        sizes = np.maximum(member.sum(axis=1), 1)
        depth = have.max(axis=1)
        lacking = np.maximum(depth @ member - count, 0).sum()
        least, level = (
            (deep @ sizes - M * (deep @ member) - (len(values) - M * count)).max()
            for deep in (depth, have.sum(axis=1) / sizes)
        )
        return cls(records, int(max(least, lacking, 0)), round(max(level, 0)))


def members_of(method: Method, runs: list[Run]) -> Membership:
    """Who stands where: no table need be published for that."""
    nothing = np.empty((0, 0), np.int32)
    boxes = [Boxes(nothing, nothing, np.bincount(one.draft.groups)) for one in runs]
    requirement = parse(method.requirement)
    pairs = zip(runs, boxes, strict=True)
    releases = [Release({}, one.table, one.draft, box, requirement, method.name) for one, box in pairs]
    return membership(Series.read(releases, SCHEMA), Knowledge())


# --- the figures -----------------------------------------------------------------------------------------------------


def smallest(members: Membership, releases: int) -> Iterator[Ints]:
    """After each release the smallest e of everyone who is in an attack with e < 5."""
    evidence = None
    for place in range(releases):
        part, person = members.only(place)
        newest = Arrivals(part, np.where(part.real, person, -1), np.where(part.real, -1, person))
        evidence = with_arrival(
            evidence, arrive(NumberedCrowd() if evidence is None else evidence.crowd, newest), LIMIT
        )
        yield evidence.below


def compromised(people: pl.DataFrame, size: int, releases: int, out: Path) -> None:
    """Figure 6: people in an e-equivalence attack with e < 5, release by release."""
    rows = []
    for method in (PLAIN, MERGED, ours(LIMIT)):
        members = members_of(method, list(run(method, random_updates(people, size, releases))))
        for number, below in enumerate(smallest(members, releases), start=1):
            if number not in {*range(2, 7), *range(10, releases + 1, 5)}:
                continue
            rows.append((method.label, number, len(below), int(below.min(initial=LIMIT)) % LIMIT))
            print(f"  {method.label}, {number} releases: {rows[-1][2]:,} people, smallest e {rows[-1][3]}", flush=True)
    table = pl.DataFrame(rows, schema=["method", "releases", "people", "smallest e"], orient="row")
    report("6 people in an attack with e < 5", table, out, x="releases", y="people")
    if table.filter(pl.col("method") == ours(LIMIT).label)["people"].sum():
        raise SystemExit("Somebody is in an attack on our releases.")


def counterfeits(people: pl.DataFrame, size: int, releases: int, out: Path) -> None:
    """Figure 7: counterfeits with random updates, release by release."""
    rows, series = [], {}
    for method in (PLAIN, *(ours(e, exact=exact) for e in (2, 5, 8) for exact in (True, False))):
        series[method.label] = list(run(method, random_updates(people, size, releases)))
        rows += [(method.label, number, one.counterfeits) for number, one in enumerate(series[method.label], start=1)]
    table = pl.DataFrame(rows, schema=["method", "release", "counterfeits"], orient="row")
    report("7 counterfeits, random updates", table, out, x="release", y="counterfeits")
    for label, runs in series.items():
        share = np.array([one.counterfeits for one in runs]) / size
        print(f"  {label}: {share.mean():.3%} of the records, {np.median(share):.3%} in the median release,", end=" ")
        print(f"{share.max():.3%} at most, {(share >= 0.001).sum()} releases with 0.1% or more")
    for e in (2, 5, 8):
        ask, cut = (sum(one.counterfeits for one in series[ours(e, exact=exact).label]) for exact in (True, False))
        why = " (none can be: 2(e - 1) < m, so every cut that is too small is an attack)" if 2 * (e - 1) < M else ""
        print(f"  e = {e}: {ask} counterfeits in all releases, the cut alone {cut}; {cut - ask} saved{why}")
    _worst(series[PLAIN.label])


def _worst(runs: list[Run]) -> None:
    """Why the release with most counterfeits has them, and whether any has more than it must."""
    worst = max(range(1, len(runs)), key=lambda number: runs[number].counterfeits)
    one, before = runs[worst].spare, runs[worst - 1].spare
    more = sum(run.counterfeits - run.spare.least for run in runs)
    print(f"  m-invariance: {more} more counterfeits than the least that were possible, given the releases before.")
    print(
        f"  Release {worst + 1}: records to spare beside the most frequent value fall from {before.records} to", end=" "
    )
    print(f"{one.records} (a tenth was to leave); least possible {one.least}, if balance cost nothing {one.level}.")


def skewed(people: pl.DataFrame, size: int, releases: int, out: Path) -> None:
    """Figure 8: counterfeits with skewed updates, over all releases, by skewness."""
    rows = []
    for skew in (0, 3, 6, 9, 12, 15):
        for method in (PLAIN, *(ours(e, exact=exact) for e in (2, 5, 8) for exact in (True, False))):
            runs = run(method, skewed_updates(people, size, releases, skew))
            rows.append((method.label, skew, sum(one.counterfeits for one in runs) / releases))
    table = pl.DataFrame(rows, schema=["method", "s", "counterfeits"], orient="row")
    report("8 counterfeits a release, skewed updates", table, out, x="s", y="counterfeits")


def errors(people: pl.DataFrame, size: int, out: Path) -> None:
    """Figure 9: median relative error of random count queries by selectivity, on the fifth release.

    Of 1,000 queries those that select 20 records or more; nearly everybody was born in one country.
    """
    runs = {method.label: list(run(method, random_updates(people, size, 5)))[-1] for method in (PLAIN, ours(LIMIT))}
    rows = []
    for selectivity in (0.01, 0.02, 0.03, 0.04, 0.05):
        original = next(iter(runs.values())).table
        queries = list(_queries(original, selectivity, 1000, np.random.default_rng(4)))
        for label, one in runs.items():
            wrong = [_error(one, inside, value) for inside, value in queries]
            rows.append((label, selectivity, float(np.median([error for error in wrong if error is not None]))))
    table = pl.DataFrame(rows, schema=["method", "selectivity", "error"], orient="row")
    report("9 median relative error of count queries", table, out, x="selectivity", y="error")


def _queries(table: Table, selectivity: float, number: int, rng: np.random.Generator) -> Iterator[tuple[Floats, int]]:
    """Ranges on all attributes, each so wide that together they select so much of the domain; and a value."""
    share = selectivity ** (1 / (len(table.sizes) + 1))
    for _ in range(number):
        bounds = []
        for size in table.sizes:
            width = max(round(share * size), 1)
            low = int(rng.integers(0, size - width + 1))
            bounds.append((low, low + width - 1))
        yield np.array(bounds), int(rng.choice(table.sensitive))


def _error(one: Run, bounds: Floats, value: int) -> float | None:
    """|estimate - truth| / truth, with the estimate from exact quasi-identifiers and the groups' shares of values."""
    truth = int((_inside(one.table.codes, bounds) & (one.table.sensitive == value)).sum())
    if truth < 20:
        return None
    codes, groups, sensitive = one.table.codes, one.draft.groups, one.table.sensitive
    fakes = one.draft.counterfeits
    if fakes is not None:
        codes = np.hstack([codes, fakes.codes])
        groups, sensitive = np.concatenate([groups, fakes.groups]), np.concatenate([sensitive, fakes.sensitive])
    total = int(groups.max()) + 1
    share = np.bincount(groups[sensitive == value], minlength=total) / np.bincount(groups, minlength=total)
    estimate = float(share[groups[_inside(codes, bounds)]].sum())
    return abs(estimate - truth) / truth


def _inside(codes: Any, bounds: Floats) -> Any:
    return ((codes >= bounds[:, :1]) & (codes <= bounds[:, 1:])).all(axis=0)


def speed(size: int, releases: int, out: Path) -> None:
    """Figure 10, and the bars: passes for each release of a table of nearly all distinct rows."""
    people = _distinct(size * 3)
    rows = []
    grown = {}
    for method in (PLAIN, *(ours(e) for e in (2, 5, 8))):
        kept: dict[int, Run] = {}
        for number, one in enumerate(run(method, random_updates(people, size, releases)), start=1):
            rows.append((method.label, number, one.seconds / one.yardstick, one.entering / one.yardstick))
            kept |= {number: one} if number in {2, releases} else {}
        grown[method.label] = _grown(method, kept[2], kept[releases])
    table = pl.DataFrame(rows, schema=["method", "release", "passes", "hashing"], orient="row")
    report("10 passes a release", table, out, x="release", y="passes")
    for label, part in table.group_by("method", maintain_order=True):
        passes, hashing = (float(np.median(part[name].to_numpy())) for name in ("passes", "hashing"))
        print(f"  {label[0]!s}: {passes:.1f} passes, hashing identifiers {hashing:.1f};", end=" ")
        print(f"last over second release {grown[str(label[0])]:.2f}, the median of {TIMES} times in turn")


def _grown(method: Method, second: Run, last: Run) -> float:
    """The median of last over second release: made again, each from its own memory, in turn, so under the same load."""
    ratios = []
    for _ in range(TIMES):
        spent = [sum(_draft(method, one.table, one.before)[2:]) for one in (second, last)]
        ratios.append(spent[1] / spent[0])
    return float(np.median(ratios))


def _distinct(rows: int) -> pl.DataFrame:
    rng: np.random.Generator = np.random.default_rng(7)
    shares: Ints = rng.integers(10, 30, 50)
    domains = dict(zip(QUASI, (79, 2, 17, 57), strict=True))
    columns = {name: rng.integers(0, size, rows) for name, size in domains.items()}
    return pl.DataFrame({**columns, SENSITIVE: rng.choice(50, rows, p=shares / shares.sum()) + 1})


# --- output ----------------------------------------------------------------------------------------------------------


def report(title: str, table: pl.DataFrame, out: Path, *, x: str, y: str) -> None:
    """Print a figure as a table, and keep it as CSV and, where Altair is installed, as SVG."""
    print(f"Figure {title}")
    wide = table.pivot("method", index=x, values=y)
    with pl.Config(tbl_rows=40, tbl_cols=12, tbl_hide_dataframe_shape=True, float_precision=3, tbl_width_chars=160):
        print(wide)
    name = f"invariance-{title.split(' ', 1)[0]}"
    table.write_csv(out / f"{name}.csv")
    try:
        import altair as alt
    except ModuleNotFoundError:
        return
    chart = alt.Chart(table).mark_line(point=True).encode(x=f"{x}:Q", y=f"{y}:Q", color="method:N")
    chart.properties(title=title, width=420).save(out / f"{name}.svg")
